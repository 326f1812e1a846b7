"""`scope report`: the report of a run."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def command(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="Run directory, for example runs/latest, or packed run.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write; default: report.html in the run directory, or NAME.html for a packed run.",
        ),
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="For a health check: also write a page about HOST; repeatable."),
    ] = None,
    open_: Annotated[
        Literal["yes", "no"], typer.Option("--open", metavar="yes|no", help="Open the report in a browser.")
    ] = "no",
) -> None:
    """Write the report of a run: one HTML file that needs no network."""
    from hpcscope.archive import earlier_checks, packing
    from hpcscope.engine import report

    with packing.opened(run) as folder:
        target = output or (Path(f"{folder.name}.html") if run.is_file() else None)
        written = report.write(folder, target, earlier_checks.kept(), node or ())
    typer.echo(written)
    if open_ == "yes":
        import webbrowser

        webbrowser.open(written.resolve().as_uri())
