"""A program held against the cluster: each routine and size beside what the machine showed in a measured run.

The time that a call took is compared with the time that the same call took in the benchmark, and what is beyond
it is called avoidable. Where sums can tell, the part of it that was waiting for others is said, and is no
fault of the library or the network.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, log2
from pathlib import Path

from scope.errors import UsageError
from scope.machine.machine import Machine
from scope.profiles.records import Calls, Merged, Part
from scope.profiles.routines import plain
from scope.rundirectory import Run, RunDirectory, read_json
from scope.samples.records import Value
from scope.statistics.summary import Summaries, Summary

AGAINST = "against.json"


@dataclass(frozen=True)
class Counterpart:
    """The benchmark of a routine."""

    benchmark: str
    metric: str = "time_s"
    chosen: tuple[tuple[str, Value], ...] = ()
    """Values of parameters that it must have, where it has them."""
    divided: bool = False
    """Whether the routine's bytes are those of all blocks, and the benchmark's those of one."""


_COLLECTIVE = (("call", "blocking"), ("operator", "sum"), ("blocks", "equal"), ("root", 0))
_MESSAGE = (("mode", "standard"), ("completion", "blocking"))
COUNTERPARTS = {
    "MPI_Barrier": Counterpart("mpi.barrier"),
    "MPI_Bcast": Counterpart("mpi.broadcast"),
    "MPI_Reduce": Counterpart("mpi.reduce"),
    "MPI_Allreduce": Counterpart("mpi.allreduce"),
    "MPI_Gather": Counterpart("mpi.gather"),
    "MPI_Gatherv": Counterpart("mpi.gatherv"),
    "MPI_Allgather": Counterpart("mpi.allgather"),
    "MPI_Allgatherv": Counterpart("mpi.allgatherv"),
    "MPI_Alltoall": Counterpart("mpi.alltoall", divided=True),
    "MPI_Alltoallv": Counterpart("mpi.alltoallv", divided=True),
    "MPI_Reduce_scatter": Counterpart("mpi.reduce_scatter", divided=True),
    "MPI_Reduce_scatter_block": Counterpart("mpi.reduce_scatter_block", divided=True),
    "MPI_Scan": Counterpart("mpi.scan"),
    "MPI_Exscan": Counterpart("mpi.exscan"),
    **{
        name: Counterpart("mpi.latency", "latency_s", _MESSAGE)
        for name in ("MPI_Send", "MPI_Recv", "MPI_Sendrecv", "MPI_Sendrecv_replace")
    },
    "MPI_Ssend": Counterpart("mpi.latency", "latency_s", (("mode", "synchronous"), ("completion", "blocking"))),
}
"""What each routine is held against; nonblocking ones return at once and have none."""

MESSAGES = ("mpi.latency",)
"""Benchmarks of two processes, whatever the size of the communicator."""
DEFINITIONS = ("mean_rank", "max_rank", "global", "half_round_trip")
"""Of a collective the time inside the call, mean over the processes, is what a profile has; others stand in."""
BETTER = 1.2
"""Another size is better where it saves more than this factor."""


class Held(Part):
    """One routine with messages of one size on communicators of one size, beside the machine's figure."""

    routine: str
    communicator_size: int
    message_bytes: float
    """As the benchmark counts them; the mean of these calls."""
    calls: int
    """Of all processes."""
    processes: int
    time_s: float
    """Of all processes."""
    mean_s: float
    """Of a call."""
    benchmark: str
    definition: str
    ranks: int
    """Processes in the benchmark, the nearest that was measured."""
    machine_s: float
    """Of a call, as the machine has shown it."""
    share: float
    """Of the machine's rate that was reached: `machine_s` over `mean_s`."""
    avoidable_s: float
    """Of all processes: time beyond the machine's."""
    waiting_s: float | None
    """Of that what was surely waiting for the last process; None where sums cannot tell."""
    better_bytes: int | None
    """A size with which the machine carries the same in less time; None where there is none."""
    better_s: float | None
    """What these bytes take on the machine in messages of that size."""
    note: str
    """What to know of the machine's figure, for example that it is extrapolated."""


class Against(Part):
    """`against.json`."""

    format: int
    run: str
    """The measured run's folder."""
    machine: str
    """Its hosts."""
    held: list[Held]
    """What has most avoidable time first."""
    not_held: dict[str, float]
    """Routines without a counterpart, with their time of all processes."""


@dataclass(frozen=True)
class Curve:
    """Times of one benchmark on one number of processes by size, ascending."""

    benchmark: str
    definition: str
    ranks: int
    sizes: tuple[float, ...]
    times_s: tuple[float, ...]

    def at(self, size: float) -> tuple[float, str]:
        """Return the time of a message of so many bytes, and what is assumed.

        Between two sizes time grows as a power of the size; below the smallest it is that of the smallest; above
        the largest it grows in proportion.
        """
        if size <= self.sizes[0]:
            return self.times_s[0], "" if size == self.sizes[0] else f"measured from {self.sizes[0]:g} B on"
        if size >= self.sizes[-1]:
            beyond = "" if size == self.sizes[-1] else f"measured up to {self.sizes[-1]:g} B, in proportion above"
            return self.times_s[-1] * size / max(self.sizes[-1], 1.0), beyond
        above = next(index for index, known in enumerate(self.sizes) if known >= size)
        low, high = self.sizes[above - 1], self.sizes[above]
        fast, slow = self.times_s[above - 1], self.times_s[above]
        if low <= 0:
            return fast + (slow - fast) * size / high, ""
        return exp(log(fast) + (log(slow) - log(fast)) * log(size / low) / log(high / low)), ""

    def better(self, size: float) -> tuple[int, float] | None:
        """Return another measured size with which so many bytes take less, and the time they then take.

        A longer message that takes less time, or shorter ones that take less together.
        """
        if size <= 0:
            return None
        now_s = self.at(size)[0]
        choices = [
            (int(other), time_s * max(1.0, -(-size // other)))
            for other, time_s in zip(self.sizes, self.times_s, strict=True)
            if other > 0
        ]
        best = min(choices, key=lambda choice: choice[1], default=None)
        return best if best is not None and best[1] * BETTER < now_s else None


def hold(merged: Merged, run: Path) -> Against:
    """Hold a profile against a measured run; UsageError where `run` is none."""
    directory = RunDirectory(run)
    summaries = read_json(directory.statistics, Summaries).summaries
    machine = read_json(directory.machine, Machine)
    known = curves(summaries, spread=len(merged.hosts) > 1)
    held: list[Held] = []
    not_held: dict[str, float] = defaultdict(float)
    for alike in _alike(merged.calls):
        one = _held(alike, known, merged)
        if one is not None:
            held.append(one)
        else:
            not_held[alike[0].routine] += sum(each.time_s for each in alike)
    return Against(
        format=1,
        run=str(run),
        machine=", ".join(host.name for host in machine.hosts),
        held=sorted(held, key=lambda one: -one.avoidable_s),
        not_held=dict(sorted(not_held.items(), key=lambda pair: -pair[1])),
    )


def newest(folders: Sequence[Path], hosts: Sequence[str]) -> Path | None:
    """Return the newest finished run, below any of the folders, that measured these hosts; None without one."""
    found: list[tuple[float, Path]] = []
    for folder in folders:
        for path in sorted(folder.glob("*/statistics.json")) if folder.is_dir() else []:
            directory = RunDirectory(path.parent)
            try:
                run, machine = read_json(directory.run, Run), read_json(directory.machine, Machine)
            except UsageError:
                continue
            if set(hosts) <= {host.name for host in machine.hosts} and not path.parent.is_symlink():
                found.append((run.started_unix_s, path.parent))
    return max(found)[1] if found else None


def curves(summaries: Sequence[Summary], spread: bool) -> dict[str, list[Curve]]:
    """Return the curves of each routine that was measured, by numbers of processes.

    `spread`: the program ran on several hosts, and cases with one process on each host go before others.
    """
    found: dict[str, list[Curve]] = {}
    for routine, counterpart in COUNTERPARTS.items():
        usable = [one for one in summaries if _usable(one, counterpart)]
        preferred = [one for one in usable if one.placement.startswith("node") == spread] or usable
        best = min((DEFINITIONS.index(one.definition) for one in preferred), default=None)
        points: dict[int, dict[float, float]] = defaultdict(dict)
        for one in preferred:
            if DEFINITIONS.index(one.definition) == best and one.median:
                size = float(one.parameters.get("message_bytes", 0))
                points[one.ranks][size] = min(one.median, points[one.ranks].get(size, one.median))
        found[routine] = [
            Curve(
                counterpart.benchmark,
                DEFINITIONS[best or 0],
                ranks,
                tuple(sorted(by_size)),
                tuple(by_size[size] for size in sorted(by_size)),
            )
            for ranks, by_size in sorted(points.items())
        ]
    return found


def _usable(one: Summary, counterpart: Counterpart) -> bool:
    if one.benchmark != counterpart.benchmark or one.metric != counterpart.metric or not one.valid:
        return False
    if one.transport != "default" or one.definition not in DEFINITIONS or one.placement == "threads":
        return False
    asked: dict[str, list[Value]] = defaultdict(list)
    for name, value in counterpart.chosen or _COLLECTIVE:
        asked[name].append(value)
    return all(one.parameters.get(name, values[0]) in values for name, values in asked.items())


def _alike(calls: Sequence[Calls]) -> list[list[Calls]]:
    """Put together what differs in place and region only."""
    groups: dict[tuple[str, int, int], list[Calls]] = defaultdict(list)
    for one in calls:
        if not one.overflow and one.calls:
            groups[plain(one.routine), one.communicator_size, one.size_class].append(one)
    return list(groups.values())


def _held(alike: Sequence[Calls], known: dict[str, list[Curve]], merged: Merged) -> Held | None:
    first = alike[0]
    name = plain(first.routine)
    counterpart = COUNTERPARTS.get(name)
    curve, note = _nearest(known.get(name, []), 2 if _is_message(counterpart) else first.communicator_size)
    if counterpart is None or curve is None or first.communicator_size < 2:
        return None
    calls, time_s = sum(one.calls for one in alike), sum(one.time_s for one in alike)
    size = sum(one.bytes for one in alike) / calls / (first.communicator_size if counterpart.divided else 1)
    machine_s, assumed = curve.at(size)
    better = curve.better(size)
    avoidable_s = max(0.0, time_s - calls * machine_s)
    waiting = [
        one.waiting_least_s
        for one in merged.collectives
        if (plain(one.routine), one.communicator_size, one.size_class)
        == (name, first.communicator_size, first.size_class)
    ]
    return Held(
        routine=name,
        communicator_size=first.communicator_size,
        message_bytes=size,
        calls=calls,
        processes=max(one.processes for one in alike),
        time_s=time_s,
        mean_s=time_s / calls,
        benchmark=curve.benchmark,
        definition=curve.definition,
        ranks=curve.ranks,
        machine_s=machine_s,
        share=machine_s * calls / time_s if time_s > 0 else 1.0,
        avoidable_s=avoidable_s,
        waiting_s=min(avoidable_s, waiting[0]) if waiting else None,
        better_bytes=better[0] if better else None,
        better_s=better[1] if better else None,
        note="; ".join(filter(None, [note, assumed])),
    )


def _is_message(counterpart: Counterpart | None) -> bool:
    return counterpart is not None and counterpart.benchmark in MESSAGES


def _nearest(known: Sequence[Curve], ranks: int) -> tuple[Curve | None, str]:
    """Return the curve of so many processes, else that of the nearest number, and what is assumed."""
    if not known:
        return None, ""
    curve = min(known, key=lambda one: abs(log2(one.ranks) - log2(max(ranks, 1))))
    return curve, "" if curve.ranks == ranks else f"measured on {curve.ranks} processes"
