"""The parts of an operation's time, compared with the ping-pong time of the same messages.

The fraction of the ping-pong's rate that an operation delivers is the time of its messages over its own: each at
the speed of the ping-pong, in the declared succession (Melas 2000, section 7.5: 29 to 63 %). Other cases separate
the rest: cold minus warm buffers is the first touch of pages, columns minus rows is the packing of strided data,
and the remainder is contention, copies, slower links and the library's algorithm.
"""

import numpy as np

from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.expression import evaluate
from hpcscope.grouping import grouped
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
"""The parameters of operations, and their values, that separate the parts of the time."""


class OperationParts(Strict):
    """Where the time of a program's operation goes, with cold buffers if there is a choice.

    All times are of the whole operation.
    """

    subject: Case
    time_s: Estimate
    messages_s: Estimate
    """The time of its messages one after another, each at the speed of the ping-pong."""
    retained: Estimate
    """Fraction of the ping-pong's rate that the operation delivers: the messages' time over its own."""
    first_touch_s: float | None
    """How much more time cold buffers take than warm ones; None if warm buffers were not measured."""
    packing_s: float | None
    """Additional time of columns over contiguous rows; None if it is unknown."""
    rest_s: float
    """Contention, copies, the library's algorithm; also first touch and packing, if they are unknown."""


def operation_parts(measurements: Measurements) -> list[OperationParts]:
    """Return the parts of every operation without oversubscription; with cold buffers, if there is a choice."""
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
    """Return whether an operation was called as in most programs, without a computation before its end."""
    defaults = catalog.defaults(case.benchmark)
    calls = [parameter.name for parameter in catalog[case.benchmark].parameters if parameter.role == "call"]
    return all(case.parameters.get(name, defaults[name]) == defaults[name] for name in calls)


def _ping_pongs(measurements: Measurements) -> dict[tuple[str, Kind], SizeCurve]:
    """Return the library's ping-pong of each transport and placement."""
    groups = grouped(measurements.calling(MESSAGE), lambda case: (case.transport, case.placement.kind))
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
    # Times relative to cold buffers, launch by launch if the cases share launches.
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
    """Return the key of the case with other values, for the parameters that it has."""
    changes = {name: value for name, value in values.items() if name in case.parameters}
    return key(case.benchmark, {**case.parameters, **changes}, case.batch)
