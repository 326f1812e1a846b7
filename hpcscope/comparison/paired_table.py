"""An interleaved comparison as a terminal shows it, worst first."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hpcscope import units
from hpcscope.comparison.paired import PairedCase, PairedComparison, PairedVerdict
from hpcscope.comparison.table import change, detectable, named, verdicts

_STYLES: dict[PairedVerdict, str] = {
    "worse": "bold red",
    "better": "green",
    "inconclusive": "yellow",
    "no difference": "dim",
    "incomparable": "dim",
}


def table(comparison: PairedComparison) -> RenderableType:
    """Return a table of all cases and what their figures mean."""
    return Group(*_heading(comparison), _cases(comparison), *_counts(comparison))


def _heading(comparison: PairedComparison) -> Iterator[Text]:
    yield Text(f"B {comparison.b}\ncompared with A {comparison.a}", style="bold")
    for factor in comparison.factors:
        yield Text(f"  differs: {factor.name}: {factor.a} | {factor.b}")
    rounds = f"{comparison.rounds} round{'' if comparison.rounds == 1 else 's'}"
    yield Text(f"{rounds}, A and B in turn, in {comparison.elapsed_s:.0f} s\n")


def _cases(comparison: PairedComparison) -> Table:
    return verdicts(
        ("change [interval]", "rounds", "detectable", "A", "B"),
        [
            (
                Text(case.verdict, style=_STYLES[case.verdict]),
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
        yield Text("The time ended before every case was decided; --time SECONDS gives more.", style="yellow")
    yield Text(
        f"Changes below {units.percent(comparison.threshold, 1)} count as no difference; at most "
        f"{units.percent(comparison.level)} of comparisons of equal sides show a change. "
        "Rounds: the smallest and the largest ratio of B to A.",
        style="dim",
    )
