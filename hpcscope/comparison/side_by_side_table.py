"""Runs side by side as a terminal shows them."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hpcscope import units
from hpcscope.comparison.comparison import DIFFERENT, ComparedCase, Factor, Verdict
from hpcscope.comparison.letters import letter
from hpcscope.comparison.side_by_side import Row, SideBySide, rows
from hpcscope.comparison.table import STYLES, change, common_change, states_differ
from hpcscope.comparison.times import counts

COUNTED: tuple[Verdict, ...] = ("worse", "better", "inconclusive", "no difference", "incomparable")
"""Verdicts that have their own column."""
ENVIRONMENT = "environment "
"""Prefix of the names of facts about environment variables."""
CASE_WIDTH, RUN_WIDTH = 36, 24
"""Least width of a case, and width of a run, in columns of the terminal."""


def table(side: SideBySide, width: int, every: bool = False) -> RenderableType:
    """Return the runs with their verdicts, then the cases in which any differs, or all cases.

    `width`: of the terminal in columns. Runs that do not fit are left out of the cases, and a line says so.
    """
    known = rows(side)
    shown = [row for row in known if every or row.has(*DIFFERENT)]
    unclear = 0 if every else sum(row.has("inconclusive") and not row.has(*DIFFERENT) for row in known)
    fitting = max(2, (width - CASE_WIDTH) // RUN_WIDTH)
    cases: list[RenderableType] = [Text(), _cases(side, shown, fitting)] if shown else []
    return Group(
        *_heading(side),
        _runs(side),
        *_remarks(side),
        *cases,
        *_published(side),
        *(_end(side, len(shown), unclear, fitting) if side.comparisons else ()),
    )


def _heading(side: SideBySide) -> Iterator[Text]:
    name = side.runs[side.baseline]
    runs = "1 run" if len(side.runs) == 1 else f"{len(side.runs)} runs"
    yield Text(f"{runs}, compared with {letter(side.baseline)} {name}\n", style="bold")


def _runs(side: SideBySide) -> Table:
    grid = _grid("", "run")
    for verdict in COUNTED:
        grid.add_column(verdict, no_wrap=True, justify="right")
    for number, comparison in enumerate(side.against_baseline):
        numbers = counts(comparison.cases) if comparison else None
        cells = ["baseline"] if numbers is None else [str(numbers[verdict] or "–") for verdict in COUNTED]
        grid.add_row(*map(Text, (letter(number), side.runs[number], *cells)))
    return grid


def _remarks(side: SideBySide) -> Iterator[Text]:
    """Yield what applies to a whole run: another machine, other settings, common changes."""
    base = letter(side.baseline)
    for number, comparison in enumerate(side.against_baseline):
        if comparison is None:
            continue
        own = letter(number)
        facts = (("another machine", comparison.obstacles), ("differs in", comparison.factors))
        words = [f"{lead}: {_named(differing)}" for lead, differing in facts if differing]
        words += filter(None, (states_differ(comparison, base, own), common_change(comparison, base, own)))
        yield from (Text(f"  {own}: {word}", style="yellow") for word in words)


def _named(differing: list[Factor]) -> str:
    """Return the names of facts that differ, environment variables by their number."""
    names = [factor.name for factor in differing if not factor.name.startswith(ENVIRONMENT)]
    variables = len(differing) - len(names)
    return ", ".join(names + [units.count(variables, "environment variable")] * bool(variables))


def _cases(side: SideBySide, shown: list[Row], fitting: int) -> Table:
    """Return a row for each case: the baseline's value, then each run's value with its change and verdict."""
    others = [number for number in range(len(side.runs)) if number != side.baseline][: fitting - 1]
    grid = _grid("case")
    for number in (side.baseline, *others):
        grid.add_column(letter(number), no_wrap=True, justify="right")
    for row in shown:
        case = row.case
        grid.add_row(
            Text.assemble(case.label, "\n", (case.metric_words, "dim")),
            Text(case.shown(row.baseline)),
            *(_figure(row.runs[number]) for number in others),
        )
    return grid


def _published(side: SideBySide) -> Iterator[RenderableType]:
    """Yield the published values of historic machines next to the baseline's."""
    if not side.published:
        return
    grid = _grid("case", "machine", "published", letter(side.baseline), "where")
    for case in side.published:
        ours = units.quantity(case.baseline, case.unit) if case.baseline is not None else "–"
        words = Text.assemble(case.label, " ", (case.metric_words, "dim"))
        grid.add_row(words, case.machine, units.quantity(case.value, case.unit), ours, case.source)
    yield Text("\nPublished values of historic machines, not tested", style="bold")
    yield grid


def _figure(case: ComparedCase | None) -> Text:
    if case is None:
        return Text("–", style="dim")
    if case.ratio is None:
        return Text.assemble(case.shown(case.b_median), "\n", (case.verdict, STYLES[case.verdict]))
    return Text.assemble(case.shown(case.b_median), "\n", change(case), "\n", (case.verdict, STYLES[case.verdict]))


def _grid(*names: str) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="italic")
    for name in names:
        grid.add_column(name, overflow="fold")
    return grid


def _end(side: SideBySide, shown: int, unclear: int, fitting: int) -> Iterator[Text]:
    yield Text()
    if not shown:
        yield Text("No case of any run is known to differ from the baseline.", style="bold")
    elif len(side.runs) > fitting:
        left = len(side.runs) - fitting
        words = "1 run does" if left == 1 else f"{left} runs do"
        yield Text(f"{words} not fit on the screen; --html FILE and --json show all.", style="bold")
    if unclear:
        yield Text(f"Inconclusive in some run: {units.count(unclear, 'more case')}; see --all.", style="bold")
    if any(comparison.obstacles for comparison in side.comparisons):
        yield Text("Runs on different machines get no verdict without --across-machines.", style="bold")
    yield Text(
        f"Changes below {units.percent(side.threshold, 1)} count as no difference; of comparisons of equal "
        f"runs, at most {units.percent(side.level)} show a change in any run.",
        style="dim",
    )
