"""`scope import`: profiles that other tools made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scope.profiles.monitored_run import Monitored


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A report of mpiP (*.mpiP).")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN", help="The run's folder.", show_default=False)
    ] = None,
) -> None:
    """Take the profile that another tool made of a program into a run of its own, and say what it shows.

    What the other tool has not counted stays unknown. mpiP: https://github.com/LLNL/mpiP
    """
    from scope.cli import monitor
    from scope.launch import run as runs
    from scope.profiles import mpip
    from scope.profiles.folder import PROFILES
    from scope.profiles.monitored_run import MONITOR
    from scope.rundirectory import read_text, write_json, write_text

    text = read_text(file)
    mpip.read(file)  # refused before anything is made
    folder = runs.new_directory("import", output).path
    (folder / PROFILES).mkdir()
    kept = folder / PROFILES / f"{file.stem}{mpip.SUFFIX}"
    write_text(kept, text)
    write_json(folder / MONITOR, _record(kept))
    monitor.analyze(folder)
    monitor.explain(folder)


def _record(report: Path) -> Monitored:
    """Return what is known of the command that was profiled."""
    from scope.profiles import mpip
    from scope.profiles.monitored_run import Monitored
    from scope.rundirectory import FORMAT
    from scope.version import VERSION

    return Monitored(
        format=FORMAT,
        scope_version=VERSION,
        command=mpip.command(report),
        directory="",
        started_unix_s=mpip.started_unix_s(report),
        finished_unix_s=None,
        wall_s=None,
        exit_code=None,
        signal=None,
        host="",
        mpi=None,
        library="",
        options={},
        machine=None,
    )
