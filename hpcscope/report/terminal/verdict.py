"""The summary at the end of a run: the ladders, the findings (worst first), and the path of the report."""

import textwrap
from collections.abc import Iterator
from itertools import accumulate

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.models.ladder.rung import Ladder, LadderRung
from hpcscope.report.run import introduction
from hpcscope.report.run.introduction import cautions, subject
from hpcscope.report.run.ladders import best_rungs, caption, length, retained
from hpcscope.report.terminal import cases
from hpcscope.report.terminal.bar import bar
from hpcscope.report.terminal.console import console as terminal_console
from hpcscope.report.terminal.console import draws
from hpcscope.report.terminal.findings import LABEL_COLUMNS, WIDTH, report_line, told
from hpcscope.report.validity import MIXED, MIXED_NOTE, of_most
from hpcscope.report.wording import direction

NARROWEST = 60
_LADDER_LINES = 27
"""Together with the findings, about one screen."""
_FIGURE_COLUMNS = 27
_REST_OF_A_RUNG = 68
"""Number of columns besides the bar: layer, value, fraction."""


def show(run: Run, console: Console | None = None) -> None:
    """Print the summary of a run; UsageError if one of its files is missing or wrong."""
    screen = console or terminal_console()
    width = max(NARROWEST, min(screen.width, WIDTH))
    for line in list(verdict(run, draws(screen.file), width)):  # print nothing if the run cannot be read
        screen.print(line, soft_wrap=True)


def show_kept(run: Run, console: Console | None = None) -> None:
    """Print the summary of a run, one value for each main benchmark, and how to show all values."""
    show(run, console)
    screen = console or terminal_console()
    for line in ("", *cases.values_by_level(run)):
        screen.print(line, soft_wrap=True)
    results = len(run.statistics.primary)
    where = f"scope show {run.directory.path}"
    hint = f"{results} results: `{where} mpi.latency` shows one benchmark, `{where} --all` shows all results"
    screen.print(f"\n{hint}", soft_wrap=True, style="dim")


def verdict(run: Run, blocks: bool = True, width: int = WIDTH) -> Iterator[Text]:
    """Yield the lines, except paths not wider than `width`; bars are drawn with block characters if `blocks`."""
    yield Text(subject(run), style="bold")
    yield from map(Text, textwrap.wrap(introduction.verdict(run), width))
    for caution in cautions(run):
        style = "yellow" if caution.grave else "dim"
        yield from (Text(line, style=style) for line in textwrap.wrap(caution.text, width))
    listed = list(cases.lines(run, blocks))
    yield from listed
    compared = [ladder for ladder in run.models.ladders if _compares(ladder)]
    ladders = [list(_ladder(ladder, blocks, width)) for ladder in compared]
    lengths = list(accumulate(len(lines) + 1 for lines in ladders))
    shown = max(0 if listed else 1, sum(length_so_far <= _LADDER_LINES for length_so_far in lengths))
    for lines in ladders[:shown]:
        yield Text()
        yield from lines
    if any(rung.mixes_states for ladder in compared[:shown] for rung in best_rungs(ladder)):
        yield from _note(MIXED_NOTE, width)
    hidden = len(ladders) - shown
    if hidden > 0:
        yield Text(f"  and {units.count(hidden, 'further ladder')} in the report", style="dim")
    if note := of_most(run.statistics.primary):
        yield from _note(note, width)
    yield Text()
    yield from told(run.findings, width)
    yield Text()
    yield report_line(run.directory)


def _note(text: str, width: int, indent: str = "  ", lead: str = "") -> Iterator[Text]:
    for line in textwrap.wrap(text, width, initial_indent=lead or indent, subsequent_indent=indent):
        yield Text(line, style="dim")


def _compares(ladder: Ladder) -> bool:
    """Return whether a ladder has two layers to compare."""
    return sum(rung.value is not None for rung in best_rungs(ladder)) > 1


def _ladder(ladder: Ladder, blocks: bool, width: int) -> Iterator[Text]:
    better = "lower" if ladder.quantity == "latency_s" else "higher"
    yield _sides(Text(caption(ladder), style="bold"), Text(direction(better), style="dim"), width)
    indent = " " * (2 + LABEL_COLUMNS)
    for rung in reversed(best_rungs(ladder)):
        if rung.value is None:
            yield from _note(f"not available: {rung.reason}", width, indent, f"  {rung.layer:<{LABEL_COLUMNS}}")
        else:
            yield _rung(ladder, rung, blocks, width)
            noted = f"{rung.name} ({rung.note})" if rung.note else rung.name
            yield from _note(noted if len(indent + noted) <= width else rung.name, width, indent)


def _rung(ladder: Ladder, rung: LadderRung, blocks: bool, width: int) -> Text:
    line = Text(f"  {rung.layer:<{LABEL_COLUMNS}}")
    columns = width - _REST_OF_A_RUNG
    line.append(bar(length(ladder, rung), columns, blocks).ljust(columns), style="cyan")
    figure = units.interval(rung.value, rung.low, rung.high, rung.unit) + (
        f" {MIXED}" if rung.mixes_states else ""
    )
    line.append(f"  {figure:<{_FIGURE_COLUMNS}}")
    line.append(retained(rung), style="bold" if rung.retained is not None else "")
    line.rstrip()
    return line


def _sides(left: Text, right: Text, width: int) -> Text:
    gap = max(2, width - cell_len(left.plain) - cell_len(right.plain))
    return Text.assemble(left, " " * gap, right)
