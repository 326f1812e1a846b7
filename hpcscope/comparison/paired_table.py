"""An interleaved comparison as a terminal shows it, worst first."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from hpcscope import units
from hpcscope.comparison.paired import PairedCase, PairedComparison
from hpcscope.comparison.table import STYLES, CaseTable, change, detectable, difference, factor, named
from hpcscope.findings.finding import Finding


def table(comparison: PairedComparison) -> RenderableType:
    """Return a table of all cases and the meaning of their values."""
    return Group(*_heading(comparison), _cases(comparison), *_counts(comparison))


def tried(finding: Finding, asked: str, comparison: PairedComparison, gained: bool) -> Iterator[Text]:
    """Yield the effect of advice that was tried on each result of its case, with the interval."""
    yield Text(f"\nTried {asked}: {'gained' if gained else 'nothing gained'}", style="bold")
    yield Text(f"  {finding.code}: {finding.title}", style="dim")
    for case in comparison.cases:
        values = f"{case.shown(case.a_median)} -> {case.shown(case.b_median)}"
        yield Text.assemble(f"  {case.verdict:<14}{change(case)}  {values}  ", named(case))


def _heading(comparison: PairedComparison) -> Iterator[Text]:
    yield Text(f"{sentence(comparison)}\n", style="bold")
    yield Text(f"B {comparison.b}\ncompared with A {comparison.a}")
    for other in comparison.factors:
        yield Text(f"  differs: {other.name}: {other.a} | {other.b}")
    rounds = units.count(comparison.rounds, "round")
    yield Text(f"{rounds}, A and B interleaved, in {comparison.elapsed_s:.0f} s\n")


def sentence(comparison: PairedComparison) -> str:
    """Return one sentence that says how B differs from A."""
    compared = [case for case in comparison.cases if case.verdict != "incomparable"]
    if not compared:
        return "no case has results of two rounds on both sides"
    changed = sorted((case for case in compared if case.verdict in ("worse", "better")), key=factor)
    others = [case for case in compared if case not in changed]
    possible = [case.most for case in others if case.most is not None]
    of_all = f"of {units.count(len(compared), 'case')}"
    parts = []
    if changed:
        most, (much, between) = changed[-1].label, difference(changed[-1])
        interval = f"({units.percent(comparison.confidence)} CI {between})"
        alone = f"B is {much} at {most} {interval}"
        several = f"B differs in {len(changed)} {of_all}, most at {most}: {much} {interval}"
        parts.append(alone if len(changed) == 1 else several)
    if possible:
        rest, largest = "none of the other cases" if changed else f"none {of_all}", max(possible)
        by = units.percent(largest) if largest < 1 else f"a factor of {1 + largest:.2g}"
        parts.append(f"{rest} differs by more than {by}")
    if len(possible) < len(others):
        parts.append(f"{len(others) - len(possible)} {of_all} had too few rounds for a verdict")
    return "; ".join(parts)


def _cases(comparison: PairedComparison) -> CaseTable:
    return CaseTable(
        ("verdict", "change [interval]", "rounds", "detectable", "A", "B", "case"),
        [
            (
                Text(case.verdict, style=STYLES[case.verdict]),
                change(case),
                _spread(case),
                detectable(case.detectable),
                case.shown(case.a_median),
                case.shown(case.b_median),
                named(case),
            )
            for case in comparison.cases
        ],
    )


def _spread(case: PairedCase) -> str:
    """Return the smallest and the largest ratio of a round: `0.98..1.12`."""
    if not case.rounds:
        return "–"
    return f"{min(case.rounds.values()):.2f}..{max(case.rounds.values()):.2f}"


def _counts(comparison: PairedComparison) -> Iterator[Text]:
    yield Text()
    words = [f"{number} {verdict}" for verdict, number in comparison.counts.items() if number]
    yield Text(", ".join(words) + "." if words else "No case has a result on both sides.", style="bold")
    if comparison.out_of_time:
        yield Text("Time ran out before every case was decided; run longer with --time SECONDS.", style="yellow")
    yield Text(
        f"Changes below {units.percent(comparison.threshold, 1)} count as no difference; at most "
        f"{units.percent(comparison.level)} of verdicts are expected to be false, no matter when measuring ends. "
        "A and B: values in a typical round. Rounds: smallest and largest ratio of B to A.",
        style="dim",
    )
