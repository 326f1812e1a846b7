"""`scope placement`: what it costs a program that its processes share a node."""

from __future__ import annotations

from typing import Annotated

import typer

from scope.cli.campaign import Hosts, Json, Mpi, Output, Resume


def command(
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- PROGRAM ...", help="The program alone: Scope starts its ranks."),
    ] = None,
    ranks: Annotated[int | None, typer.Option(help="Processes; else one for each host.")] = None,
    repetitions: Annotated[int, typer.Option(min=1, max=10000, help="Of each layout, in random order.")] = 8,
    transport: Annotated[str, typer.Option(help="default, or tcp also inside a host.")] = "default",
    hosts: Hosts = None,
    hostfile: Annotated[str | None, typer.Option(help="A file with a host per line.")] = None,
    mpi: Mpi = None,
    check: Annotated[str | None, typer.Option(help="A command that reads what a run printed; 0: right.")] = None,
    limit: Annotated[float | None, typer.Option(help="Seconds after which a run is ended.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the random order.")] = None,
    name: Annotated[str | None, typer.Option(help="What the study is called.")] = None,
    output: Output = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Run a program packed on few nodes and spread over many, and say what the packing costs, and why.

    The same number of processes on fewer nodes, and more processes on the same nodes; the difference is divided
    into computation (contention for memory) and communication. On a single host its sockets stand for nodes.
    """
    import sys

    from scope.build import installations
    from scope.campaign import folder as folders
    from scope.campaign.allocation import pairings
    from scope.campaign.study import made, named, starts_ranks
    from scope.cli.campaign import go_on, refuse_beside_resume, start
    from scope.errors import UsageError
    from scope.launch.cluster import probe_cluster
    from scope.launch.site import site_of
    from scope.plan.experiment import resolve

    if resume is not None:
        refuse_beside_resume({"the program": program, "--ranks": ranks, "--output": output, "--seed": seed})
        raise typer.Exit(go_on("placement", resume, json))
    if not program:
        raise UsageError("no program: must stand after --, such as `scope placement -- ./app arguments`")
    if starts_ranks(program):
        raise UsageError(f"{program[0]}: give the program alone; Scope starts its ranks, now here, now there")
    options = {
        "launcher.hosts": hosts.split(",") if hosts else None,
        "launcher.hostfile": hostfile,
    }
    where = "the command line"
    asked = resolve(None, options).launcher
    cluster = probe_cluster(site_of(installations.find(mpi), asked, where))
    slots = cluster.place.slots
    if len(slots) > 1 and ranks is None and len(set(slots)) > 1:
        raise UsageError(
            f"the hosts take {', '.join(map(str, slots))} ranks: --ranks must say how many are placed"
        )
    pairs, notes = pairings(slots, cluster.hosts[0].processor.sockets if cluster.hosts else 1, ranks)
    study = made(
        {
            "name": name or named(program),
            "program": program,
            "ranks": sorted({layout.ranks for pair in pairs for layout in (pair.packed, pair.spread)}),
            "placement": sorted({layout.placement for pair in pairs for layout in (pair.packed, pair.spread)}),
            "transport": transport,
            "repetitions": repetitions,
            "launcher": asked.model_dump(),
        },
        where,
        {"mpi": mpi, "check": check, "limit_s": limit, "seed": seed},
    )
    head = folders.head_of("placement", study, sys.argv)
    head = head.model_copy(update={"pairings": pairs, "notes": [*notes, *head.notes]})
    raise typer.Exit(start(head, where, output, json))
