"""A comparison as a terminal shows it, worst first."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from hpcscope import units
from hpcscope.comparison.comparison import DIFFERENT, ComparedCase, Comparison, Verdict
from hpcscope.comparison.paired import PairedCase
from hpcscope.comparison.times import ComparedRow, counts, rows
from hpcscope.statistics.course import State

LARGEST_SHOWN = 9.0
"""Largest detectable change that is shown as a number: at larger ones, nothing would have been seen."""

MOST_OPEN = 20
"""Most inconclusive cases that are shown by default."""
AS_A_FACTOR = 1.2
"""Differences below this factor are given in percent."""

STYLES: dict[Verdict, str] = {
    "worse": "bold red",
    "better": "green",
    "inconclusive": "yellow",
    "states differ": "yellow",
    "common change": "dim",
    "no difference": "dim",
    "incomparable": "dim",
}


@dataclass(frozen=True)
class CaseTable:
    """A table whose last column is long text, which goes below the values on a screen that is too narrow."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Text | str]]

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for a screen of this width."""
        heads = [Text(name, style="italic") for name in self.columns]
        cells = [heads, *([Text.assemble(cell) for cell in row] for row in self.rows)]
        widths = [max(cell.cell_len for cell in column) for column in zip(*cells, strict=True)]
        fits = sum(widths) + 2 * len(widths) - 2 <= options.max_width
        for *values, case in cells:
            for place, (value, width) in enumerate(zip(values, widths, strict=False)):
                value.align("right" if place else "left", width)
            line = Text("  ").join(values)
            yield Text.assemble(line, "  ", case) if fits else line
            if not fits and case is not heads[-1]:
                yield Padding(case, (0, 0, 0, 2))


def table(comparison: Comparison, every: bool = False) -> RenderableType:
    """Return a table of the cases that differ or may differ, or of all; the others are counted."""
    if comparison.a == comparison.b:
        return Group(*_heading(comparison))
    times = rows(comparison.cases)
    open_times = [row for row in times if row.case.verdict == "inconclusive"]
    left_out = open_times[MOST_OPEN:]
    relevant = [row for row in times if row.case.verdict in (*DIFFERENT, "inconclusive")]
    shown = times if every else [row for row in relevant if row not in left_out]
    return Group(
        *_heading(comparison),
        *_common(comparison),
        *([_cases(shown)] if shown else []),
        *(
            [Text(f"and {units.count(len(left_out), 'more inconclusive case')}; --all shows all", style="dim")]
            if left_out and not every
            else []
        ),
        *_counts(comparison),
        *_reasons(comparison),
    )


def sentence(comparison: Comparison) -> str:
    """Return one sentence that says how B differs from A."""
    if comparison.a == comparison.b:
        return "A and B are the same run."
    compared = [row.case for row in rows(comparison.cases) if row.case.verdict != "incomparable"]
    changed = sorted((case for case in compared if case.verdict in ("worse", "better")), key=factor)
    others = [case for case in compared if case not in changed]
    open_cases = sum(case.verdict in ("inconclusive", "states differ") for case in others)
    undecided = f"; {open_cases} {'is' if open_cases == 1 else 'are'} undecided" if open_cases else ""
    of_all = f"of {units.count(len(compared), 'case')}"
    if not compared:
        return "B and A have no result to compare."
    if not changed:
        return f"None {of_all} differs{undecided}."
    much, between = difference(changed[-1])
    worse = sum(case.verdict == "worse" for case in changed)
    (most, how), (rest, else_how) = sorted([(worse, "worse"), (len(changed) - worse, "better")], reverse=True)
    return (
        f"B is {how} in {most} {of_all}, {else_how} in {rest or 'none'}{undecided}."
        f" The largest change: B is {much} at {changed[-1].label} (95 % CI {between})."
    )


def _heading(comparison: Comparison) -> Iterator[Text]:
    yield Text(f"{sentence(comparison)}\n", style="bold")
    yield Text(f"B {comparison.b}\ncompared with A {comparison.a}")
    for side in comparison.optimized:
        yield Text(f"  optimized measurement: {side}", style="yellow")
    for factor in comparison.obstacles:
        yield Text(f"  different {factor.name}: {factor.a} | {factor.b}", style="yellow")
    for factor in comparison.factors:
        yield Text(f"  differs: {factor.name}: {factor.a} | {factor.b}")
    yield Text()


def common_change(comparison: Comparison, a: str = "A", b: str = "B") -> str:
    """Return by how much the cases changed together; empty if they did not. `a` and `b` name the runs."""
    common = comparison.common
    if common is None:
        return ""
    by = units.change(common.ratio - 1, common.low - 1, common.high - 1)
    return (
        f"{common.agreeing} of {common.cases} cases changed together, by {by} (brackets: middle half of cases). "
        "The machine was in a different state during one of the runs, or all cases share a cause. "
        f"Each case is judged relative to this change. `scope compare --measure {a} {b}` separates these causes."
    )


def states_differ(comparison: Comparison, a: str = "A", b: str = "B") -> str:
    """Return in which states the machine was during the runs; empty if it was in the same state.

    `a` and `b` name the runs.
    """
    change = comparison.states
    if change is None:
        return ""
    in_a, in_b = (" and ".join(_state(state) for state in states) for states in (change.a, change.b))
    ratios = ", ".join(f"{measure} {ratio:.3g}" for measure, ratio in change.sentinel.items())
    took = f"; times of a small fixed workload in the longest states, {b} / {a}: {ratios}" if ratios else ""
    if len(change.a) == len(change.b) == 1:
        return f"The machine was in a different state in {b} than in {a}{took}."
    return f"The machine changed its state. {a}: {in_a}. {b}: {in_b}{took}."


def _state(state: State) -> str:
    speed = "in the fastest state" if state.factor == 1 else f"in a state {state.factor:.3g} times as slow"
    return f"{units.percent(state.share)} {speed}"


def _common(comparison: Comparison) -> Iterator[Text]:
    for words in filter(None, (states_differ(comparison), common_change(comparison))):
        yield Text(f"{words}\n", style="bold yellow")


def _cases(times: list[ComparedRow]) -> CaseTable:
    columns = ("verdict", "change [95 % CI]", "detectable", "A", "B", "q", "case")
    return CaseTable(
        columns,
        [
            (
                Text(row.case.verdict, style=STYLES[row.case.verdict]),
                change(row.case),
                detectable(row.case.detectable),
                row.case.shown(row.case.a_median),
                row.case.shown(row.case.b_median),
                "" if row.case.p_corrected is None else f"{row.case.p_corrected:.2g}",
                named(row.case, row.metrics),
            )
            for row in times
        ],
    )


def named(case: ComparedCase | PairedCase, metrics: str = "") -> Text:
    """Return a case with its metrics, by default its own, and why it has no verdict."""
    reason = f" ({case.reason})" if case.reason else ""
    return Text.assemble(f"{case.label}: {metrics or case.metric_words}", (reason, "dim"))


def detectable(share: float | None) -> str:
    """Return the smallest change that would have been seen; empty if there is a verdict."""
    if share is None:
        return ""
    if share < 1:
        return units.percent(share)
    return f"{1 + share:.2g}x" if share < LARGEST_SHOWN else f"over {1 + LARGEST_SHOWN:.0f}x"


def factor(case: ComparedCase | PairedCase) -> float:
    """Return the ratio of the larger to the smaller side."""
    ratio = case.ratio or 1.0
    return max(ratio, 1 / ratio)


def difference(case: ComparedCase | PairedCase) -> tuple[str, str]:
    """Return how much slower or faster B is, and the bounds: `1.8 times slower`, `1.6-2.2`."""
    slower, faster = ("slower", "faster") if case.unit == "s" or case.unit.endswith("/s") else ("worse", "better")
    how = slower if case.verdict == "worse" else faster
    low, high = case.ratio_low or 1.0, case.ratio_high or 1.0
    low, high = (low, high) if (case.ratio or 1.0) > 1 else (1 / high, 1 / low)
    if factor(case) >= AS_A_FACTOR:
        much, *between = (f"{x:.2g}" if x < 100 else f"{x:.0f}" for x in (factor(case), low, high))
        return f"{much} times {how}", "-".join(between)
    return f"{units.percent(factor(case) - 1, 1)} {how}", f"{100 * (low - 1):.1f}-{units.percent(high - 1, 1)}"


def change(case: ComparedCase | PairedCase) -> str:
    """Return the change from A to B with its interval: `+5.1 % [+4.0, +6.2]`, `3.10x [2.80, 3.42]`."""
    if case.ratio is None:
        return "–"
    if case.ratio_low is None or case.ratio_high is None:
        return units.change(case.ratio - 1)
    return units.change(case.ratio - 1, case.ratio_low - 1, case.ratio_high - 1)


def _counts(comparison: Comparison) -> Iterator[Text]:
    yield Text()
    numbers = counts(comparison.cases)
    words = [f"{numbers[verdict]} {verdict}" for verdict in comparison.counts if numbers[verdict]]
    yield Text(", ".join(words) + "." if words else "Neither run has a result.", style="bold")
    yield Text(
        f"Changes below {units.percent(comparison.threshold, 1)} count as no difference; "
        f"at most {units.percent(comparison.level)} of comparisons of equal runs show a change. "
        "Detectable: the smallest change that nine of ten comparisons of this size would show.",
        style="dim",
    )


def _reasons(comparison: Comparison) -> Iterator[Text]:
    """Yield the reasons why cases are incomparable, each once."""
    reasons = Counter(case.reason for case in comparison.cases if case.verdict == "incomparable")
    for reason, number in reasons.most_common(8):
        yield Text(f"  incomparable: {number} × {reason}")
    if len(reasons) > 8:
        yield Text(f"  and {units.count(len(reasons) - 8, 'more reason')}; --all shows all")
