"""A node's own page: each check with its interval, the distribution over its peers, and earlier checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray

from hpcscope import units
from hpcscope.health import links, verdict
from hpcscope.health.history import NodePast, Past
from hpcscope.health.records import HealthFile, LinkVisit, Visit
from hpcscope.health.verdict import Health, NodeVerdict, Sight
from hpcscope.samples.samples import Floats
from hpcscope.statistics.order_statistics import median_estimate, quantiles

MARGIN = 3.0
"""Margin beyond the outermost values of a drawing, in percent of its width or height."""


@dataclass(frozen=True)
class NodeRow:
    """One check of a node."""

    label: str
    own: str
    """The node's median with its 95 % CI, which needs at least six visits."""
    peers: str
    """Median and middle half of the peers' values; empty without peers."""
    spread: list[float]
    """Minimum, quartiles and maximum of the peers, in percent of the drawing's width; empty without peers."""
    first: list[float]
    """Values of the first stage's visits in percent of the width, as are `again` (second stage) and `interval`."""
    again: list[float]
    interval: tuple[float, float]
    past: str
    """Median, number and first date of earlier checks; empty if there are none."""
    course: list[tuple[float, float]]
    """Medians of the earlier checks and of this check, oldest first, in percent of width and height."""


@dataclass(frozen=True)
class NodePage:
    """What is known of one node."""

    node: NodeVerdict
    rows: list[NodeRow]
    visits: int
    facts: dict[str, str]


def pages(
    record: HealthFile, health: Health, past: Mapping[str, NodePast], nodes: Sequence[NodeVerdict]
) -> list[NodePage]:
    """Return the pages of some nodes."""
    hosts = {node.host for node in nodes}
    visits = verdict.by_host(hosts, [visit for visit in record.visits if visit.host in hosts])
    paired = [visit for visit in record.links if not visit.error]
    typical = {metric.name: metric.typical(paired) for metric in links.METRICS}
    made = []
    for node in nodes:
        own = visits[node.host]
        seen = [sight for sight in health.sights if node.host in sight.rows]
        rows = [_check(sight, node.host, own, past.get(node.host)) for sight in seen]
        ours = np.array([node.host in (visit.first, visit.second) for visit in paired], bool)
        rows += [_link(metric, typical[metric.name], ours, paired) for metric in links.METRICS if ours.any()]
        made.append(NodePage(node, rows, len(own), next((visit.facts for visit in own if visit.answered), {})))
    return made


def _check(sight: Sight, host: str, visits: Sequence[Visit], past: NodePast | None) -> NodeRow:
    place = (sight.check.name, sight.place)

    def values(stage: int) -> list[float]:
        return [
            value.value
            for visit in visits
            if visit.stage == stage
            for value in visit.values
            if (value.check, value.place) == place
        ]

    peers = _spread(np.delete(sight.screening.typical, sight.rows[host]))
    spread = sorted(sight.check.cost(exp(cost)) for cost in peers)
    own = past.places.get(place) if past is not None else None
    return _row(sight.label, sight.check.unit, (values(1), values(2)), spread, _course(sight, host, own))


def _link(metric: links.Metric, costs: Floats, ours: NDArray[np.bool_], visits: Sequence[LinkVisit]) -> NodeRow:
    again = np.array([visit.stage == 2 for visit in visits])
    signed = costs if metric.unit == "s" else -costs
    own = (np.exp(signed[ours & ~again]).tolist(), np.exp(signed[ours & again]).tolist())
    spread = [exp(value) for value in _spread(signed[~ours & ~again])]
    return _row(f"link: {metric.label}", metric.unit, own, spread, ("", []))


def _spread(values: Floats) -> list[float]:
    """Return minimum, quartiles and maximum; empty if there are no values."""
    return [float(values.min()), *quantiles(values, [0.25, 0.5, 0.75]), float(values.max())] if values.size else []


def _row(
    label: str,
    unit: str,
    own: tuple[list[float], list[float]],
    spread: Sequence[float],
    course: tuple[str, list[tuple[float, float]]],
) -> NodeRow:
    first = np.array(own[0] or own[1])
    own_value = median_estimate(first)
    middle, low, high = own_value.value, own_value.low, own_value.high
    place = _scale([*own[0], *own[1], *spread])
    five, visits, again = ([place(value) for value in values] for values in (spread, *own))
    bar = (place(middle if low is None else low), place(middle if high is None else high))
    others = units.interval(spread[2], spread[1], spread[3], unit) if spread else ""
    return NodeRow(label, units.interval(middle, low, high, unit), others, five, visits, again, bar, *course)


def _course(sight: Sight, host: str, past: Past | None) -> tuple[str, list[tuple[float, float]]]:
    if past is None or not past.costs:
        return "", []
    now = float(sight.screening.typical[sight.rows[host]])
    values = [sight.check.cost(exp(cost)) for cost in (*past.costs, now)]
    times = (*past.unix_s, 2 * past.unix_s[-1] - past.unix_s[-2] if len(past.unix_s) > 1 else past.unix_s[-1] + 1)
    across, up = _scale(times), _scale(values)
    first = time.strftime("%Y-%m-%d", time.gmtime(past.unix_s[0]))
    said = f"{verdict.value_of(sight.check, float(np.median(past.costs)))} ({len(past.costs)} since {first})"
    return said, [(across(x), 100 - up(y)) for x, y in zip(times, values, strict=True)]


def _scale(values: Sequence[float]) -> Callable[[float], float]:
    """Return a function that gives the position of a value between the minimum and the maximum, in percent."""
    least, largest = min(values), max(values)
    if largest == least:
        return lambda _value: 50.0
    return lambda value: round(MARGIN + (100 - 2 * MARGIN) * (value - least) / (largest - least), 1)
