"""`scope export`: profiles for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of monitored runs.")],
    as_: Annotated[
        str, typer.Option("--as", metavar="FORMAT", help="csv, files, extrap, hatchet or chrome.")
    ] = "csv",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: the standard output.")
    ] = None,
) -> None:
    """Write the profiles of monitored runs in the format of another program.

    csv: one line for each routine, call site and size. files: one for each file and layer. extrap: JSON Lines
    for Extra-P, of runs on different numbers of processes. hatchet: a literal tree. chrome: the trace of one run,
    for Perfetto.
    """
    from scope.cli.output import written
    from scope.engine.export import exported
    from scope.rundirectory import write_text

    text = exported(runs, as_)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text(output, text)
        written(output)
