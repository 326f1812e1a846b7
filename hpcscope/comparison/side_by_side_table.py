"""Runs side by side as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hpcscope import units
from hpcscope.comparison.comparison import DIFFERENT, ComparedCase, Factor, Verdict
from hpcscope.comparison.letters import letter
from hpcscope.comparison.side_by_side import Row, SideBySide, rows
from hpcscope.comparison.table import STYLES, change, common_change, states_differ

COUNTED: tuple[Verdict, ...] = ("worse", "better", "inconclusive", "no difference", "incomparable")
"""Verdicts with a column of their own."""
ENVIRONMENT = "environment "
"""How facts about environment variables begin."""
CASE_WIDTH, RUN_WIDTH = 36, 24
"""Columns of a terminal that a case takes at least, and that a run takes."""


def table(found: SideBySide, width: int, every: bool = False) -> RenderableType:
    """Return the runs with their verdicts, then the cases in which any differs, or all cases.

    `width` is that of the terminal in columns: runs that do not fit are left out of the cases, which is said.
    """
    known = rows(found)
    shown = [row for row in known if every or row.has(*DIFFERENT)]
    unclear = 0 if every else sum(row.has("inconclusive") and not row.has(*DIFFERENT) for row in known)
    fitting = max(2, (width - CASE_WIDTH) // RUN_WIDTH)
    cases: list[RenderableType] = [Text(), _cases(found, shown, fitting)] if shown else []
    return Group(
        *_heading(found),
        _runs(found),
        *_remarks(found),
        *cases,
        *_published(found),
        *(_end(found, len(shown), unclear, fitting) if found.comparisons else ()),
    )


def _heading(found: SideBySide) -> Iterator[Text]:
    name = found.runs[found.baseline]
    runs = "1 run" if len(found.runs) == 1 else f"{len(found.runs)} runs"
    yield Text(f"{runs}, compared with {letter(found.baseline)} {name}\n", style="bold")


def _runs(found: SideBySide) -> Table:
    grid = _grid("", "run")
    for verdict in COUNTED:
        grid.add_column(verdict, no_wrap=True, justify="right")
    for number, comparison in enumerate(found.against_baseline):
        counts = [str(comparison.counts[verdict] or "–") for verdict in COUNTED] if comparison else ["baseline"]
        grid.add_row(*map(Text, (letter(number), found.runs[number], *counts)))
    return grid


def _remarks(found: SideBySide) -> Iterator[Text]:
    """Yield what concerns a whole run: another machine, other settings, common changes."""
    base = letter(found.baseline)
    for number, comparison in enumerate(found.against_baseline):
        if comparison is None:
            continue
        own = letter(number)
        facts = (("another machine", comparison.obstacles), ("differs in", comparison.factors))
        words = [f"{lead}: {_named(differing)}" for lead, differing in facts if differing]
        words += filter(None, (states_differ(comparison, base, own), common_change(comparison, base, own)))
        yield from (Text(f"  {own}: {one}", style="yellow") for one in words)


def _named(differing: list[Factor]) -> str:
    """Return the names of facts that differ, environment variables by their number."""
    names = [one.name for one in differing if not one.name.startswith(ENVIRONMENT)]
    variables = len(differing) - len(names)
    words = f"{variables} environment variable{'s' if variables > 1 else ''}"
    return ", ".join(names + [words] * bool(variables))


def _cases(found: SideBySide, shown: list[Row], fitting: int) -> Table:
    """Return a row for each case: the baseline's figure, then that of each run with its change and verdict."""
    others = [number for number in range(len(found.runs)) if number != found.baseline][: fitting - 1]
    grid = _grid("case")
    for number in (found.baseline, *others):
        grid.add_column(letter(number), no_wrap=True, justify="right")
    for row in shown:
        case = row.case
        grid.add_row(
            Text.assemble(case.label, "\n", (case.metric_words, "dim")),
            Text(case.shown(row.baseline)),
            *(_figure(row.runs[number]) for number in others),
        )
    return grid


def _published(found: SideBySide) -> Iterator[RenderableType]:
    """Yield the published figures of historic machines beside those of the baseline."""
    if not found.published:
        return
    grid = _grid("case", "machine", "published", letter(found.baseline), "where")
    for one in found.published:
        ours = units.quantity(one.baseline, one.unit) if one.baseline is not None else "–"
        words = Text.assemble(one.label, " ", (one.metric_words, "dim"))
        grid.add_row(words, one.machine, units.quantity(one.value, one.unit), ours, one.source)
    yield Text("\nPublished figures of historic machines, not tested", style="bold")
    yield grid


def _figure(one: ComparedCase | None) -> Text:
    if one is None:
        return Text("–", style="dim")
    if one.ratio is None:
        return Text.assemble(one.shown(one.b_median), "\n", (one.verdict, STYLES[one.verdict]))
    return Text.assemble(one.shown(one.b_median), "\n", change(one), "\n", (one.verdict, STYLES[one.verdict]))


def _grid(*names: str) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="italic")
    for name in names:
        grid.add_column(name)
    return grid


def _end(found: SideBySide, shown: int, unclear: int, fitting: int) -> Iterator[Text]:
    yield Text()
    if not shown:
        yield Text("No case of any run is known to differ from the baseline.", style="bold")
    elif len(found.runs) > fitting:
        left = len(found.runs) - fitting
        words = "1 run does" if left == 1 else f"{left} runs do"
        yield Text(f"{words} not fit; --html FILE and --json show all.", style="bold")
    if unclear:
        yield Text(f"{unclear} more cases are inconclusive in some run; --all shows them.", style="bold")
    if any(comparison.obstacles for comparison in found.comparisons):
        yield Text("Runs of different machines have no verdict without --across-machines.", style="bold")
    yield Text(
        f"Changes below {units.percent(found.threshold, 1)} count as no difference; with equal runs, at most "
        f"{units.percent(found.level)} of such comparisons show a change in any of them.",
        style="dim",
    )
