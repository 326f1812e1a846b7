"""`scope soak`: a program repeated for hours."""

from __future__ import annotations

from typing import Annotated

import typer

from scope.cli.campaign import Check, Limit, Resume
from scope.cli.options import Hosts, Json, Mpi, Output, Oversubscribe, Transport, words


def command(
    program: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- PROGRAM...", help="A program, or a whole command that begins with mpiexec or srun."
        ),
    ] = None,
    time: Annotated[
        str | None, typer.Option("--for", metavar="24h", help="Duration: 24h, 90m, 30s or 1.5d.")
    ] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Maximum number of runs.")] = None,
    ranks: Annotated[int, typer.Option(min=1, help="Number of ranks of a program without a launcher.")] = 1,
    oversubscribe: Oversubscribe = False,
    check: Check = None,
    limit: Limit = None,
    interval: Annotated[float, typer.Option(help="Seconds between two readings of a process's memory.")] = 0.1,
    unmonitored: Annotated[
        bool,
        typer.Option("--unmonitored", help="Without the monitor: only times and exit codes of any program."),
    ] = False,
    hosts: Hosts = None,
    transport: Transport = None,
    mpi: Mpi = None,
    output: Output = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Repeat a program and count its failures: errors, wrong results, drift of its time, memory leaks.

    Ctrl-C ends the soak early with a valid result; --resume goes on for the rest of its duration.
    """
    import sys

    from scope.cli.campaign import show
    from scope.cli.output import resumable
    from scope.cli.progress import campaign_progress
    from scope.engine import campaign, soak

    with resumable("scope soak"):
        if resume is not None:
            campaign.refuse_settings({"the program": program, "--for": time, "--runs": runs, "--output": output})
            result = campaign.resume("soak", resume, campaign_progress)
        else:
            options = soak.SoakOptions(
                program=program or [],
                duration_s=soak.seconds(time) if time else None,
                runs=runs,
                ranks=ranks,
                oversubscribe=oversubscribe,
                hosts=words(hosts) or [],
                check=check,
                limit_s=limit,
                interval_s=interval,
                monitored=not unmonitored,
                transport=transport or "default",
                mpi=mpi,
            )
            result = soak.run(options, output, campaign_progress, sys.argv)
    show(result, json)
    raise typer.Exit(0 if result.well else 1)
