"""The terminal: as wide as it is, and as wide as the text needs when there is none."""

from __future__ import annotations

import sys
from typing import IO

from rich.console import Console

_PIPE_COLUMNS = 400
"""A pipe or a file has no edge: long lines are not broken."""


def console(file: IO[str] | None = None) -> Console:
    """Return a console that neither breaks nor colours lines when its output is piped."""
    stream = file or sys.stdout
    width = None if stream.isatty() else _PIPE_COLUMNS
    return Console(file=stream, width=width, highlight=False)


def draws(stream: IO[str]) -> bool:
    """Say whether block characters can be written there."""
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    return encoding.replace("-", "").startswith("utf")
