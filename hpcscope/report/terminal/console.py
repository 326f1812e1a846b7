"""Consoles: as wide as the terminal, or as wide as the text needs if output is piped."""

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import IO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from hpcscope.visible import visible

_PIPE_COLUMNS = 400
"""Width for a pipe or a file, where long lines must not be broken."""


class Screen(Console):
    """A console on which data cannot move the cursor or change colors."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with every hidden character in the text made visible."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)


def console(file: IO[str] | None = None, breaks: bool = False, whole: bool = False) -> Console:
    """Return a console that neither breaks nor colors lines when its output is piped.

    `breaks`: the output loses nothing in narrow lines; a pipe then has the width in COLUMNS, if set.
    `whole`: the lines are left whole and the terminal wraps them, so that paths in them can be copied.
    """
    stream = file or sys.stdout
    drawn = getattr(stream, "drawn", stream)  # keeps our own colors
    asked = os.environ.get("COLUMNS", "") if breaks else ""
    piped = int(asked) if asked.isdecimal() and int(asked) else _PIPE_COLUMNS
    return Screen(file=drawn, width=None if stream.isatty() and not whole else piped, highlight=False)


@dataclass(frozen=True)
class Fitting:
    """A table without rules and only the columns that fit on the screen; the omitted columns are named."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table for a screen of this width."""
        ends = accumulate(2 + max(map(cell_len, column)) for column in zip(self.columns, *self.rows, strict=True))
        fitting = max(1, sum(end - 2 <= options.max_width for end in ends))
        yield grid(self.columns[:fitting], (row[:fitting] for row in self.rows), self.columns[:1])
        if left_out := ", ".join(filter(None, self.columns[fitting:])):
            yield Text(f"(the report also has: {left_out})", style="dim")


def draws(stream: IO[str]) -> bool:
    """Return whether block characters can be written to a stream."""
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    return encoding.replace("-", "").startswith("utf")


def grid(
    columns: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[str], breaks: bool = False
) -> Table:
    """Return a table without rules: the columns `words` on the left, values on the right.

    `breaks`: words too long for a narrow screen continue on the next line; else their ends are cut.
    """
    table = Table(box=None, pad_edge=False)
    for name in columns:
        left = name in words
        table.add_column(name, justify="left" if left else "right", no_wrap=not (left and breaks))
    for row in rows:
        table.add_row(*map(Text, row))
    return table
