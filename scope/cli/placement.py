"""`scope placement`: the cost of sharing a node."""

from __future__ import annotations

from typing import Annotated

import typer

from scope.cli.campaign import Check, Limit, Resume
from scope.cli.options import Hostfile, Hosts, Json, Mpi, Output, Seed, words


def command(
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- PROGRAM...", help="The program without mpiexec: Scope starts its ranks."),
    ] = None,
    ranks: Annotated[int | None, typer.Option(help="Number of ranks; default: one for each host.")] = None,
    repetitions: Annotated[
        int, typer.Option(min=1, max=10000, help="Number of runs of each placement, in random order.")
    ] = 8,
    transport: Annotated[str, typer.Option(help="default, or tcp: also inside a host.")] = "default",
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    mpi: Mpi = None,
    check: Check = None,
    limit: Limit = None,
    seed: Seed = None,
    name: Annotated[str | None, typer.Option(help="Name of the study; default: the program's.")] = None,
    output: Output = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Run a program packed on few nodes and spread over many, and explain the cost of packing.

    Compares the same number of processes on fewer nodes, and more processes on the same nodes; the difference is
    divided into computation (contention for memory) and communication. On a single host, sockets stand for nodes.
    """
    import sys

    from scope.cli.campaign import show
    from scope.cli.output import resumable
    from scope.cli.progress import campaign_progress
    from scope.engine import campaign, placement
    from scope.engine.options import LauncherOptions

    with resumable("scope placement"):
        if resume is not None:
            campaign.refuse_settings(
                {"the program": program, "--ranks": ranks, "--output": output, "--seed": seed}
            )
            result = campaign.resume("placement", resume, campaign_progress)
        else:
            options = placement.PlacementOptions(
                program=program or [],
                ranks=ranks,
                repetitions=repetitions,
                transport=transport,
                launcher=LauncherOptions(hosts=words(hosts), hostfile=hostfile),
                mpi=mpi,
                check=check,
                limit_s=limit,
                seed=seed,
                name=name,
            )
            result = placement.run(options, output, campaign_progress, sys.argv)
    show(result, json)
    raise typer.Exit(0 if result.well else 1)
