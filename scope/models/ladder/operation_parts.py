"""Where the time of a program's operation goes, beside what the ping-pong would take for the same messages.

What of the ping-pong's figure an operation retains is the time of its messages over its own: each at the pace of
the ping-pong, those one after another that must be (Melas 2000, section 7.5: 29 to 63 %). What it takes longer
comes apart where the variants were measured: cold less warm is the first touch of fresh pages, columns less rows
the gathering of what does not lie together, and the rest is contention, copies and the library's algorithm.
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil, log2

import numpy as np

from scope.machine.machine import Machine
from scope.models.fit import Bounds, OperationParts
from scope.models.fitting.draws import bounds
from scope.models.fitting.oversubscription import crowded
from scope.models.fitting.ratios import Figure, ratio
from scope.models.prediction.costs.steps import DOUBLE_BYTES
from scope.models.prediction.measured_costs import SEED, SizeCurve, curve
from scope.samples.records import LaunchRecord
from scope.statistics.summary import Case, Summary


def operation_parts(
    summaries: list[Summary], machine: Machine, launches: list[LaunchRecord]
) -> list[OperationParts]:
    """Take every operation with fresh buffers apart whose processes had a processor each."""
    times = [s for s in summaries if s.primary and s.valid and s.median and s.unit == "s"]
    too_many = crowded(machine, launches)
    ways = _ping_pongs(times)
    operations = {_key(s): s for s in times if s.benchmark.startswith("operation.") and s.metric == "time_s"}
    found = []
    for one in operations.values():
        way = ways.get((one.transport, one.placement.partition(":")[0]))
        if one.parameters.get("memory") != "cold" or (one.ranks, one.transport, one.placement) in too_many:
            continue
        if way is not None:
            found.append(_apart(one, operations, way))
    return found


def _ping_pongs(times: list[Summary]) -> dict[tuple[str, str], SizeCurve]:
    """Return the ping-pong of each transport and placement."""
    groups: dict[tuple[str, str], list[Summary]] = defaultdict(list)
    for s in times:
        standard = s.parameters.get("mode") == "standard" and s.parameters.get("completion") == "blocking"
        if s.benchmark == "mpi.latency" and s.metric == "latency_s" and standard:
            groups[s.transport, s.placement.partition(":")[0]].append(s)
    random = np.random.default_rng(SEED)
    return {way: curve("mpi.latency", group, random) for way, group in groups.items() if len(group) > 1}


def _messages(one: Case, way: SizeCurve) -> Bounds:
    """Return what the messages of an operation take that must follow one another, each as a ping-pong's."""
    n = DOUBLE_BYTES * float(one.parameters["size"]) ** 2
    name = one.benchmark.removeprefix("operation.")
    if name == "broadcast":
        count, message_bytes = ceil(log2(one.ranks)), n
    elif name == "shift":
        count, message_bytes = 1, n
    else:
        count, message_bytes = one.ranks - 1, n / one.ranks
    return bounds(count * way.at(message_bytes))


def _apart(cold: Summary, operations: dict[tuple[object, ...], Summary], way: SizeCurve) -> OperationParts:
    messages = _messages(cold, way)
    total = cold.median or 0.0
    warm = operations.get(_key(cold, memory="warm"))
    rows = operations.get(_key(cold, memory="warm", layout="rows"))
    paging = total - (warm.median or 0.0) if warm else None
    strided = cold.parameters.get("layout") == "columns"
    packing = (warm.median or 0.0) - (rows.median or 0.0) if warm and rows and strided else None
    return OperationParts(
        subject=Case.model_validate({name: getattr(cold, name) for name in Case.model_fields}),
        time_s=_bounds(_figure(cold)),
        messages_s=messages,
        retained=_bounds(ratio(Figure(messages.value, messages.low, messages.high), _figure(cold))),
        paging_s=paging,
        packing_s=packing,
        rest_s=total - messages.value - (paging or 0.0) - (packing or 0.0),
    )


def _key(one: Summary, **changed: str) -> tuple[object, ...]:
    parameters = {**one.parameters, **{name: value for name, value in changed.items() if name in one.parameters}}
    return (one.benchmark, tuple(sorted(parameters.items())), one.ranks, one.transport, one.placement)


def _figure(summary: Summary) -> Figure:
    return Figure(summary.median or 0.0, summary.ci_low, summary.ci_high)


def _bounds(figure: Figure) -> Bounds:
    return Bounds(value=figure.value, low=figure.low, high=figure.high)
