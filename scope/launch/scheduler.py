"""What a batch system must be able to do: say what a job was granted, and write the directives of a job script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

END = "SCOPE_JOB_END_UNIX_S"
"""Set by the scripts for batch systems that do not tell a job when it ends."""


@dataclass(frozen=True)
class Allocation:
    """What the batch job of this process was granted."""

    scheduler: str
    title: str
    job: str
    slots: Mapping[str, int | None]
    """Ranks of each host, in the job's order; None: one per usable core."""
    end_unix_s: float | None
    """When the job ends; None without a limit, or where the batch system does not say."""


@dataclass(frozen=True)
class Request:
    """What a job asks for."""

    name: str
    folder: Path
    """Working directory of its script."""
    output: Path
    """Where the output of its script is appended."""
    nodes: int = 1
    nodelist: tuple[str, ...] = ()
    """Names of hosts; empty: any."""
    ranks_per_node: int | None = None
    exclusive: bool = True
    partition: str | None = None
    account: str | None = None
    time_limit_s: float | None = None
    nice: int = 0
    """How far its priority is lowered."""
    arguments: tuple[str, ...] = ()


class Scheduler(Protocol):
    """One batch system."""

    name: str
    """As an experiment's `launcher.scheduler` spells it."""
    title: str
    """As its authors spell it."""
    submits: str
    """The command that submits a script, whose path follows."""
    tells_end: bool
    """Whether a job can ask when it ends."""

    def allocation(self, environment: Mapping[str, str]) -> Allocation | None:
        """Return what the job of this process was granted; None outside of any job."""

    def directives(self, request: Request) -> list[str]:
        """Return the lines of a job script that say what the job asks for."""


def hostnames(text: str) -> list[str]:
    """Return the hosts of a list in Slurm's notation: node[1-3,07],rack[1-2]b[0-1]."""
    names = re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text)
    return [host for name in names for host in _expanded(name)]


def counted(names: Iterable[str]) -> dict[str, int | None]:
    """Return the slots of each host by how often it is named.

    A host that is named once may have been granted whole; its usable cores count.
    """
    return {name: count if count > 1 else None for name, count in Counter(names).items()}


def end_of_job(environment: Mapping[str, str]) -> float | None:
    """Return when this job ends, as its script computed; None where the script did not."""
    end = environment.get(END, "")
    return float(end) if end.isdigit() else None


def clock(seconds: float) -> str:
    """Return a duration as HH:MM:SS, rounded up to whole minutes, which is what batch systems count."""
    minutes = -(-int(seconds) // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


def _expanded(name: str) -> list[str]:
    match = re.fullmatch(r"([^\[]*)\[([\d,-]+)\](.*)", name)
    if match is None:
        return [name]
    before, ranges, after = match.groups()
    numbers: list[str] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last or first) + 1)]
    return [f"{before}{number}{rest}" for number in numbers for rest in _expanded(after)]
