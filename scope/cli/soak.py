"""`scope soak`: a program again and again, for a day if need be."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from scope.cli.campaign import Hosts, Json, Mpi, Output, Resume

SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}


def command(
    program: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- PROGRAM ...", help="A program, or a whole command that begins with mpiexec or srun."
        ),
    ] = None,
    time: Annotated[str | None, typer.Option("--for", help="24h, 90m, 30s: how long to go on.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="At most so many runs.")] = None,
    ranks: Annotated[int, typer.Option(min=1, help="On which a program without a launcher is started.")] = 1,
    oversubscribe: Annotated[bool, typer.Option("--oversubscribe", help="Allow more ranks than cores.")] = False,
    check: Annotated[str | None, typer.Option(help="A command that reads what a run printed; 0: right.")] = None,
    limit: Annotated[float | None, typer.Option(help="Seconds after which a run is ended.")] = None,
    interval: Annotated[float, typer.Option(help="Seconds between two looks at a process's memory.")] = 0.1,
    unmonitored: Annotated[
        bool, typer.Option("--unmonitored", help="Only the clock: any program will do.")
    ] = False,
    hosts: Hosts = None,
    mpi: Mpi = None,
    output: Output = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Repeat a program and count what goes wrong: errors, wrong results, drift of its time, memory that grows.

    Ctrl-C ends it early with a valid result; --resume goes on for what is left of the time.
    """
    import sys

    from scope.campaign import folder as folders
    from scope.campaign.study import made, named, starts_ranks
    from scope.cli.campaign import go_on, refuse_beside_resume, start
    from scope.errors import UsageError

    if resume is not None:
        refuse_beside_resume({"the program": program, "--for": time, "--runs": runs, "--output": output})
        raise typer.Exit(go_on("soak", resume, json))
    if not program:
        raise UsageError("no program: must stand after --, such as `scope soak --for 24h -- mpiexec -n 4 ./app`")
    if time is None and runs is None:
        raise UsageError("--for or --runs must say when to stop")
    whole = starts_ranks(program)
    asked: dict[str, object] = {
        "name": named(program),
        "command" if whole else "program": program,
        "ranks": ranks,
        "repetitions": 1,
        "interval_s": interval,
        "monitored": not unmonitored,
    }
    if whole and (hosts or oversubscribe or ranks != 1):
        raise UsageError(
            f"{program[0]}: starts its ranks itself; --ranks, --hosts and --oversubscribe do not apply"
        )
    if not whole:
        asked["launcher"] = {"hosts": hosts.split(",") if hosts else [], "oversubscribe": oversubscribe}
    study = made(asked, "the command line", {"mpi": mpi, "check": check, "limit_s": limit})
    head = folders.head_of("soak", study, sys.argv)
    head = head.model_copy(update={"soak_s": seconds(time) if time else None, "soak_runs": runs})
    raise typer.Exit(start(head, "the command line", output, json))


def seconds(text: str) -> float:
    """Read a duration such as `24h`, `90m` or `1.5d`; raises UsageError that says what is allowed."""
    from scope.errors import UsageError

    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|min|h|d|)", text.strip())
    if match is None or not 0 < float(match[1]) * SECONDS[match[2]] < 366 * 86400:
        raise UsageError(f"--for {text}: must be a time such as 24h, 90m or 30s, less than a year")
    return float(match[1]) * SECONDS[match[2]]
