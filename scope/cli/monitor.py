"""`scope monitor`: run any MPI program under the monitor, and say where its time went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scope.profiles.records import Merged

NONE = "none"
"""Of --against: hold the program against nothing."""


def command(
    words: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND", help="For example: -- mpiexec -n 4 ./app input")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN", help="The run's folder.", show_default=False)
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(help="openmpi, mpich, embedded, a folder or an mpicxx; found out unless it is said."),
    ] = None,
    interval: Annotated[float, typer.Option(metavar="S", help="Seconds of a row of the time series.")] = 0.1,
    trace: Annotated[
        str, typer.Option(metavar="START:SECONDS", help="Keep every call of this window after MPI_Init.")
    ] = "0:0",
    depth: Annotated[int, typer.Option(help="Frames of a call site, 0 to 8.")] = 1,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="A measured run to hold it against; the newest of these hosts, or `none`."
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="The profile as an object, after what the program printed.")
    ] = False,
) -> None:
    """Run any MPI program, unchanged, and say where its time went.

    What the program prints and its exit code are passed on; the report goes to the standard error.
    """
    import sys

    from scope.launch import run as runs
    from scope.profiles.monitored_run import Options, run
    from scope.report.terminal.console import console

    options = Options(mpi=mpi, interval_s=interval, trace=trace, depth=depth).checked()
    measured = _measured(against)
    directory = runs.new_directory("monitor", output)
    try:
        ended = run(words, directory.path, options)
    except BaseException:
        _leave_nothing(directory.path)
        raise
    runs.make_latest(directory)
    if not any((directory.path / "profiles").iterdir()):
        print(f"scope monitor: {_why_nothing(words, ended.code)}", file=sys.stderr)
        raise typer.Exit(ended.code or 1)
    merged = analyze(directory.path, measured, search=against != NONE)
    explain(directory.path, console(sys.stderr))
    if json:
        typer.echo(merged.model_dump_json())
    raise typer.Exit(ended.code)


def analyze(folder: Path, against: Path | None = None, search: bool = True) -> Merged:
    """Derive everything that the profiles of a monitored run say, and write it into its folder.

    `against`: the measured run to hold it against; without one that of before, or the newest that fits (`search`).
    """
    from scope.findings import profile as kinds
    from scope.findings.finding import Findings
    from scope.findings.profile.facts import Facts
    from scope.profiles import folder as folders
    from scope.profiles import trace
    from scope.profiles.against import AGAINST, hold
    from scope.profiles.merged import PROFILE, merge
    from scope.rundirectory import FORMAT, RunDirectory, write_json, write_text

    merged = merge(folder)
    write_text(folder / PROFILE, merged.model_dump_json(indent=1) + "\n")
    chosen = against or (_fitting(folder, merged) if search else None)
    held = hold(merged, chosen) if chosen is not None else None
    if held is not None:
        write_json(folder / AGAINST, held)
    else:
        (folder / AGAINST).unlink(missing_ok=True)
    found = kinds.find_all(Facts(merged, held))
    write_json(RunDirectory(folder).findings, Findings(format=FORMAT, findings=found))
    if merged.events:
        profiles = folders.job(folder).profiles
        hosts = {one.rank: one.host for one in profiles}
        write_json(folder / trace.TRACE, trace.chrome(trace.gather(profiles), hosts))
    return merged


def explain(folder: Path, screen: object = None) -> None:
    """Draw the page of a monitored run and print what it says in short."""
    from rich.console import Console

    from scope.report.profile import contents as profile_contents
    from scope.report.profile import page as profile_page
    from scope.report.profile import text as profile_text
    from scope.report.terminal.console import console

    profile_page.write(folder)
    profile_text.show(profile_contents.read(folder), screen if isinstance(screen, Console) else console())


def _measured(against: str | None) -> Path | None:
    """Return the measured run that was named; raises UsageError where it is none."""
    from scope.errors import UsageError
    from scope.rundirectory import RunDirectory

    if against is None or against == NONE:
        return None
    path = Path(against)
    if not RunDirectory(path).statistics.is_file():
        raise UsageError(f"--against {against}: has no statistics.json; must be a measured run, or none")
    return path


def _fitting(folder: Path, merged: Merged) -> Path | None:
    """Return the run that the folder was held against before, else the newest of these hosts and this MPI."""
    from scope.profiles import monitored_run
    from scope.profiles.against import AGAINST, Against, newest
    from scope.rundirectory import RunDirectory, read_json

    if (folder / AGAINST).is_file():
        before = Path(read_json(folder / AGAINST, Against).run)
        if RunDirectory(before).statistics.is_file():
            return before
    mpi = monitored_run.read(folder).mpi if monitored_run.is_monitored(folder) else None
    return newest([Path("runs").absolute(), folder.absolute().parent], merged.hosts, mpi)


def _why_nothing(words: list[str], code: int) -> str:
    """Say what may be the reason that no process left a profile."""
    ended = f" (it ended with code {code})" if code else ""
    return (
        f"no process of `{' '.join(words)}` left a profile{ended}: it has not called MPI_Init, its MPI is linked"
        " statically, or its launcher does not hand LD_PRELOAD on"
    )


def _leave_nothing(folder: Path) -> None:
    """Remove the folder of a command that could not be started."""
    from contextlib import suppress

    from scope.profiles.folder import PROFILES

    with suppress(OSError):
        (folder / PROFILES).rmdir()
    with suppress(OSError):
        folder.rmdir()
