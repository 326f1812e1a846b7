"""Operations and messages of applications, and the division of their computation among ranks.

Operations, messages, bytes and memory do not depend on the machine (NetFinity's table 2 and more). Times do:
computation is compared with a0 / p; communication and idle time are listed for each number of ranks.
"""

from collections import defaultdict

import numpy as np

from hpcscope.models.fitting.draws import draw
from hpcscope.models.measurements import Measurements
from hpcscope.models.scaling import amdahl
from hpcscope.models.scaling.speedup import place
from hpcscope.plan.case import Case
from hpcscope.samples.records import Origin
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

FEWEST_COUNTS = 2
COMPUTE, COMMUNICATE, IDLE, MEMORY = "compute_s", "communicate_s", "idle_s", "memory_bytes"
"""The metrics that applications have in common; an application without the first two is left out."""
OPERATIONS = "Mop/s"
"""Unit of a rate that counts a suite's own operations."""
SEED = 13

Metrics = dict[str, Summary]


class ApplicationPoint(Strict):
    """An application on one number of ranks. Times are of the slowest rank in each part."""

    ranks: int
    memory_bytes: float | None
    """Memory of the largest rank; None if the application does not report it."""
    messages: float
    """Number of messages that all ranks send, as counted; a collective counts as its point-to-point messages."""
    message_bytes: float
    """Bytes of all these messages together."""
    time_s: Estimate
    compute_s: Estimate
    communicate_s: Estimate
    idle_s: Estimate | None
    oversubscribed: bool
    """More ranks than processors on some host: the law of computation does not use this point."""


class Application(Strict):
    """Operations and messages of an application, and its law a0 / p (Tessera, NetFinity, sec. 3.1)."""

    subject: Case
    """The case; its `ranks` is the largest number of ranks."""
    origin: Origin
    iterations: float
    operations: float
    """Number of operations, by the suite's own count."""
    computation_s: Estimate | None
    """a0 of the law."""
    deviation: float | None
    """The largest |n t(n) / a0 - 1| of a point without oversubscription."""
    reason: str
    """Why there is no law; empty if there is one."""
    points: list[ApplicationPoint]


def applications(measurements: Measurements) -> list[Application]:
    """Return each application and class that was measured, by each method and over each transport.

    Numbers of ranks on which it failed, or did not report its phases, are left out.
    """
    return [_application(counts, measurements) for counts in _measured(measurements).values()]


def _measured(measurements: Measurements) -> dict[tuple[object, ...], dict[int, Metrics]]:
    """Return the metrics of each application by number of ranks, in reading order."""
    catalog = measurements.catalog
    found: dict[tuple[object, ...], dict[int, Metrics]] = defaultdict(lambda: defaultdict(dict))
    for summary in measurements.summaries:
        if catalog[summary.benchmark].level == "application" and summary.is_headline:
            found[_key(summary, measurements)][summary.ranks][summary.metric] = summary
    whole = {
        key: {
            ranks: cases
            for ranks, cases in sorted(counts.items())
            if {COMPUTE, COMMUNICATE, catalog.time_metric(str(key[0]))} <= set(cases)
        }
        for key, counts in sorted(found.items())
    }
    return {key: counts for key, counts in whole.items() if counts}


def _key(case: Summary, measurements: Measurements) -> tuple[object, ...]:
    catalog = measurements.catalog
    sizes = catalog.of_role(case.benchmark, case.parameters, "size")
    others = [f"{name}={value}" for name, value in sorted(case.parameters.items()) if name not in sizes]
    order = catalog.size_key(case.benchmark, case.parameters)
    return (case.benchmark, order, " ".join(others), case.transport, str(place(case)), case.origin)


def _application(counts: dict[int, Metrics], measurements: Measurements) -> Application:
    times = {ranks: _time(metrics, measurements) for ranks, metrics in counts.items()}
    last = times[max(times)]
    points = [
        _point(times[ranks], metrics, measurements.is_oversubscribed(times[ranks]))
        for ranks, metrics in counts.items()
    ]
    fair = [ranks for ranks, case in times.items() if not measurements.is_oversubscribed(case)]
    law, deviation, reason = _law({ranks: counts[ranks][COMPUTE] for ranks in fair})
    return Application(
        subject=last.case,
        origin=last.origin,
        iterations=last.work.steps if last.work else 0.0,
        operations=_operations(last, counts[last.ranks]),
        computation_s=law,
        deviation=deviation,
        reason=reason,
        points=points,
    )


def _time(metrics: Metrics, measurements: Measurements) -> Summary:
    first = next(iter(metrics.values()))
    return metrics[measurements.catalog.time_metric(first.benchmark) or ""]


def _operations(time: Summary, metrics: Metrics) -> float:
    """Return the floating-point operations; if the suite counts other operations, its rate times the time."""
    if time.work and time.work.flops:
        return time.work.flops
    rate = next((case for case in metrics.values() if case.unit == OPERATIONS), None)
    return 1e6 * rate.estimate.value * time.estimate.value if rate else 0.0


def _point(whole: Summary, metrics: Metrics, over: bool) -> ApplicationPoint:
    return ApplicationPoint(
        ranks=whole.ranks,
        memory_bytes=metrics[MEMORY].median if MEMORY in metrics else None,
        messages=whole.work.messages if whole.work else 0.0,
        message_bytes=whole.work.bytes if whole.work else 0.0,
        time_s=whole.estimate,
        compute_s=metrics[COMPUTE].estimate,
        communicate_s=metrics[COMMUNICATE].estimate,
        idle_s=metrics[IDLE].estimate if IDLE in metrics else None,
        oversubscribed=over,
    )


def _law(computing: dict[int, Summary]) -> tuple[Estimate | None, float | None, str]:
    """Return a0 and the largest deviation from it, or why there is neither."""
    if len(computing) < FEWEST_COUNTS:
        known = "1 rank count" if len(computing) == 1 else f"{len(computing)} rank counts"
        return None, None, f"{known} with a processor for each rank; at least {FEWEST_COUNTS} are needed"
    random = np.random.default_rng(SEED)
    drawn_s = np.array([draw(case, random) for case in computing.values()])
    counts = np.array(list(computing), dtype=np.float64)
    law = amdahl.inverse(counts, drawn_s)
    return law, float(np.abs(counts * drawn_s[:, 0] / law.value - 1).max()), ""
