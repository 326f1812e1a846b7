"""A product of matrices whose grid of processes lies across groups of hosts that a slow line joins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context, figure
from scope.models.communication.panel_traffic import (
    PRODUCTS,
    Crossing,
    Grid,
    busy_s,
    crossings,
    grids,
    product_of,
    sent_bytes,
)
from scope.models.published.products import hosts_of
from scope.statistics.summary import Summary
from scope.topology.topology import Topology

TOO_MUCH = 1.25
"""The busiest uplink is busy so many times as long as with the best grid."""
MATTERS = 0.2
"""Share of the product's time that it is busy."""


@dataclass(frozen=True)
class Lying:
    """A grid, and how long it keeps the busiest uplink busy."""

    grid: Grid
    busiest: Crossing


def find(context: Context) -> list[Finding]:
    """Find, for each benchmark and transport, the product that loses most by how its grid lies on the groups."""
    if context.topology is None:
        return []
    worst: dict[tuple[str, str], Finding] = {}
    for case in context.headlines:
        if case.benchmark not in PRODUCTS or case.metric != "time_s" or "grid_order" not in case.parameters:
            continue
        finding = _held(context, context.topology, case)
        key = case.benchmark, case.transport
        if finding and (key not in worst or (finding.lost or 0.0) > (worst[key].lost or 0.0)):
            worst[key] = finding
    return list(worst.values())


def _held(context: Context, topology: Topology, case: Summary) -> Finding | None:
    product = product_of(case.benchmark, case.parameters, case.ranks)
    hosts = _hosts(context, case)
    if not product.known or len(set(hosts)) < 2 or case.median is None:
        return None
    every = [
        Lying(grid, busiest)
        for grid in grids(case.ranks)
        if (busiest := _busiest(crossings(sent_bytes(replace(product, grid=grid)), hosts, topology)))
    ]
    mine = next((one for one in every if one.grid == product.grid), None)
    if mine is None:
        return None
    least = min(one.busiest.seconds for one in every)
    if mine.busiest.seconds < TOO_MUCH * least or mine.busiest.seconds < MATTERS * case.median:
        return None
    # Of those that are as good, one that was measured, else one of the same shape.
    good = [one for one in every if one.busiest.seconds <= 1.01 * least]
    measured = {one.grid: other for one in good if (other := _same_on(context, case, one.grid))}
    better = min(good, key=lambda one: (one.grid not in measured, one.grid.rows != product.grid.rows))
    return _finding(case, mine, better, measured.get(better.grid))


def _hosts(context: Context, case: Summary) -> list[str]:
    place = (case.ranks, case.transport, case.placement)
    for launch in context.samples.launches:
        if (launch.ranks, launch.transport, launch.placement) == place:
            return hosts_of(launch)
    return []


def _busiest(found: list[Crossing]) -> Crossing | None:
    return max(found, key=lambda one: one.seconds) if busy_s(found) else None


def _same_on(context: Context, case: Summary, grid: Grid) -> Summary | None:
    """Return the fastest measurement of the same product on another grid."""

    def apart(one: Summary) -> dict[str, object]:
        return {name: value for name, value in one.parameters.items() if not name.startswith("grid_")}

    same = [
        one
        for one in context.headlines
        if (one.benchmark, one.metric, one.ranks) == (case.benchmark, case.metric, case.ranks)
        and (one.transport, one.placement) == (case.transport, case.placement)
        and apart(one) == apart(case)
        and product_of(one.benchmark, one.parameters, one.ranks).grid == grid
    ]
    return min(same, key=lambda one: one.median or 0.0, default=None)


def _finding(case: Summary, mine: Lying, better: Lying, other: Summary | None) -> Finding:
    took, busy, least = case.median or 0.0, mine.busiest, better.busiest
    gained_s = took - (other.median or 0.0) if other else busy.seconds - least.seconds
    seconds = f", and took {units.quantity(other.median, 's')}" if other else ""
    evidence = [
        Evidence(what=f"bytes over the uplink of {one.group}, busier direction, {words}", value=one.busier_bytes)
        for one, words in ((busy, f"grid {mine.grid}"), (least, f"grid {better.grid}"))
    ]
    return Finding(
        code="grid-against-topology",
        severity="advice",
        title=(
            f"{case.benchmark} (n={case.parameters['n']}) on a grid of {mine.grid} sends"
            f" {units.quantity(busy.busier_bytes, 'B')} over the uplink of {busy.group},"
            f" {units.quantity(busy.seconds, 's')} of the {units.quantity(took, 's')} that it took;"
            f" {better.grid} would send {units.quantity(least.busier_bytes, 'B')} over that of {least.group},"
            f" {units.quantity(least.seconds, 's')}{seconds}"
        ),
        where={
            "benchmark": case.benchmark,
            "group": busy.group,
            "ranks": case.ranks,
            "transport": case.transport,
            "layer": "algorithm",
        },
        evidence=[figure(case), *([figure(other)] if other else []), *evidence],
        advice=(
            f"Use grid_rows={better.grid.rows} grid_order={better.grid.order} with the hosts in this order;"
            " where neither rows nor columns of any grid are groups of hosts, list the hosts group by group."
        ),
        lost=max(0.0, gained_s / took),
    )
