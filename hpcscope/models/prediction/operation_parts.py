"""The parts of an operation's time, beside the time of the ping-pong for the same messages.

The share of the ping-pong's rate that an operation retains is the time of its messages over its own: each at the
pace of the ping-pong, one after another as the operation declares (Melas 2000, section 7.5: 29 to 63 %). Further
cases tell the rest apart: cold less warm buffers is the first touch of fresh pages, columns less rows the
gathering of strided data, and what is left is contention, copies, slower links and the library's algorithm.
"""

from collections import defaultdict

import numpy as np

from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.expression import evaluate
from hpcscope.models.measurements import Measurements
from hpcscope.models.prediction.costs.declared import numbers
from hpcscope.models.prediction.measured_costs import MESSAGE, SEED, SizeCurve, curve
from hpcscope.plan.case import Case, Key, key
from hpcscope.plan.placement import Kind
from hpcscope.statistics.bootstrap import estimate
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import PerLaunch, ratio
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

BUFFERS, FRESH, USED = "buffers", "cold", "warm"
LAYOUT, STRIDED, CONTIGUOUS = "layout", "columns", "rows"
"""The layout parameters of operations, and the values between which the time is divided."""


class OperationParts(Strict):
    """Where the time of a program's operation goes, on cold buffers where it has the choice.

    All times are of the whole operation.
    """

    subject: Case
    time_s: Estimate
    messages_s: Estimate
    """The time of its messages one after another, each at the pace of the ping-pong."""
    retained: Estimate
    """Share of the ping-pong's figure that the operation delivers: the messages' time over its own."""
    first_touch_s: float | None
    """How much more cold buffers cost than warm ones; None where those were not measured."""
    packing_s: float | None
    """Additional cost of columns over contiguous rows; None where it is unknown."""
    rest_s: float
    """Contention, copies, the library's algorithm; first touch and packing too where they are not known."""


def operation_parts(measurements: Measurements) -> list[OperationParts]:
    """Take every operation apart whose processes had a processor each: of two kinds of buffers, the fresh ones."""
    catalog = measurements.catalog
    times = {
        benchmark.name: catalog.time_metric(benchmark.name)
        for benchmark in catalog
        if benchmark.level == "operation" and benchmark.costs
    }
    ping_pongs = _ping_pongs(measurements)
    operations = {case.key: case for case in measurements.headlines if times.get(case.benchmark) == case.metric}
    parts = []
    for summary in operations.values():
        ping_pong = ping_pongs.get((summary.transport, summary.placement.kind))
        fresh = summary.parameters.get(BUFFERS, FRESH) == FRESH
        if (
            fresh
            and _called_plainly(summary, catalog)
            and not measurements.is_oversubscribed(summary)
            and ping_pong
        ):
            parts.append(_apart(summary, operations, ping_pong, measurements))
    return parts


def _called_plainly(case: Case, catalog: Catalog) -> bool:
    """Say whether an operation was called as most programs do, not with a computation before its end."""
    defaults = catalog.defaults(case.benchmark)
    calls = [parameter.name for parameter in catalog[case.benchmark].parameters if parameter.role == "call"]
    return all(case.parameters.get(name, defaults[name]) == defaults[name] for name in calls)


def _ping_pongs(measurements: Measurements) -> dict[tuple[str, Kind], SizeCurve]:
    """Return the library's ping-pong of each transport and placement."""
    groups: dict[tuple[str, Kind], list[Summary]] = defaultdict(list)
    for case in measurements.calling(MESSAGE):
        groups[case.transport, case.placement.kind].append(case)
    random = np.random.default_rng(SEED)
    return {
        way: curve(group[0].benchmark, group, random, measurements)
        for way, group in groups.items()
        if len(group) > 1
    }


def _messages(case: Case, ping_pong: SizeCurve, measurements: Measurements) -> Estimate:
    """Return the time of an operation's declared messages, each at the pace of the ping-pong."""
    names = numbers(case.parameters) | {"p": float(case.ranks)}
    total = sum(
        evaluate(step.count, names) * ping_pong.at(evaluate(step.bytes, names))
        for step in measurements.catalog[case.benchmark].costs
        if step.kind == "messages"
    )
    return estimate(np.asarray(total, dtype=np.float64))


def _apart(
    fresh: Summary, operations: dict[Key, Summary], ping_pong: SizeCurve, measurements: Measurements
) -> OperationParts:
    messages = _messages(fresh, ping_pong, measurements)
    total = fresh.estimate.value
    used = operations.get(_changed(fresh, {BUFFERS: USED})) if BUFFERS in fresh.parameters else None
    rows = operations.get(_changed(fresh, {BUFFERS: USED, LAYOUT: CONTIGUOUS}))
    # Shares of the time on cold buffers, launch by launch where the cases share launches.
    of_used = total * ratio(used.per_launch, fresh.per_launch).value if used else None
    of_rows = total * ratio(rows.per_launch, fresh.per_launch).value if rows else None
    first_touch = total - of_used if of_used is not None else None
    strided = fresh.parameters.get(LAYOUT) == STRIDED
    packing = of_used - of_rows if of_used is not None and of_rows is not None and strided else None
    return OperationParts(
        subject=fresh.case,
        time_s=fresh.estimate,
        messages_s=messages,
        retained=ratio(PerLaunch(messages), fresh.per_launch),
        first_touch_s=first_touch,
        packing_s=packing,
        rest_s=total - messages.value - (first_touch or 0.0) - (packing or 0.0),
    )


def _changed(case: Case, values: dict[str, str]) -> Key:
    """Return the key of the case with other values, where it has the parameters."""
    changes = {name: value for name, value in values.items() if name in case.parameters}
    return key(case.benchmark, {**case.parameters, **changes}, case.batch)
