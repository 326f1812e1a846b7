"""A monitored program beside the machine: each routine and message size compared with a measured run.

The time of a call is compared with the time of the same call in its benchmark; the difference is called avoidable.
The part of it that was waiting for other processes, where the sums show it, is no fault of the library or network.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import exp, log, log2
from pathlib import Path

from hpcscope.catalog.benchmark import Routine
from hpcscope.catalog.catalog import Binding, Catalog
from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.errors import UsageError
from hpcscope.machine.machine import Machine, MpiInstallation
from hpcscope.programs.profiles.records import Merged
from hpcscope.programs.profiles.routine_sums import Sums, calls_with, of_calls, of_epochs, of_waits
from hpcscope.programs.profiles.routines import kind, plain
from hpcscope.rundirectory import FORMAT, RunDirectory, RunFile, read_json
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

FILE = "machine-comparison.json"

DEFINITIONS = ("mean_rank", "max_rank", "global", "half_round_trip", "local")
"""Definitions of time, best first: a profile has the mean over the processes of the time inside a collective."""
LEVELS = ("mpi", "storage")
"""Levels whose benchmarks stand for routines of MPI."""
BETTER = 1.5
"""Another message size is better where it saves more than this factor."""


class RoutineComparison(Strict):
    """One routine with messages of one size on communicators of one size, beside its benchmark."""

    routine: str
    communicator_size: int
    message_bytes: float
    """Mean of these calls, as the benchmark counts bytes."""
    calls: int
    """Calls of all processes."""
    processes: int
    time_s: float
    """Time of all processes."""
    mean_s: float
    """Mean time of a call."""
    benchmark: str
    pairwise: bool
    """Whether the benchmark runs on two processes for communicators of any size."""
    definition: str
    ranks: int
    """Processes in the benchmark, the nearest measured number."""
    machine_s: float
    """Time of a call, as measured by the benchmark."""
    share: float
    """Fraction of the measured rate: `machine_s` over `mean_s`."""
    avoidable_s: float
    """Time of all processes beyond the benchmark's."""
    waiting_s: float | None
    """Lower bound of its part that was waiting for the last process; None where the sums do not show it."""
    waiting_most_s: float | None
    """Upper bound of the same."""
    better_bytes: int | None
    """A message size with which the machine transfers the same bytes faster; None where there is none."""
    better_s: float | None
    """Time of these bytes in messages of that size."""
    note: str
    """A remark on the benchmark's figure, for example that it is extrapolated."""

    @property
    def call(self) -> str:
        """The routine that the program calls, without its waits or its synchronization."""
        return self.routine.removeprefix("waits for ").partition(" with ")[0]


class MachineComparison(Strict):
    """`machine-comparison.json`: a monitored program beside a measured run of the same machine."""

    format: int
    run: str
    """The measured run's folder."""
    machine: str
    """Its hosts."""
    library: str
    """Its MPI, for example `openmpi 5.0.11`; empty where it is not known."""
    routines: list[RoutineComparison]
    """Most avoidable time first."""
    without_benchmark: dict[str, float]
    """Routines without a benchmark, with their time over all processes."""


@dataclass(frozen=True)
class Curve:
    """Times of one benchmark on one number of processes by size, ascending."""

    bound: Binding
    definition: str
    ranks: int
    sizes: tuple[float, ...]
    times_s: tuple[float, ...]

    def at(self, size: float) -> tuple[float, str]:
        """Return the time of a message of this many bytes, and a remark on the assumptions.

        Between two sizes time grows as a power of the size; below the smallest size it is the smallest's
        time; above the largest it grows in proportion.
        """
        if size <= self.sizes[0]:
            return self.times_s[0], "" if size == self.sizes[0] else f"measured from {self.sizes[0]:g} B on"
        if size >= self.sizes[-1]:
            beyond = "" if size == self.sizes[-1] else f"measured up to {self.sizes[-1]:g} B, extrapolated"
            return self.times_s[-1] * size / max(self.sizes[-1], 1.0), beyond
        above = next(index for index, known in enumerate(self.sizes) if known >= size)
        low, high = self.sizes[above - 1], self.sizes[above]
        fast, slow = self.times_s[above - 1], self.times_s[above]
        if low <= 0:
            return fast + (slow - fast) * size / high, ""
        return exp(log(fast) + (log(slow) - log(fast)) * log(size / low) / log(high / low)), ""

    def better(self, size: float) -> tuple[int, float] | None:
        """Return another measured message size that makes this many bytes faster, and the time they then take.

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


@dataclass(frozen=True)
class MeasuredRun:
    """A run that a program can be compared with."""

    path: Path
    machine: Machine
    catalog: Catalog
    summaries: Sequence[Summary]


def measured_run(path: Path) -> MeasuredRun:
    """Read a measured run; UsageError where it is none."""
    directory = RunDirectory(path)
    catalog, machine = read_catalog(directory.benchmarks), read_json(directory.machine, Machine)
    from hpcscope.statistics.summarise import read_summaries  # loads scipy, which a profile alone does without

    return MeasuredRun(path, machine, catalog, read_summaries(path))


def compare_with_machine(merged: Merged, run: MeasuredRun) -> MachineComparison:
    """Compare a profile with a measured run."""
    catalog, machine = run.catalog, run.machine
    known = curves(run.summaries, catalog, spread=len(merged.hosts) > 1)
    compared: list[RoutineComparison] = []
    without: dict[str, float] = defaultdict(float)
    epochs, part = of_epochs(merged.calls, catalog.routine_bindings)
    others = [call for call in merged.calls if (plain(call.routine), call.communicator_size) not in part]
    for sums in [*of_calls(others), *epochs, *of_waits(merged.waits)]:
        comparison = _compared(sums, known, merged)
        if comparison is not None:
            compared.append(comparison)
        else:
            without[sums.shown] += sums.time_s
    # The waits themselves are shown by the routines that made the requests.
    waited_s = sum(waits.time_s for waits in merged.waits)
    for name in [name for name in without if kind(name) == "wait" and waited_s > 0]:
        del without[name]
    return MachineComparison(
        format=FORMAT,
        run=str(run.path),
        machine=", ".join(host.name for host in machine.hosts),
        library=f"{machine.build.mpi.name} {machine.build.mpi.version}" if machine.build else "",
        routines=sorted(compared, key=lambda one: -one.avoidable_s),
        without_benchmark=dict(sorted(without.items(), key=lambda pair: -pair[1])),
    )


def newest(
    folders: Sequence[Path], hosts: Sequence[str], mpi: MpiInstallation | None = None
) -> MeasuredRun | None:
    """Return the newest run, below any of the folders, that measured routines of this MPI on these hosts.

    None without one. `mpi` None: any MPI.
    """
    found: list[tuple[float, Path]] = []
    for folder in folders:
        for path in sorted(folder.glob("*/statistics.json")) if folder.is_dir() else []:
            directory = RunDirectory(path.parent)
            try:
                run, machine = read_json(directory.run, RunFile), read_json(directory.machine, Machine)
            except UsageError:
                continue
            used = machine.build.mpi if machine.build else None
            same = mpi is None or (used is not None and (used.name, used.version) == (mpi.name, mpi.version))
            if same and set(hosts) <= {host.name for host in machine.hosts} and not path.parent.is_symlink():
                found.append((run.started_unix_s, path.parent))
    for _, path in sorted(found, reverse=True):
        with suppress(UsageError):
            measured = measured_run(path)
            if any(curves(measured.summaries, measured.catalog, spread=False).values()):
                return measured
    return None


def curves(summaries: Sequence[Summary], catalog: Catalog, spread: bool) -> dict[str, list[Curve]]:
    """Return the curves of each routine by numbers of processes, of the first of its benchmarks that was measured.

    One-sided routines stand there with each synchronization, as `calls_with` names them.

    `spread`: the program ran on several hosts, so cases with one process on each host are preferred.
    """
    usable: dict[tuple[str, str | None], list[Summary]] = defaultdict(list)
    for summary in summaries:
        if summary.valid and summary.transport == "default" and summary.definition in DEFINITIONS:
            usable[summary.benchmark, summary.metric].append(summary)
    found: dict[str, list[Curve]] = {}
    for routine in catalog.routines:
        bindings = [bound for level in LEVELS for bound in catalog.bound_to(routine, level)]
        for bound in bindings:
            name = calls_with(routine, bound.routine)
            benchmark = bound.benchmark.name
            own = usable[benchmark, catalog.time_metric(benchmark)]
            found[name] = found.get(name) or _curves(bound, catalog, own, spread)
    return found


def _curves(bound: Binding, catalog: Catalog, summaries: Sequence[Summary], spread: bool) -> list[Curve]:
    free = [bound.routine.call_size] if bound.routine.call_size else []
    usable = [
        summary
        for summary in summaries
        if summary.placement.kind != "threads" and bound.holds(summary.parameters, free)
    ]
    preferred = [case for case in usable if case.placement.one_per_host == spread] or usable
    best = min((DEFINITIONS.index(case.definition) for case in preferred), default=0)
    points: dict[int, dict[float, float]] = defaultdict(dict)
    for candidate in preferred:
        if DEFINITIONS.index(candidate.definition) == best and candidate.median:
            size, time_s = _call(candidate, candidate.median, bound.routine, catalog)
            points[candidate.ranks][size] = min(time_s, points[candidate.ranks].get(size, time_s))
    return [
        Curve(
            bound,
            DEFINITIONS[best],
            ranks,
            tuple(sorted(by_size)),
            tuple(by_size[size] for size in sorted(by_size)),
        )
        for ranks, by_size in sorted(points.items())
    ]


def _call(case: Summary, time_s: float, bound: Routine, catalog: Catalog) -> tuple[float, float]:
    """Return the size of a call in a case, and its time: a rank's calls follow one another."""
    if not bound.call_size or case.work is None:
        return float(catalog.size(case.benchmark, case.parameters) or 0), time_s
    size = float(case.parameters[bound.call_size])
    return size, time_s * size * case.ranks / case.work.bytes


def _compared(sums: Sums, known: dict[str, list[Curve]], merged: Merged) -> RoutineComparison | None:
    curve, note = _nearest(known.get(sums.measured_as, []), sums.communicator_size)
    if curve is None or (sums.communicator_size < 2 and kind(sums.routine) != "file"):
        return None
    blocks = sums.communicator_size if curve.bound.routine.bytes == "total" else 1
    size = sums.bytes / sums.calls / blocks
    machine_s, assumed = curve.at(size)
    better = curve.better(size)
    avoidable_s = max(0.0, sums.time_s - sums.calls * machine_s)
    waiting = next(
        (
            collective
            for collective in merged.collectives
            if (plain(collective.routine), collective.communicator_size, collective.size_class)
            == (sums.routine, sums.communicator_size, sums.size_class)
        ),
        None,
    )
    return RoutineComparison(
        routine=sums.shown,
        communicator_size=sums.communicator_size,
        message_bytes=size,
        calls=sums.calls,
        processes=sums.processes,
        time_s=sums.time_s,
        mean_s=sums.time_s / sums.calls,
        benchmark=curve.bound.benchmark.name,
        pairwise=curve.bound.benchmark.ranks.maximum == 2,
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


def _nearest(known: Sequence[Curve], ranks: int) -> tuple[Curve | None, str]:
    """Return the curve on this number of processes, else on the nearest one, and a remark on the assumptions."""
    if not known:
        return None, ""
    curve = min(known, key=lambda one: abs(log2(one.ranks) - log2(max(ranks, 1))))
    pairwise = curve.bound.benchmark.ranks.maximum == 2
    return curve, "" if pairwise or curve.ranks == ranks else f"measured on {curve.ranks} ranks"
