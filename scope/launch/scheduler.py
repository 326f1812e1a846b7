"""What a batch system must be able to do: say what a job was granted, and write the head of a job's script."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol, cast

END = "SCOPE_JOB_END_UNIX_S"
"""Set by the scripts for batch systems that do not tell a job when it ends."""


@dataclass(frozen=True)
class Allocation:
    """What the job that this process runs in was granted."""

    scheduler: str
    title: str
    job: str
    slots: Mapping[str, int | None]
    """Ranks that each host takes, in the job's order; None where only its processors say."""
    end_unix_s: float | None
    """None without a limit, or where nobody says."""


@dataclass(frozen=True)
class Deadline:
    """When a run stops by itself, and what it then says."""

    unix_s: float
    why: str


@dataclass(frozen=True)
class Request:
    """What a job asks for."""

    name: str
    folder: Path
    """Where its script starts."""
    output: Path
    """What the script prints is added there."""
    nodes: int = 1
    nodelist: tuple[str, ...] = ()
    """Names of hosts; empty: any."""
    ranks_per_node: int | None = None
    exclusive: bool = True
    partition: str | None = None
    account: str | None = None
    time_limit_s: float | None = None
    nice: int = 0
    """How far others' jobs go first."""
    arguments: tuple[str, ...] = ()


class Scheduler(Protocol):
    """One batch system."""

    name: str
    """As an experiment's `launcher.scheduler` names it."""
    title: str
    """For people."""
    submits: str
    """How a person submits a script; its path follows."""
    tells_end: bool
    """Whether a job can ask when it ends."""

    def allocation(self, environment: Mapping[str, str]) -> Allocation | None:
        """Return what this job was granted; None when the process runs in none of its jobs."""

    def directives(self, request: Request) -> list[str]:
        """Return the lines of a script that say what the job asks for."""


def every() -> dict[str, Scheduler]:
    """Return the batch systems by name."""
    package = import_module("scope.launch.schedulers")
    modules = (import_module(found.name) for found in iter_modules(package.__path__, f"{package.__name__}."))
    known = [cast(Scheduler, module.SCHEDULER) for module in modules]
    return {each.name: each for each in known}


def allocation() -> Allocation | None:
    """Return what the job was granted that this process runs in; None outside any job."""
    granted = (each.allocation(os.environ) for each in every().values())
    return next((each for each in granted if each is not None), None)


def deadline(margin_s: float) -> Deadline | None:
    """Return when a run must stop so that it ends so long before its job; None where no end is known."""
    granted = allocation()
    if granted is None or granted.end_unix_s is None:
        return None
    end = time.strftime("%H:%M:%S", time.localtime(granted.end_unix_s))
    job = f"{granted.title} job {granted.job}"
    why = f"stopped {margin_s:g} s (launcher.time_margin_s) before the end of {job} at {end}"
    return Deadline(granted.end_unix_s - margin_s, why)


def script(scheduler: Scheduler, request: Request, run: Path, words: list[str]) -> str:
    """Return a job's script: it begins the run `run` with `scope WORDS...`, or takes it up where it was begun.

    A job that its batch system starts anew after the failure of a node thus goes on where it was.
    """
    scope = [sys.executable, "-m", "scope"]
    limits = [] if scheduler.tells_end or request.time_limit_s is None else [_end(request.time_limit_s)]
    lines = [
        "#!/bin/bash",
        *scheduler.directives(request),
        f"cd {shlex.quote(str(request.folder))} || exit 2",
        *limits,
        f"if [ -e {shlex.quote(str(run / 'run.json'))} ]; then",
        f"  exec {shlex.join([*scope, 'run', '--resume', str(run)])}",
        "fi",
        # exec, so that the batch system's signals reach Scope itself.
        f"exec {shlex.join([*scope, *words])}",
    ]
    return "\n".join(lines) + "\n"


def hostnames(text: str) -> list[str]:
    """Return the hosts of a list, which may be abbreviated as Slurm does: node[1-3,07],rack[1-2]b[0-1]."""
    names = re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text)
    return [host for name in names for host in _unfolded(name)]


def _unfolded(name: str) -> list[str]:
    match = re.fullmatch(r"([^\[]*)\[([\d,-]+)\](.*)", name)
    if match is None:
        return [name]
    before, ranges, after = match.groups()
    numbers: list[str] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last or first) + 1)]
    return [f"{before}{number}{rest}" for number in numbers for rest in _unfolded(after)]


def counted(names: Iterable[str]) -> dict[str, int | None]:
    """Return how often each host is named; one named once may have been granted whole, so its processors count."""
    return {name: count if count > 1 else None for name, count in Counter(names).items()}


def end_told(environment: Mapping[str, str]) -> float | None:
    """Return when this job ends as its script told; None when it did not."""
    told = environment.get(END, "")
    return float(told) if told.isdigit() else None


def clock(seconds: float) -> str:
    """Return a duration as HH:MM:SS, rounded up to a whole minute since that is what batch systems count."""
    minutes = -(-int(seconds) // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


def _end(seconds: float) -> str:
    return f"export {END}=$(($(date +%s) + {int(seconds)}))"
