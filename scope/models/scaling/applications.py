"""What applications compute and send, and how their computation is divided among processes.

Operations, messages, bytes and memory do not depend on the machine: NetFinity's table 2 and more. Times do:
computation is held against a0 / p, communication and idle time stand beside it for each number of processes.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from scope.machine.machine import Machine
from scope.models.fit import Application, ApplicationPoint, Bounds
from scope.models.fitting.draws import draw
from scope.models.fitting.oversubscription import crowded
from scope.models.scaling import amdahl
from scope.models.scaling.speedup import APPLICATION, place
from scope.samples.records import LaunchRecord
from scope.statistics.summary import Case, Summary

FEWEST_COUNTS = 2
NEEDED = ("time_s", "mops_per_s", "compute_s", "communicate_s", "idle_s", "memory_bytes")
SEED = 13

Metrics = dict[str, Summary]
Crowds = set[tuple[int, str, str]]


def applications(summaries: list[Summary], machine: Machine, launches: list[LaunchRecord]) -> list[Application]:
    """Return each application and class that was measured, by each way and over each transport.

    A number of processes on which it failed, or that says nothing of its phases, is left out.
    """
    crowds = crowded(machine, launches)
    return [_application(counts, crowds) for counts in _measured(summaries).values()]


def _measured(summaries: list[Summary]) -> dict[tuple[str, ...], dict[int, Metrics]]:
    """Return the metrics of each application by number of processes, in reading order."""
    found: dict[tuple[str, ...], dict[int, Metrics]] = defaultdict(lambda: defaultdict(dict))
    for one in summaries:
        if one.benchmark.startswith(APPLICATION) and one.primary and one.valid and one.median is not None:
            found[_key(one)][one.ranks][one.metric] = one
    whole = {
        key: {ranks: each for ranks, each in sorted(counts.items()) if all(name in each for name in NEEDED)}
        for key, counts in sorted(found.items())
    }
    return {key: counts for key, counts in whole.items() if counts}


def _key(one: Summary) -> tuple[str, ...]:
    given = dict(one.parameters)
    size = str(given.pop("class", ""))
    others = [f"{name}={value}" for name, value in sorted(given.items())]
    return (
        one.benchmark,
        f"{'SWABC'.find(size)}",
        " ".join(others),
        one.transport,
        str(place(one)),
        one.origin,
    )


def _application(counts: dict[int, Metrics], crowds: Crowds) -> Application:
    times = {ranks: metrics["time_s"] for ranks, metrics in counts.items()}
    last = times[max(times)]
    points = [_point(metrics, _crowded(metrics["time_s"], crowds)) for metrics in counts.values()]
    fair = [ranks for ranks, one in times.items() if not _crowded(one, crowds)]
    law, deviation, reason = _law({ranks: counts[ranks]["compute_s"] for ranks in fair})
    return Application(
        subject=Case(
            benchmark=last.benchmark,
            parameters=last.parameters,
            ranks=last.ranks,
            transport=last.transport,
            placement=last.placement,
        ),
        origin=last.origin,
        iterations=last.work.steps if last.work else 0.0,
        operations=_operations(last, counts[last.ranks]["mops_per_s"]),
        computation_s=law,
        deviation=deviation,
        reason=reason,
        points=points,
    )


def _operations(time: Summary, rate: Summary) -> float:
    """Return what the rate counts: where that are no floating-point operations, rate times time."""
    counted = time.work.flops if time.work else 0.0
    return counted or 1e6 * _median(rate) * _median(time)


def _crowded(one: Summary, crowds: Crowds) -> bool:
    return (one.ranks, one.transport, one.placement) in crowds


def _point(metrics: Metrics, over: bool) -> ApplicationPoint:
    whole = metrics["time_s"]
    return ApplicationPoint(
        ranks=whole.ranks,
        memory_bytes=_median(metrics["memory_bytes"]),
        messages=whole.work.messages if whole.work else 0.0,
        message_bytes=whole.work.bytes if whole.work else 0.0,
        time_s=_bounds(whole),
        compute_s=_bounds(metrics["compute_s"]),
        communicate_s=_bounds(metrics["communicate_s"]),
        idle_s=_bounds(metrics["idle_s"]),
        oversubscribed=over,
    )


def _law(computing: dict[int, Summary]) -> tuple[Bounds | None, float | None, str]:
    """Return a0, the largest deviation from it, and why there is neither."""
    if len(computing) < FEWEST_COUNTS:
        known = "1 process count" if len(computing) == 1 else f"{len(computing)} process counts"
        return None, None, f"{known} with a processor for each process; at least {FEWEST_COUNTS} are needed"
    random = np.random.default_rng(SEED)
    drawn_s = np.array([draw(one, random) for one in computing.values()])
    counts = np.array(list(computing), dtype=np.float64)
    law = amdahl.inverse(counts, drawn_s)
    return law, float(np.abs(counts * drawn_s[:, 0] / law.value - 1).max()), ""


def _median(one: Summary) -> float:
    return float(one.median or 0.0)


def _bounds(one: Summary) -> Bounds:
    return Bounds(value=_median(one), low=one.ci_low, high=one.ci_high)
