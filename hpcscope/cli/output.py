"""How commands print: JSON, plain tables, and how to resume what was interrupted."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hpcscope.errors import ScopeError, UsageError
from hpcscope.visible import HIDDEN

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def print_json(value: object) -> None:
    """Print a value as JSON, hidden characters as escapes; non-finite numbers are refused."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    typer.echo(HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def attributes(record: object, *names: str) -> dict[str, Any]:
    """Return these attributes of a record, by their names."""
    return {name: getattr(record, name) for name in names}


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], breaks: Collection[int] = ()) -> Table:
    """Return a plain table for the terminal; `breaks`: columns whose texts are wrapped."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False)
    for number, column in enumerate(columns):
        broken = number in breaks
        made.add_column(Text(column), no_wrap=not broken, overflow="fold" if broken else "ellipsis")
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def display(*parts: RenderableType, breaks: bool = False, whole: bool = False) -> None:
    """Print tables and texts on a console with these properties."""
    from hpcscope.report.terminal.console import console

    screen = console(breaks=breaks, whole=whole)
    for part in parts:
        screen.print(part)


def when(unix_s: float) -> str:
    """Return a time of this zone, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(unix_s))


def confirm_removal(what: str, yes: bool) -> None:
    """Ask whether something is to be removed, unless `yes`; UsageError if the answer is no."""
    confirm(f"Remove {what}?", yes, "nothing was removed; --yes removes without asking")


def confirm(question: str, yes: bool, otherwise: str) -> None:
    """Ask a question, unless `yes`; UsageError with the text `otherwise` if the answer is no, or there is none."""
    try:
        if not yes:
            typer.confirm(question, abort=True)
    except typer.Abort as error:
        raise UsageError(otherwise) from error


def few_hosts(hosts: Sequence[str]) -> str:
    """Return hosts in one short line: `sgi1-1024`, or the first ranges and how many more there are."""
    from hpcscope.cli.streams import one_line
    from hpcscope.names import host_ranges, several

    return one_line(several(host_ranges(hosts)))


def written(path: Path | str) -> None:
    """Print on standard error where a file was written."""
    typer.echo(f"written: {path}", err=True)


def put(content: str | bytes, output: Path | None) -> None:
    """Write a text or bytes to `output`; without one to the standard output.

    Raises UsageError if bytes would go to a terminal.
    """
    from hpcscope.rundirectory import write_bytes, write_text

    if isinstance(content, str):
        typer.echo(content, nl=False) if output is None else write_text(output, content)
    elif output is not None:
        write_bytes(output, content)
    elif sys.stdout.isatty():
        raise UsageError("this format is not text: name a file with --output, or redirect it")
    else:
        sys.stdout.buffer.write(content)
    if output is not None:
        written(output)


@contextmanager
def resumable(command: str, suffix: str = "") -> Iterator[None]:
    """Say how an interrupted or failed run is resumed: `command` --resume DIR `suffix`."""
    from shlex import quote

    from hpcscope.rundirectory import spelt

    try:
        yield
    except ScopeError as error:
        if error.resumable is not None and error.resumable.exists():
            folder = quote(str(spelt(error.resumable)))
            print(f"continue with: {command} --resume {folder}{suffix}", file=sys.stderr)
        raise
