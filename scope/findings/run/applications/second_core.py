"""A second core of a host computes an application no faster than the first alone."""

from __future__ import annotations

from collections import defaultdict

from scope import units
from scope.findings.finding import Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, application_cases, words
from scope.findings.run.context import Context
from scope.models.fitting.ratios import Figure, ratio
from scope.statistics.summary import Summary

LITTLE = 1.2
"""Speed-up of computation by a second core below which it is hardly worth having; two are expected."""


def find(context: Context) -> list[Finding]:
    """Find applications whose computation, without messages and waiting, two cores of a host hardly share.

    Each of two processes has half of the work: where it takes as long as the whole on one, they hold each other
    up, as a rule in the memory that both read (`node.stream` tells).
    """
    groups: dict[tuple[object, ...], dict[int, AlgorithmCase]] = defaultdict(dict)
    for case in application_cases(context):
        total = case.total
        if total.ranks in (1, 2) and "compute_s" in case.figures:
            groups[total.benchmark, case.kind, total.placement][total.ranks] = case
    found = []
    for pair in groups.values():
        if 1 in pair and 2 in pair and _on_one_host(context, pair[2].total):
            gained = ratio(_computing(pair[1]), _computing(pair[2]))
            if gained.high is not None and gained.high < LITTLE:
                found.append(_finding(pair[1], pair[2], gained))
    return found


def _computing(case: AlgorithmCase) -> Figure:
    one = case.figures["compute_s"]
    return Figure(one.median or 0.0, one.ci_low, one.ci_high)


def _on_one_host(context: Context, total: Summary) -> bool:
    launches = [
        launch
        for launch in context.samples.launches
        if (launch.ranks, launch.transport, launch.placement) == (total.ranks, total.transport, total.placement)
    ]
    return all(len({process.host for process in launch.processes}) == 1 for launch in launches)


def _finding(alone: AlgorithmCase, both: AlgorithmCase, gained: Figure) -> Finding:
    total = both.total
    low, high = gained.low or gained.value, gained.high or gained.value
    return Finding(
        code="second-core",
        severity="advice",
        title=(
            f"{total.benchmark} {words(both.kind)} computes {gained.value:.2f} [{low:.2f}, {high:.2f}] times "
            f"as fast on two cores as on one: {units.quantity(alone.seconds('compute_s'), 's')} and "
            f"{units.quantity(both.seconds('compute_s'), 's')}"
        ),
        where={
            "benchmark": total.benchmark,
            "ranks": total.ranks,
            "transport": total.transport,
            "layer": "application",
        },
        evidence=[*alone.evidence("compute_s", "time_s"), *both.evidence("compute_s", "time_s", "idle_s")],
        advice=(
            "`scope run node.stream` says whether one core already takes the memory's bandwidth: then spread such "
            "programs over hosts, one process each. Else look for two processes on one core (`scope doctor`)."
        ),
        lost=max(0.0, 1 - gained.value / 2),
    )
