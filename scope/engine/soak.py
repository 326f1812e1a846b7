"""A program repeated for hours: errors, wrong results, drift, growing memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scope.campaign import folder as folders
from scope.campaign.folder import Head
from scope.campaign.study import made, named, starts_ranks
from scope.engine.campaign import CampaignResult, start
from scope.engine.options import COMMAND_LINE
from scope.engine.progress import CampaignProgress
from scope.errors import UsageError

SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
YEAR_S = 366 * 86400


@dataclass(frozen=True)
class SoakOptions:
    """Options of `scope soak`."""

    program: Sequence[str]
    """The words of a program, or of a whole command that begins with mpiexec or srun."""
    duration_s: float | None = None
    runs: int | None = None
    ranks: int = 1
    """Of a program without a launcher."""
    oversubscribe: bool = False
    hosts: Sequence[str] = ()
    check: str | None = None
    """A command that reads the output of a run and exits with 0 when that is correct."""
    limit_s: float | None = None
    interval_s: float = 0.1
    """Between two readings of a process's memory."""
    monitored: bool = True
    transport: str = "default"
    mpi: str | None = None


def head_of(options: SoakOptions, command: Sequence[str]) -> Head:
    """Return the head of a soak; UsageError where the options contradict each other."""
    program = options.program
    if not program:
        raise UsageError("no program: must follow --, such as `scope soak --for 24h -- mpiexec -n 4 ./app`")
    if options.duration_s is None and options.runs is None:
        raise UsageError("--for or --runs: one of them must say when to stop")
    asked: dict[str, object] = {
        "name": named(program),
        "ranks": options.ranks,
        "repetitions": 1,
        "interval_s": options.interval_s,
        "monitored": options.monitored,
        "transport": [options.transport],
    }
    if starts_ranks(program):
        if options.hosts or options.oversubscribe or options.ranks != 1:
            raise UsageError(
                f"{program[0]}: starts its ranks itself; --ranks, --hosts and --oversubscribe do not apply"
            )
        asked["command"] = list(program)
    else:
        asked["program"] = list(program)
        asked["launcher"] = {"hosts": list(options.hosts), "oversubscribe": options.oversubscribe}
    study = made(asked, COMMAND_LINE, {"mpi": options.mpi, "check": options.check, "limit_s": options.limit_s})
    head = folders.head_of("soak", study, list(command))
    return head.model_copy(update={"soak_s": options.duration_s, "soak_runs": options.runs})


def run(
    options: SoakOptions,
    output: Path | None = None,
    progress: CampaignProgress | None = None,
    command: Sequence[str] = (),
) -> CampaignResult:
    """Repeat a program and count its failures."""
    return start(head_of(options, command), COMMAND_LINE, output, progress)


def seconds(text: str) -> float:
    """Read a duration such as `24h`, `90m` or `1.5d`; UsageError states the allowed forms."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|min|h|d|)", text.strip())
    if match is None or not 0 < float(match[1]) * SECONDS[match[2]] < YEAR_S:
        raise UsageError(f"--for {text}: must be a time such as 24h, 90m or 30s, less than a year")
    return float(match[1]) * SECONDS[match[2]]
