"""Options that several commands share and that are not settings: which runs, and what is written."""

from pathlib import Path
from typing import Annotated

import typer

from hpcscope.errors import UsageError


def _folder(context: typer.Context, run: Path | None) -> Path | None:
    """Return the folder of a run; a packed one is unpacked for the time of the command."""
    if run is None or not run.is_file():
        return run
    from hpcscope.archive import packing

    return context.with_resource(packing.opened(run))


def _folders(context: typer.Context, runs: list[Path]) -> list[Path]:
    """Return the folders of runs; packed ones are unpacked for the time of the command."""
    return [folder for run in runs if (folder := _folder(context, run)) is not None]


def _no_packed_run(run: Path | None) -> Path | None:
    """Refuse a packed run for a command that writes results next to the samples."""
    if run is not None and run.is_file():
        raise UsageError(f"{run}: must be a run directory; unpack the file with `scope unpack` first")
    return run


RunFolder = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="Run directory, for example runs/latest, or packed run.",
        show_default=False,
        callback=_folder,
    ),
]
RunFolders = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN",
        help="Run directories, for example runs/latest, or packed runs.",
        show_default=False,
        callback=_folders,
    ),
]
WrittenRunFolder = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="Run directory, for example runs/latest.", show_default=False, callback=_no_packed_run
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Run directory; default: a new one below runs/."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Resume = Annotated[Path | None, typer.Option(metavar="DIR", help="Resume this run, which keeps all its settings.")]
