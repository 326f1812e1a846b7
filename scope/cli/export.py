"""`scope export`: profiles for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of monitored runs.")],
    as_: Annotated[str, typer.Option("--as", metavar="FORMAT", help="csv, extrap, hatchet or chrome.")] = "csv",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; the standard output.")
    ] = None,
) -> None:
    """Write the profiles of monitored runs in the form of another program.

    csv: a line for each routine, place and size. extrap: JSON Lines for Extra-P, of runs on unlike numbers
    of processes. hatchet: a literal tree. chrome: the trace of one run, for Perfetto and chrome://tracing.
    """
    from scope.rundirectory import write_text

    text = chrome(runs) if as_ == "chrome" else exported(runs, as_)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text(output, text)
        typer.echo(f"written: {output}", err=True)


def exported(runs: list[Path], name: str) -> str:
    """Return the profiles of monitored runs in one of the formats."""
    from scope.errors import UsageError
    from scope.profiles import exports
    from scope.profiles.merged import PROFILE, merge, read

    if name not in exports.names():
        raise UsageError(f"--as {name}: must be one of {', '.join([*exports.names(), 'chrome'])}")
    write = exports.writer(name)
    return write([read(run) if (run / PROFILE).is_file() else merge(run) for run in runs])


def chrome(runs: list[Path]) -> str:
    """Return the trace of a monitored run; UsageError where none was kept."""
    import json

    from scope.errors import UsageError
    from scope.profiles import folder, trace

    if len(runs) != 1:
        raise UsageError("--as chrome: must have one run")
    profiles = folder.job(runs[0]).profiles
    if not any(len(one.tables["events"]) for one in profiles):
        raise UsageError(f"{runs[0]}: nothing was traced; `scope monitor --trace START:SECONDS` keeps every call")
    hosts = {one.rank: one.host for one in profiles}
    return json.dumps(trace.chrome(trace.gather(profiles), hosts), allow_nan=False) + "\n"
