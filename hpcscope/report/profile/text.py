"""The profile of a program on a terminal: where the time went, by routine and place, and the findings."""

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from hpcscope import units
from hpcscope.report.figure import Table
from hpcscope.report.profile import functions as by_function
from hpcscope.report.profile import tables
from hpcscope.report.profile.contents import ProfileContents
from hpcscope.report.profile.figures import described
from hpcscope.report.profile.page import alerts, sentences, wrapped
from hpcscope.report.terminal.console import draws, grid
from hpcscope.report.terminal.findings import told
from hpcscope.rundirectory import RunDirectory

_ROUTINES, _SITES, _COMPARED, _PROCESSES = 8, 5, 5, 16
_BAR = 40
_FILES = ("file", "layer", "time", "opens", "read", "written", "per transfer")
_PATH = 40
_PLACE = 60
"""Columns of a place in the program."""


def show(contents: ProfileContents, screen: Console) -> None:
    """Print the report of a monitored run."""
    for part in parts(contents, draws(screen.file)):
        screen.print(part, soft_wrap=isinstance(part, Text))


def parts(contents: ProfileContents, blocks: bool = True) -> Iterator[RenderableType]:
    """Yield the output in reading order; bars are drawn with block characters if `blocks`."""
    merged = contents.merged
    yield Text(f"{described(merged)}, {merged.mpi.partition(',')[0]}", style="bold")
    for text in sentences(contents):
        yield Text(text)
    for text in alerts(contents):
        yield Text(text, style="bold red")
    yield Text()
    yield from _processes(contents, blocks)
    yield Text()
    yield _grid(tables.spreads(merged, ("wall_s", "compute_s", "mpi_s", "off_processor_s")))
    if merged.calls:
        yield Text()
        yield _grid(tables.routines(merged, _ROUTINES))
    if merged.sites:
        yield Text()
        yield _grid(_shortened(tables.sites(merged, _SITES, frames=1)))
        for text in wrapped(merged):
            yield Text(text, style="dim")
    if merged.regions:
        yield Text()
        yield _grid(tables.regions(merged))
    if merged.functions is not None:
        yield Text()
        yield _grid(_shortened(by_function.functions(merged, _ROUTINES)))
    if merged.collectives:
        yield Text()
        yield _grid(tables.collectives(merged, _SITES))
    if merged.files:
        yield Text()
        yield _grid(_narrow(tables.files(merged, _SITES)))
    if contents.machine_comparison is not None and contents.machine_comparison.routines:
        yield Text()
        yield Text(f"Comparison with the machine ({contents.machine_comparison.run})", style="bold")
        yield _grid(tables.machine_comparison(contents.machine_comparison, _COMPARED))
    yield Text()
    yield from told(contents.findings)
    report = RunDirectory(contents.folder).report
    yield Text()
    if report.exists():
        yield Text.assemble("Report  ", (str(report), "underline"))
    else:
        yield Text(f"Report  not written yet; `scope report {contents.folder}` writes it")


def _processes(contents: ProfileContents, blocks: bool) -> Iterator[Text]:
    """Draw computation and MPI of each process, or of those with the most and the least computation."""
    processes = contents.merged.processes
    shown = processes
    if len(processes) > _PROCESSES:
        ordered = sorted(processes, key=lambda process: process.compute_s)
        shown = [*ordered[: _PROCESSES // 2], *ordered[-_PROCESSES // 2 :]]
    longest_s = max((process.wall_s for process in processes), default=0.0) or 1.0
    compute, mpi = ("█", "░") if blocks else ("#", ".")
    yield Text(f"{compute} computation  {mpi} in MPI", style="dim")
    for one in shown:
        computing = round(_BAR * one.compute_s / longest_s)
        within = max(0, round(_BAR * one.wall_s / longest_s) - computing)
        line = Text(f"  rank {one.rank:<6}")
        line.append(compute * computing, style="cyan")
        line.append((mpi * within).ljust(_BAR - computing), style="yellow")
        line.append(f"  {units.quantity(one.wall_s, 's'):>8}")
        line.append(f"  {units.share(one.mpi_s / one.wall_s if one.wall_s else None):>5} MPI")
        if one.state != "finalized":
            line.append(f"  {one.state}" + (f" in {one.in_routine}" if one.in_routine else ""), style="bold red")
        yield line
    if len(shown) < len(processes):
        left = len(processes) - len(shown)
        yield Text(f"  and {left} ranks in between", style="dim")


def _shortened(table: Table) -> Table:
    """Return a table with the ends of long names in its first column, for narrow terminals."""
    return Table(
        table.columns,
        [[name if len(name) <= _PLACE else f"…{name[-_PLACE + 1 :]}", *rest] for name, *rest in table.rows],
    )


def _narrow(table: Table) -> Table:
    """Return the columns of the table of files that fit on a terminal; of paths their ends."""
    chosen = [table.columns.index(name) for name in _FILES]
    rows = [[row[index] for index in chosen] for row in table.rows]
    ends = [path if len(path) <= _PATH else f"…{path[-_PATH + 1 :]}" for path, *_ in rows]
    return Table(list(_FILES), [[end, *row[1:]] for end, row in zip(ends, rows, strict=True)])


def _grid(table: Table) -> Grid:
    return grid(table.columns, table.rows, words=table.columns[:1])
