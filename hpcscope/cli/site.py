"""`scope site`: the runs of a repository as pages for a web server, or for none."""

from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.output import written
from hpcscope.cli.repository import Place


def command(
    output: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new or empty directory, or a site to bring up to date.")
    ],
    folder: Place = None,
    reports: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Include reports of the newest N runs only; default: all."),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published/--no-published", help="Include the published values of historic machines.")
    ] = True,
) -> None:
    """Write web pages of all clusters, rankings, histories, runs and reports; the pages need no server.

    Reports are written once; most take about a second.
    """
    from hpcscope.archive.repository import Repository
    from hpcscope.archive.site.site import build
    from hpcscope.cli.progress import stage_progress
    from hpcscope.models.published.machines import machines

    with stage_progress("writing") as stage:
        built = build(Repository(folder), output, reports, stage, machines() if published else ())
    for words in built.damaged:
        typer.echo(f"no report: {words}", err=True)
    typer.echo(f"{built.pages} pages, {built.reports} new reports, {built.size_bytes / 1e6:.3g} MB")
    written(output / "index.html")
    if built.damaged:
        raise typer.Exit(1)
