"""A monitored program compared with its machine: each routine and message size against a measured run.

The time of a call is compared with the time of the same call in its benchmark; the difference is called avoidable.
The part of it that was waiting for other ranks, if the sums show it, is not caused by the library or the network.
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
"""Definitions of time, best first: a profile has the time inside a collective as the mean over the ranks."""
LEVELS = ("mpi", "storage")
"""Levels whose benchmarks represent MPI routines."""
BETTER = 1.5
"""Another message size is better if it is faster by more than this factor."""


class RoutineComparison(Strict):
    """One routine, message size and communicator size, compared with its benchmark."""

    routine: str
    communicator_size: int
    message_bytes: float
    """Mean size over these calls, in bytes as counted by the benchmark."""
    calls: int
    """Number of calls over all ranks."""
    processes: int
    time_s: float
    """Time over all ranks."""
    mean_s: float
    """Mean time of a call."""
    benchmark: str
    pairwise: bool
    """Whether the benchmark runs on two ranks, whatever the size of the communicator."""
    definition: str
    ranks: int
    """Number of ranks in the benchmark, the nearest that was measured."""
    machine_s: float
    """Time of a call as measured by the benchmark."""
    share: float
    """Fraction of the benchmark's rate: `machine_s` / `mean_s`."""
    avoidable_s: float
    """Time over all ranks in excess of the benchmark's."""
    waiting_s: float | None
    """Lower bound on the part of it spent waiting for the last rank; None if the sums do not show it."""
    waiting_most_s: float | None
    """Upper bound on that part."""
    better_bytes: int | None
    """A message size at which the machine transfers the same bytes faster; None if there is none."""
    better_s: float | None
    """Time to transfer these bytes in messages of that size."""
    note: str
    """A remark on the benchmark's value, for example that it is extrapolated."""

    @property
    def call(self) -> str:
        """The routine that the program calls, without the words for its waits or synchronization."""
        return self.routine.removeprefix("waits for ").partition(" with ")[0]


class MachineComparison(Strict):
    """`machine-comparison.json`: a monitored program compared with a measured run of the same machine."""

    format: int
    run: str
    """Directory of the measured run."""
    machine: str
    """Hosts of the measured run."""
    library: str
    """MPI library of the measured run, for example `openmpi 5.0.11`; empty if not known."""
    routines: list[RoutineComparison]
    """Routines, most avoidable time first."""
    without_benchmark: dict[str, float]
    """Time over all ranks of the routines without a benchmark."""


@dataclass(frozen=True)
class Curve:
    """Times of one benchmark on one number of ranks, by ascending size."""

    bound: Binding
    definition: str
    ranks: int
    sizes: tuple[float, ...]
    times_s: tuple[float, ...]

    def at(self, size: float) -> tuple[float, str]:
        """Return the time of a message of this many bytes, and a remark on the assumptions.

        Between two measured sizes, the time grows as a power of the size; below the smallest size, it is the
        time of the smallest size; above the largest, it is proportional to the size.
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
        """Return another measured message size that transfers this many bytes faster, and the time they then take.

        This is a longer message that takes less time, or several shorter messages that together take less.
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
    """Read a measured run; UsageError if it is not one."""
    directory = RunDirectory(path)
    catalog, machine = read_catalog(directory.benchmarks), read_json(directory.machine, Machine)
    from hpcscope.statistics.summarise import read_summaries  # loads scipy, which a profile does not need

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
    # Waits are already listed under the routines that made the requests.
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
    """Return the newest run below the directories that measured routines of this MPI on these hosts.

    None if there is none. `mpi` None: any MPI.
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
    """Return each routine's curves by number of ranks, from the first of its benchmarks that was measured.

    One-sided routines occur once per kind of synchronization, under the names of `calls_with`.

    `spread`: the program ran on several hosts, so cases with one rank per host are preferred.
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
    """Return the size and the time of a call in a case, in which the calls of a rank follow one another."""
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
    """Return the curve on this number of ranks, else on the nearest number, and a remark on the assumptions."""
    if not known:
        return None, ""
    curve = min(known, key=lambda one: abs(log2(one.ranks) - log2(max(ranks, 1))))
    pairwise = curve.bound.benchmark.ranks.maximum == 2
    return curve, "" if pairwise or curve.ranks == ranks else f"measured on {curve.ranks} ranks"
