"""Options that several commands share, spelt and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RunFolder = Annotated[Path, typer.Argument(help="Run directory, for example runs/latest.", show_default=False)]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Run directory; default: a new one below runs/."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Mpi = Annotated[
    str | None,
    typer.Option(
        help="openmpi, mpich, embedded, a folder of an installation, or an mpicxx; default: first found."
    ),
]
Seed = Annotated[int | None, typer.Option(help="Seed of the random order; default: drawn and recorded.")]
Hosts = Annotated[
    str | None, typer.Option(metavar="A:2,B:2", help="Hosts and their slots; default: of the job, else this host.")
]
Hostfile = Annotated[str | None, typer.Option(help="File with one host per line: name, name:N or name slots=N.")]
RanksPerHost = Annotated[int | None, typer.Option(help="Ranks on each host (mpiexec -ppn).")]
Binding = Annotated[str | None, typer.Option(help="Bind ranks to core (default), socket or none.")]
Interface = Annotated[str | None, typer.Option(help="Network interface of the messages, for example eth0.")]
Mpiexec = Annotated[str | None, typer.Option(help="Path of mpiexec, where it is not beside the compiler.")]
RemoteShell = Annotated[str | None, typer.Option(help="Program to start remote processes with, instead of ssh.")]
LauncherArgument = Annotated[
    list[str] | None, typer.Option(help="Further argument of mpiexec or srun; may be repeated.")
]
Oversubscribe = Annotated[
    bool,
    typer.Option("--oversubscribe", help="Allow more ranks than slots, by default one for each usable core."),
]


def words(text: str | None) -> list[str] | None:
    """Return the parts of a list that is separated by commas; None where nothing was given."""
    return text.split(",") if text else None
