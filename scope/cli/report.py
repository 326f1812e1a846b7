"""`scope report`: the page of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def command(
    run: Annotated[Path, typer.Argument(help="Run directory, for example runs/latest.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write; report.html in the run directory."),
    ] = None,
    open_: Annotated[
        Literal["yes", "no"], typer.Option("--open", metavar="yes|no", help="Open the page in a browser.")
    ] = "no",
) -> None:
    """Draw the report of a run: one HTML file that needs no network."""
    from scope.report.page import write

    page = write(run, output)
    typer.echo(page)
    if open_ == "yes":
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
