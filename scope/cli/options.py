"""Options that several commands share, spelt and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scope.cli.help import MPI_AND_HOSTS, PROCEDURE
from scope.errors import UsageError


def _folder(context: typer.Context, run: Path | None) -> Path | None:
    """Return the folder of a run; a packed one is unpacked for the time of the command."""
    if run is None or not run.is_file():
        return run
    from scope.engine import packing

    return context.with_resource(packing.opened(run))


def _folders(context: typer.Context, runs: list[Path]) -> list[Path]:
    """Do so for each run."""
    return [folder for run in runs if (folder := _folder(context, run)) is not None]


def _no_packed_run(run: Path | None) -> Path | None:
    """Refuse a file where results are written beside the samples."""
    if run is not None and run.is_file():
        raise UsageError(f"{run}: must be a run directory; scope unpack makes one of a packed run")
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
        metavar="RUN",
        help="Run directory, for example runs/latest.",
        show_default=False,
        callback=_no_packed_run,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Run directory; default: a new one below runs/."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Mpi = Annotated[
    str | None,
    typer.Option(
        metavar="MPI",
        help="openmpi, mpich, embedded, a folder of an installation, or an mpicxx; default: first found.",
        rich_help_panel=MPI_AND_HOSTS,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Seed of the random order; default: drawn and recorded.", rich_help_panel=PROCEDURE
    ),
]
Hosts = Annotated[
    str | None, typer.Option(metavar="A:2,B:2", help="Hosts and their slots; default: of the job, else this host.")
]
Hostfile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="File with one host per line: name, name:N or name slots=N.",
        rich_help_panel=MPI_AND_HOSTS,
    ),
]
RanksPerHost = Annotated[
    int | None, typer.Option(metavar="N", help="Ranks on each host (mpiexec -ppn).", rich_help_panel=MPI_AND_HOSTS)
]
Binding = Annotated[
    str | None,
    typer.Option(
        metavar="TO", help="Bind ranks to core (default), socket or none.", rich_help_panel=MPI_AND_HOSTS
    ),
]
Interface = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Network interface of the messages, for example eth0.", rich_help_panel=MPI_AND_HOSTS
    ),
]
Transport = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What carries MPI messages: default, tcp, active-messages or active-messages.no-flow-control.",
        rich_help_panel=MPI_AND_HOSTS,
    ),
]
Storage = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder in which storage is measured; default: $SCOPE_STORAGE, else beside the run directory.",
        rich_help_panel=MPI_AND_HOSTS,
    ),
]
Mpiexec = Annotated[
    str | None,
    typer.Option(
        metavar="PATH", help="Path of mpiexec, where it is not beside the compiler.", rich_help_panel=MPI_AND_HOSTS
    ),
]
RemoteShell = Annotated[
    str | None,
    typer.Option(
        metavar="PROGRAM",
        help="Program to start remote processes with, instead of ssh.",
        rich_help_panel=MPI_AND_HOSTS,
    ),
]
LauncherArgument = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD", help="Further argument of mpiexec or srun; may be repeated.", rich_help_panel=MPI_AND_HOSTS
    ),
]
Oversubscribe = Annotated[
    bool,
    typer.Option(
        "--oversubscribe",
        help="Allow more ranks than slots; by default, each usable core is one slot.",
        rich_help_panel=MPI_AND_HOSTS,
    ),
]


def words(text: str | None) -> list[str] | None:
    """Return the parts of a list that is separated by commas; None where nothing was given."""
    return text.split(",") if text else None
