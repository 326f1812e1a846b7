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
    from scope.campaign import is_campaign
    from scope.profiles.monitored_run import is_monitored
    from scope.report.profile import page as profile_page
    from scope.report.run import page

    if is_campaign(run):
        written = _of_campaign(run, output)
    else:
        written = (profile_page if is_monitored(run) else page).write(run, output)
    typer.echo(written)
    if open_ == "yes":
        import webbrowser

        webbrowser.open(written.resolve().as_uri())


def _of_campaign(run: Path, output: Path | None) -> Path:
    from scope.campaign.folder import CampaignFolder
    from scope.cli import campaign
    from scope.rundirectory import write_text

    folder = CampaignFolder(run)
    campaign.derive(folder)
    if output is not None:
        write_text(output, folder.report.read_text(encoding="utf-8"))
    return output or folder.report
