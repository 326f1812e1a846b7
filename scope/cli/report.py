"""`scope report`: the page of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from scope.cli.options import RunFolder


def command(
    run: RunFolder,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Default: report.html in the run directory."),
    ] = None,
    open_: Annotated[
        Literal["yes", "no"], typer.Option("--open", metavar="yes|no", help="Open the report in a browser.")
    ] = "no",
) -> None:
    """Write the report of a run: one HTML file that needs no network."""
    from scope.engine import reporting

    written = reporting.write(run, output)
    typer.echo(written)
    if open_ == "yes":
        import webbrowser

        webbrowser.open(written.resolve().as_uri())
