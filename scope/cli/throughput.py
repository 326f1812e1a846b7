"""`scope throughput`: a mix of jobs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scope.cli.campaign import Resume
from scope.cli.options import Hosts, Json, Mpi, Output, Seed, words


def command(
    mix: Annotated[
        Path | None,
        typer.Argument(metavar="MIX", help="TOML file with the jobs; docs/how-to/throughput.md shows one."),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of rounds; default: the mix's, else 6.", min=1, max=10000),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="30m", help="Duration: 24h, 90m, 30s or 1.5d. No round begins that would end later."
        ),
    ] = None,
    hosts: Hosts = None,
    mpi: Mpi = None,
    seed: Seed = None,
    output: Output = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Run a mix of jobs side by side: jobs per hour, turn-around times, utilization, efficiency.

    In every round, each job runs once alone, and all jobs of the mix run side by side on the slots of the hosts.
    Ctrl-C leaves a valid run; --resume measures the rounds that are missing.
    """
    import sys

    from scope.cli.output import resumable
    from scope.cli.progress import mix_progress
    from scope.cli.show import show_run
    from scope.engine import campaign, throughput
    from scope.engine.soak import seconds
    from scope.errors import UsageError
    from scope.rundirectory import spelt

    if (mix is None) == (resume is None):
        raise UsageError("MIX or --resume DIR: exactly one of them must be given")
    with resumable("scope throughput"), mix_progress() as listener:
        if resume is not None:
            given = {"--rounds": rounds, "--for": time, "--hosts": hosts, "--mpi": mpi, "--seed": seed}
            campaign.refuse_settings({**given, "--output": output})
            done = throughput.resume(resume, listener)
        else:
            assert mix is not None
            options = throughput.ThroughputOptions(
                rounds=rounds,
                time_s=seconds(time) if time else None,
                seed=seed,
                mpi=mpi,
                hosts=words(hosts),
                output=output,
                command=sys.argv,
            )
            done = throughput.run(mix, options, listener)
    show_run(done.directory.path, json=json)
    if not json:
        typer.echo(f"report: {spelt(done.directory.report)}")
    raise typer.Exit(0 if done.well else 1)
