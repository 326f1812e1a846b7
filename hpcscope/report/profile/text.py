"""The profile of a program on a terminal: the time by routine and call site, and the findings."""

import textwrap
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from hpcscope import units
from hpcscope.report.figure import Table
from hpcscope.report.profile import functions as by_function
from hpcscope.report.profile import tables
from hpcscope.report.profile.contents import ProfileContents
from hpcscope.report.profile.figures import described
from hpcscope.report.profile.page import alerts, sentences, wrapped
from hpcscope.report.terminal.console import Fitting, draws
from hpcscope.report.terminal.findings import WIDTH, report_line, told
from hpcscope.report.wording import ending
from hpcscope.rundirectory import RunDirectory

NARROWEST = 60
_ROUTINES, _SITES, _COMPARED, _PROCESSES = 8, 5, 5, 16
_BAR = 40
_FILES = ("file", "layer", "time", "opens", "read", "written", "per transfer")
_PATH = 40
_PLACE = 60
"""Maximum width of a call site, in columns."""


def show(contents: ProfileContents, screen: Console) -> None:
    """Print the report of a monitored run."""
    for part in parts(contents, draws(screen.file), max(NARROWEST, screen.width)):
        screen.print(part, soft_wrap=isinstance(part, Text))


def parts(contents: ProfileContents, blocks: bool = True, width: int = WIDTH) -> Iterator[RenderableType]:
    """Yield the output in reading order; bars are drawn with block characters if `blocks`."""
    merged, compared = contents.merged, contents.machine_comparison
    yield Text(f"{described(merged)}, {merged.mpi.partition(',')[0]}", style="bold")
    for style, texts in (("", sentences(contents)), ("bold red", alerts(contents))):
        yield from (Text(line, style=style) for text in texts for line in textwrap.wrap(text, width))
    yield Text()
    yield from _processes(contents, blocks)
    for table in (
        tables.spreads(merged, ("wall_s", "compute_s", "mpi_s", "off_processor_s")),
        tables.routines(merged, _ROUTINES),
        _shortened(tables.sites(merged, _SITES, frames=1)),
        tables.regions(merged),
        _shortened(by_function.functions(merged, _ROUTINES)) if merged.functions is not None else None,
        tables.collectives(merged, _SITES),
        _narrow(tables.files(merged, _SITES)),
    ):
        if table is not None and table.rows:
            yield Text()
            yield Fitting(table.columns, table.rows)
    yield from (Text(line, style="dim") for text in wrapped(merged) for line in textwrap.wrap(text, width))
    if compared is not None and compared.routines:
        table = tables.machine_comparison(compared, _COMPARED)
        yield Text(f"\nComparison with the machine ({compared.run})", style="bold")
        yield Fitting(table.columns, table.rows)
    yield Text()
    yield from told(contents.findings, min(width, WIDTH))
    yield Text()
    yield report_line(RunDirectory(contents.folder))


def _processes(contents: ProfileContents, blocks: bool) -> Iterator[Text]:
    """Draw computation and MPI of each rank, or of the ranks with the most and the least computation."""
    processes = contents.merged.processes
    shown = processes
    if len(processes) > _PROCESSES:
        ordered = sorted(processes, key=lambda process: process.compute_s)
        shown = [*ordered[: _PROCESSES // 2], *ordered[-_PROCESSES // 2 :]]
    longest_s = max((process.wall_s for process in processes), default=0.0) or 1.0
    compute, mpi = ("█", "░") if blocks else ("#", ".")
    yield Text(f"{compute} computation  {mpi} in MPI", style="dim")
    for process in shown:
        computing = round(_BAR * process.compute_s / longest_s)
        within = max(0, round(_BAR * process.wall_s / longest_s) - computing)
        line = Text(f"  rank {process.rank:<6}")
        line.append(compute * computing, style="cyan")
        line.append((mpi * within).ljust(_BAR - computing), style="yellow")
        line.append(f"  {units.quantity(process.wall_s, 's'):>8}")
        line.append(f"  {units.share(process.mpi_s / process.wall_s if process.wall_s else None):>5} MPI")
        if process.state != "finalized":
            place = f" in {process.in_routine}" if process.in_routine else ""
            line.append(f"  {process.state}{place}", style="bold red")
        yield line
    if len(shown) < len(processes):
        left = len(processes) - len(shown)
        yield Text(f"  and {left} ranks in between", style="dim")


def _shortened(table: Table, most: int = _PLACE) -> Table:
    """Return a table with long names in its first column cut to their ends, for narrow terminals."""
    return Table(table.columns, [[ending(name, most), *rest] for name, *rest in table.rows])


def _narrow(table: Table) -> Table:
    """Return the columns of the table of files that fit on a terminal; long paths are cut to their ends."""
    chosen = [table.columns.index(name) for name in _FILES]
    return _shortened(Table(list(_FILES), [[row[index] for index in chosen] for row in table.rows]), _PATH)
