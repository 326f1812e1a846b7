"""`scope pack`: a run as one file to send."""

from pathlib import Path
from typing import Annotated

import typer

from hpcscope.units import quantity


def command(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="Directory of a run of any kind, for example runs/latest.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write; default: ./NAME.zip.")
    ] = None,
) -> None:
    """Pack a run into one file to send: a zip archive with all samples, results and the report.

    `scope show`, `report`, `predict` and `compare` read the file directly; `scope unpack` makes it a
    directory again. Like the run, the file contains host names, user names and commands.
    """
    from hpcscope.archive import packing

    written = packing.pack(run, output)
    typer.echo(f"{written}  {quantity(written.stat().st_size, 'B')}")
