"""A matrix product whose process grid spans groups of hosts that a slow link connects."""

from dataclasses import dataclass, replace

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.models.communication.panel_traffic import (
    PRODUCTS,
    Crossing,
    Grid,
    busy_s,
    crossings,
    grids,
    product_of,
    sent_bytes,
)
from hpcscope.statistics.summary import Summary
from hpcscope.topology.topology import Topology

TOO_MUCH = 1.25
"""Least ratio of the time for which the busiest uplink is busy to the same time on the best grid."""
MATTERS = 0.2
"""Least fraction of the product's time during which the uplink is busy."""


@dataclass(frozen=True)
class Mapped:
    """A grid on the hosts, and how long it keeps the busiest uplink busy."""

    grid: Grid
    busiest: Crossing


def find(run: Run) -> list[Finding]:
    """Find for each benchmark and transport the product whose grid suits the groups least."""
    if run.topology is None:
        return []
    products = (case for case in run.headlines if case.benchmark in PRODUCTS and case.metric == "time_s")
    findings = (finding for case in products if (finding := _compared(run, run.topology, case)))
    return largest_of_each(
        findings, lambda one: (one.where["benchmark"], one.where["transport"]), lambda one: one.lost or 0.0
    )


def _compared(run: Run, topology: Topology, case: Summary) -> Finding | None:
    product = product_of(case.benchmark, case.parameters, case.ranks)
    hosts = run.measurements.hosts(case)
    if not product.known or len(set(hosts)) < 2 or case.median is None:
        return None
    every = [
        Mapped(grid, busiest)
        for grid in grids(case.ranks)
        if (busiest := _busiest(crossings(sent_bytes(replace(product, grid=grid)), hosts, topology)))
    ]
    mine = next((mapped for mapped in every if mapped.grid == product.grid), None)
    if mine is None:
        return None
    least = min(mapped.busiest.seconds for mapped in every)
    if mine.busiest.seconds < TOO_MUCH * least or mine.busiest.seconds < MATTERS * case.median:
        return None
    # Of equally good grids, prefer a measured one, then one with the same number of rows.
    good = [mapped for mapped in every if mapped.busiest.seconds <= 1.01 * least]
    measured = {mapped.grid: other for mapped in good if (other := _same_on(run, case, mapped.grid))}
    better = min(good, key=lambda one: (one.grid not in measured, one.grid.rows != product.grid.rows))
    return _finding(run, case, mine, better, measured.get(better.grid))


def _busiest(found: list[Crossing]) -> Crossing | None:
    return max(found, key=lambda crossing: crossing.seconds) if busy_s(found) else None


def _same_on(run: Run, case: Summary, grid: Grid) -> Summary | None:
    """Return the fastest measurement of the same product on another grid."""

    def apart(summary: Summary) -> dict[str, object]:
        return {name: value for name, value in summary.parameters.items() if not name.startswith("grid_")}

    same = [
        summary
        for summary in run.headlines
        if (summary.benchmark, summary.metric, summary.ranks) == (case.benchmark, case.metric, case.ranks)
        and (summary.transport, summary.placement) == (case.transport, case.placement)
        and apart(summary) == apart(case)
        and product_of(summary.benchmark, summary.parameters, summary.ranks).grid == grid
    ]
    return min(same, key=lambda one: one.median or 0.0, default=None)


def _finding(run: Run, case: Summary, mine: Mapped, better: Mapped, other: Summary | None) -> Finding:
    took, busy, least = case.median or 0.0, mine.busiest, better.busiest
    gained_s = took - (other.median or 0.0) if other else busy.seconds - least.seconds
    seconds = f" (measured: {units.quantity(other.median, 's')} in total)" if other else ""
    evidence = [
        Evidence(what=f"{what} the uplink of {crossing.group}, busier direction, {words}", value=value, unit=unit)
        for crossing, words in ((busy, f"grid {mine.grid}"), (least, f"grid {better.grid}"))
        for what, value, unit in (("bytes over", crossing.busier_bytes, "B"), ("time of", crossing.seconds, "s"))
    ]
    return Finding(
        code="grid-against-topology",
        severity="advice",
        title=(
            f"{run.benchmark(case).title} (n={case.parameters['n']}) on a grid of {mine.grid} sends"
            f" {units.quantity(busy.busier_bytes, 'B')} over the uplink of {busy.group}. This takes"
            f" {units.quantity(busy.seconds, 's')} of the total {units.quantity(took, 's')}."
            f" A grid of {better.grid} would send {units.quantity(least.busier_bytes, 'B')} over the uplink of "
            f"{least.group}, in {units.quantity(least.seconds, 's')}{seconds}"
        ),
        where={
            "benchmark": case.benchmark,
            "group": busy.group,
            "grid": str(mine.grid),
            "better_grid": str(better.grid),
            "ranks": case.ranks,
            "transport": case.transport,
            "layer": "algorithm",
        },
        evidence=[*run.evidence(case), *(run.evidence(other) if other else []), *evidence],
        advice=(
            f"Use grid_rows={better.grid.rows} grid_order={better.grid.order} with this order of the hosts."
            " If no grid's rows or columns coincide with groups of hosts, list the hosts group by group."
        ),
        lost=max(0.0, gained_s / took),
    )
