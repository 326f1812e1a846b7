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
from scope.machine.machine import Machine, MpiInstallation
from scope.profiles.records import Calls, Merged, Waits
from scope.profiles.routines import kind, plain
from scope.rundirectory import Run, RunDirectory, read_json
from scope.samples.records import Value
from scope.statistics.summary import Summaries, Summary
from scope.strict import Strict

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
WAITED = {name: Counterpart("mpi.latency", "latency_s", _MESSAGE) for name in ("MPI_Irecv", "MPI_Recv_init")}
"""What the waits for requests are held against, by the routine that made them."""

MESSAGES = ("mpi.latency",)
"""Benchmarks of two processes, whatever the size of the communicator."""
DEFINITIONS = ("mean_rank", "max_rank", "global", "half_round_trip")
"""Of a collective the time inside the call, mean over the processes, is what a profile has; others stand in."""
BETTER = 1.5
"""Another size is better where it saves more than this factor."""


class Held(Strict):
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
    waiting_most_s: float | None
    """Of that what can have been waiting at most."""
    better_bytes: int | None
    """A size with which the machine carries the same in less time; None where there is none."""
    better_s: float | None
    """What these bytes take on the machine in messages of that size."""
    note: str
    """What to know of the machine's figure, for example that it is extrapolated."""


class Against(Strict):
    """`against.json`."""

    format: int
    run: str
    """The measured run's folder."""
    machine: str
    """Its hosts."""
    library: str
    """Its MPI, for example `openmpi 5.0.11`; empty where it is not known."""
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
    for sums in [*_sums(merged.calls), *_waits(merged.waits)]:
        one = _held(sums, known, merged)
        if one is not None:
            held.append(one)
        else:
            not_held[sums.routine] += sums.time_s
    # What their waits are told by, is not told by the waits themselves.
    waited_s = sum(one.time_s for one in merged.waits)
    for name in [name for name in not_held if kind(name) == "wait" and waited_s > 0]:
        del not_held[name]
    return Against(
        format=1,
        run=str(run),
        machine=", ".join(host.name for host in machine.hosts),
        library=f"{machine.build.mpi.name} {machine.build.mpi.version}" if machine.build else "",
        held=sorted(held, key=lambda one: -one.avoidable_s),
        not_held=dict(sorted(not_held.items(), key=lambda pair: -pair[1])),
    )


def newest(folders: Sequence[Path], hosts: Sequence[str], mpi: MpiInstallation | None = None) -> Path | None:
    """Return the newest run, below any of the folders, that measured these hosts with this MPI; None without one.

    `mpi` None: with any.
    """
    found: list[tuple[float, Path]] = []
    for folder in folders:
        for path in sorted(folder.glob("*/statistics.json")) if folder.is_dir() else []:
            directory = RunDirectory(path.parent)
            try:
                run, machine = read_json(directory.run, Run), read_json(directory.machine, Machine)
            except UsageError:
                continue
            used = machine.build.mpi if machine.build else None
            same = mpi is None or (used is not None and (used.name, used.version) == (mpi.name, mpi.version))
            if same and set(hosts) <= {host.name for host in machine.hosts} and not path.parent.is_symlink():
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


@dataclass(frozen=True)
class Sums:
    """Calls that differ in place and region only, or the waits for them."""

    routine: str
    shown: str
    """Its name on the page."""
    communicator_size: int
    size_class: int
    calls: int
    bytes: int
    time_s: float
    processes: int
    counterpart: Counterpart | None


def _sums(calls: Sequence[Calls]) -> list[Sums]:
    groups: dict[tuple[str, int, int], list[Calls]] = defaultdict(list)
    for one in calls:
        if not one.overflow and one.calls:
            groups[plain(one.routine), one.communicator_size, one.size_class].append(one)
    return [
        Sums(
            routine=name,
            shown=name,
            communicator_size=members,
            size_class=size_class,
            calls=sum(one.calls for one in alike),
            bytes=sum(one.bytes for one in alike),
            time_s=sum(one.time_s for one in alike),
            processes=max(one.processes for one in alike),
            counterpart=COUNTERPARTS.get(name),
        )
        for (name, members, size_class), alike in groups.items()
    ]


def _waits(waits: Sequence[Waits]) -> list[Sums]:
    groups: dict[tuple[str, int, int], list[Waits]] = defaultdict(list)
    for one in waits:
        if one.requests:
            groups[plain(one.operation), one.communicator_size, one.size_class].append(one)
    return [
        Sums(
            routine=name,
            shown=f"waits for {name}",
            communicator_size=members,
            size_class=size_class,
            calls=sum(one.requests for one in alike),
            bytes=sum(one.bytes for one in alike),
            time_s=sum(one.time_s for one in alike),
            processes=max(one.processes for one in alike),
            counterpart=WAITED.get(name),
        )
        for (name, members, size_class), alike in groups.items()
    ]


def _held(sums: Sums, known: dict[str, list[Curve]], merged: Merged) -> Held | None:
    counterpart = sums.counterpart
    if counterpart is None or sums.communicator_size < 2:
        return None
    ranks = 2 if counterpart.benchmark in MESSAGES else sums.communicator_size
    curve, note = _nearest(known.get(_MESSENGER if sums.shown != sums.routine else sums.routine, []), ranks)
    if curve is None:
        return None
    size = sums.bytes / sums.calls / (sums.communicator_size if counterpart.divided else 1)
    machine_s, assumed = curve.at(size)
    better = curve.better(size)
    avoidable_s = max(0.0, sums.time_s - sums.calls * machine_s)
    waiting = next(
        (
            one
            for one in merged.collectives
            if (plain(one.routine), one.communicator_size, one.size_class)
            == (sums.routine, sums.communicator_size, sums.size_class)
        ),
        None,
    )
    return Held(
        routine=sums.shown,
        communicator_size=sums.communicator_size,
        message_bytes=size,
        calls=sums.calls,
        processes=sums.processes,
        time_s=sums.time_s,
        mean_s=sums.time_s / sums.calls,
        benchmark=curve.benchmark,
        definition=curve.definition,
        ranks=curve.ranks,
        machine_s=machine_s,
        share=machine_s * sums.calls / sums.time_s if sums.time_s > 0 else 1.0,
        avoidable_s=avoidable_s,
        waiting_s=min(avoidable_s, waiting.waiting_least_s) if waiting else None,
        waiting_most_s=min(avoidable_s, waiting.waiting_most_s) if waiting else None,
        better_bytes=better[0] if better else None,
        better_s=better[1] if better else None,
        note="; ".join(filter(None, [note, assumed])),
    )


_MESSENGER = "MPI_Recv"
"""The routine whose curve stands for a message that is waited for."""


def _nearest(known: Sequence[Curve], ranks: int) -> tuple[Curve | None, str]:
    """Return the curve of so many processes, else that of the nearest number, and what is assumed."""
    if not known:
        return None, ""
    curve = min(known, key=lambda one: abs(log2(one.ranks) - log2(max(ranks, 1))))
    return curve, "" if curve.ranks == ranks else f"measured on {curve.ranks} processes"
