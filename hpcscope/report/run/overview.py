"""The first screen of a run's report: four values of the cluster, and how far to trust them.

The rungs of benchmarks decide which are shown: the library's messages, the limits of a node, arithmetic.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from hpcscope import units
from hpcscope.catalog.benchmark import Pattern
from hpcscope.catalog.catalog import LIMIT
from hpcscope.findings.results import Run
from hpcscope.models.ladder.paths import BETWEEN_HOSTS
from hpcscope.models.ladder.rung import Ladder
from hpcscope.report import validity
from hpcscope.report.run.ladders import parted
from hpcscope.report.run.results import has_default_problem, results
from hpcscope.samples.records import LaunchRecord
from hpcscope.statistics.summary import Summary

_BEYOND_CACHES = 2
"""An array of this many times the largest cache is in memory."""
_NOISE = "noise_share"
"""The metric for the CPU time that interruptions take."""


@dataclass(frozen=True)
class Tile:
    """One value of the cluster."""

    title: str
    figure: str
    interval: str
    what: str
    """Label of the measured case."""
    share: str
    """Fraction of the limit, in words; empty if the limit is not known."""
    mixes_states: bool = False


@dataclass(frozen=True)
class Fact:
    """One circumstance of the measurement that limits how far it can be trusted."""

    name: str
    text: str
    doubtful: bool
    """Whether it is a reason to doubt the results."""


def tiles(run: Run) -> list[Tile]:
    """Return latency, message and memory bandwidth, and arithmetic rate, each possibly as not measured.

    The list is empty for a run that measured none of them, such as a run of storage alone.
    """
    cases = {
        "Latency": _latency(run),
        "Bandwidth": _bandwidth(run),
        "Memory bandwidth": _memory(run),
        "Arithmetic": _arithmetic(run),
    }
    return [_tile(title, case, run) for title, case in cases.items()] if any(cases.values()) else []


def main_ladders(run: Run, quantity: str | None = None) -> list[Ladder]:
    """Return the ladders of the path that programs use: inter-node if measured, else the first path."""
    messages = [ladder for ladder in run.models.ladders if ladder.message_bytes is not None]
    between = [ladder for ladder in messages if ladder.path.endswith(BETWEEN_HOSTS)]
    path = next((ladder.path for ladder in between or messages), None)
    return [ladder for ladder in messages if ladder.path == path and quantity in (None, ladder.quantity)]


def trust(run: Run) -> list[Fact]:
    """Return the circumstances of the measurement: states, load, noise, late starts, precision, clock."""
    return [
        _states(run),
        *_load(run),
        *_noise(run),
        *([] if run.record.mix else [_late(run.statistics.primary)]),
        *_precision(run.statistics.primary),
        *_clock(run.raw_samples.launches),
    ]


def _tile(title: str, case: Summary | None, run: Run) -> Tile:
    if case is None:
        return Tile(title, "–", "", "not measured", "")
    head, interval = parted(units.interval(case.median, case.ci_low, case.ci_high, case.unit))
    rungs = [rung for ladder in run.models.ladders for rung in ladder.rungs if rung.name == case.label]
    shares = [f"{units.share(rung.of_limit)} of the limit" for rung in rungs if rung.of_limit is not None]
    return Tile(title, head, interval, case.label, shares[0] if shares else "", case.state_mixture)


def _standing(run: Run, pattern: Pattern, unit: str) -> Iterator[tuple[str, Summary]]:
    """Yield the results on the rungs of a pattern, each preceded by its layer."""
    for place in run.benchmarks.standing(pattern):
        for case in results(run, place.benchmark.name):
            if case.unit == unit and place.shows(case.metric) and place.holds(case.parameters):
                yield place.rung.layer, case


def _messages(run: Run, pattern: Pattern, unit: str) -> list[Summary]:
    """Return the library's results for messages by default, inter-node if there are several hosts."""
    cases = [
        case
        for layer, case in _standing(run, pattern, unit)
        if layer == "mpi" and case.transport == "default" and case.ranks == 2
    ]
    between = [case for case in cases if case.placement.one_per_host]
    return between if between and len(run.machine.hosts) > 1 else cases


def _latency(run: Run) -> Summary | None:
    """Return the time of the shortest non-empty message."""
    cases = _messages(run, "ping_pong", "s")
    return min(cases, key=lambda case: run.measurements.size(case) or math.inf, default=None)


def _bandwidth(run: Run) -> Summary | None:
    """Return the library's rung on the first ladder of the main path, so that the report has one bandwidth.

    Without a ladder, return the longest messages of a stream or of a ping-pong.
    """
    cases = [*_messages(run, "stream", "B/s"), *_messages(run, "ping_pong", "B/s")]
    ladder = next(iter(main_ladders(run, "bandwidth_bytes_per_s")), None)
    rungs = {rung.name for rung in ladder.rungs if rung.layer == "mpi"} if ladder else set()
    longest = sorted(cases, key=lambda case: -run.measurements.size(case))
    return next((case for case in longest if case.label in rungs), next(iter(longest), None))


def _memory(run: Run) -> Summary | None:
    """Return the fastest memory access: for arrays beyond the caches or, without any, for the largest arrays."""
    caches = [cache.size_bytes for host in run.machine.hosts for cache in host.caches]
    cases = [case for _, case in _standing(run, "memory", "B/s")]
    sizes = {id(case): run.benchmarks.array_bytes(case.benchmark, case.parameters) for case in cases}
    beyond = _BEYOND_CACHES * max(caches, default=0)
    least = min(beyond, max(sizes.values(), default=0))
    return max(
        (case for case in cases if sizes[id(case)] >= least),
        key=lambda summary: summary.median or 0.0,
        default=None,
    )


def _arithmetic(run: Run) -> Summary | None:
    """Return the highest rate of a computation with its default problem; limits do not count as computations."""
    computed = [case for layer, case in _standing(run, "arithmetic", "flop/s") if layer != LIMIT]
    usual = [case for case in computed if has_default_problem(run.benchmarks, case)]
    return max(usual, key=lambda summary: summary.median or 0.0, default=None)


def _states(run: Run) -> Fact:
    course = run.course
    if not course.states:
        return Fact("Machine states", "not known: too little was measured", True)
    if not course.changes:
        return Fact("Machine states", "no change of state detected", False)
    mixed = len({case.key for case in run.statistics.primary if case.state_mixture})
    cases = len({case.key for case in run.statistics.primary})
    slowest = course.states[-1]
    text = (
        f"{units.count(course.changes, 'change')} of state; {units.share(slowest.share)} of the time in a state "
        f"{slowest.factor:.3g} times as slow as the fastest"
    )
    return Fact("Machine states", f"{text}; {mixed} of {cases} cases mix states ({validity.MIXED})", mixed > 0)


def _load(run: Run) -> Iterator[Fact]:
    queues = [host.run_queue for host in run.machine.hosts if host.run_queue is not None]
    loads = [host.load for host in run.machine.hosts]
    if queues:
        busy = max(queues)
        hosts = f" on the busiest of {len(queues)} hosts" if len(queues) > 1 else ""
        waited = (
            f"{busy:g} other runnable process{'' if busy == 1 else 'es'}{hosts}" if busy else "run queue empty"
        )
        yield Fact("Load before the run", waited, busy >= 1)
    elif loads:
        yield Fact("Load before the run", f"load average {max(loads):g}", max(loads) >= 1)


def _noise(run: Run) -> Iterator[Fact]:
    cases = [case for case in run.headlines if case.metric == _NOISE]
    if cases:
        worst = max(cases, key=lambda summary: summary.median or 0.0)
        yield Fact(
            "Noise",
            f"interruptions take {units.share(worst.median, worst.ci_low, worst.ci_high)} of a core",
            (worst.median or 0.0) > 0.01,
        )


def _late(headline: list[Summary]) -> Fact:
    late = [case for case in headline if case.invalid_share > 0]
    if headline and all(case.origin == "imported" for case in headline):
        return Fact("Late starts", "unknown: another program measured the values", False)
    if not late:
        return Fact("Late starts", "every repetition began in time", False)
    worst = max(case.invalid_share for case in late)
    cases = units.count(len({case.key for case in late}), "case")
    return Fact("Late starts", f"up to {units.share(worst)} of the repetitions left out, in {cases}", worst > 0.05)


def _precision(headline: list[Summary]) -> Iterator[Fact]:
    times = [case for case in headline if case.valid and case.unit == "s" and case.definition != "observed"]
    widths = [case.relative_interval for case in times if case.relative_interval is not None]
    if not widths:
        return
    note = validity.of_most(headline)
    text = f"intervals of ±{units.share(median(widths))} in the median case, ±{units.share(max(widths))} at worst"
    yield Fact("Precision", text + (f"; {note}" if note else ""), median(widths) > 0.05)


def _clock(launches: Sequence[LaunchRecord]) -> Iterator[Fact]:
    if not launches:
        return
    worst = max(launches, key=lambda launch: launch.clock.resolution_s).clock
    error = max(launch.clock_synchronization.error_s for launch in launches)
    hosts = max(launch.clock_synchronization.hosts for launch in launches)
    text = f"{worst.source.replace('_', ' ')}, resolution {units.quantity(worst.resolution_s, 's')}"
    text += f"; hosts agree within {units.quantity(error, 's')}" if hosts > 1 else ""
    steady = all(launch.clock.monotonic for launch in launches)
    yield Fact("Clock", text + ("" if steady else "; the clock went backwards"), not steady)
