"""How commands print: JSON, plain tables, and how to resume what was interrupted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from scope.errors import ScopeError

if TYPE_CHECKING:
    from rich.table import Table


def print_json(value: object) -> None:
    """Print a value as JSON; non-finite numbers are refused."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a plain table for the terminal."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False)
    for column in columns:
        made.add_column(Text(column), no_wrap=True)
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def written(path: Path | str) -> None:
    """Say on the standard error where a file was written."""
    typer.echo(f"written: {path}", err=True)


@contextmanager
def resumable(command: str, suffix: str = "") -> Iterator[None]:
    """Say how an interrupted or failed run is resumed: `command` --resume DIR `suffix`."""
    from scope.rundirectory import spelt

    try:
        yield
    except ScopeError as error:
        if error.resumable is not None and error.resumable.exists():
            print(f"continue with: {command} --resume {spelt(error.resumable)}{suffix}", file=sys.stderr)
        raise
