"""The same computation takes longer from some size on: what it works on no longer fits into a cache."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, algorithm_cases, words
from scope.findings.run.context import Context
from scope.machine.machine import Cache
from scope.models.fitting.ratios import Figure, ratio
from scope.models.prediction.costs.steps import Costs
from scope.models.prediction.prediction import all_costs, problem_of

SMALLEST_STEP = 1.25


def find(context: Context) -> list[Finding]:
    """Find for each algorithm the largest certain step of one process's time for each unit of work.

    Melas 2000, sec. 7.5.2 and 7.6.1: knees of this kind are the caches, or the memory where it swaps.
    """
    curves: dict[tuple[object, ...], list[AlgorithmCase]] = defaultdict(list)
    for case in algorithm_cases(context):
        if case.total.ranks == 1 and case.seconds("compute_s") > 0 and case.total.benchmark in all_costs():
            curves[case.total.benchmark, case.kind, case.total.transport].append(case)
    found = []
    for cases in curves.values():
        costs = all_costs()[cases[0].total.benchmark]
        ordered = sorted(cases, key=lambda case: case.size)
        steps = [(_step(costs, small, large), small, large) for small, large in pairwise(ordered)]
        certain = [each for each in steps if (each[0].low or 0.0) > SMALLEST_STEP]
        if certain:
            step, small, large = max(certain, key=lambda each: each[0].value)
            found.append(_finding(context, costs, step, small, large))
    return found


def _step(costs: Costs, small: AlgorithmCase, large: AlgorithmCase) -> Figure:
    return ratio(_per_unit(costs, large), _per_unit(costs, small))


def _per_unit(costs: Costs, case: AlgorithmCase) -> Figure:
    compute = case.figures["compute_s"]
    units_of_work = costs.units("compute", case.size, problem_of(case.total))
    low = None if compute.ci_low is None else compute.ci_low / units_of_work
    high = None if compute.ci_high is None else compute.ci_high / units_of_work
    return Figure((compute.median or 0.0) / units_of_work, low, high)


def _finding(context: Context, costs: Costs, step: Figure, small: AlgorithmCase, large: AlgorithmCase) -> Finding:
    before, after = costs.touched_bytes(small.size), costs.touched_bytes(large.size)
    passed = [cache for cache in data_caches(context) if before <= cache.size_bytes < after]
    grows = f"what it works on grows from {units.quantity(before, 'B')} to {units.quantity(after, 'B')}"
    cause = (
        f"{grows}, past the level {passed[-1].level} cache of {units.size(passed[-1].size_bytes)}"
        if passed
        else grows
    )
    total = large.total
    return Finding(
        code="cache-knee",
        severity="information",
        title=(
            f"{total.benchmark} {words(large.kind)} takes {step.value:.2f} times as long for the same work at "
            f"size {large.size} as at {small.size}: {cause}"
        ),
        where={"benchmark": total.benchmark, "size": large.size, "ranks": 1, "layer": "algorithm"},
        evidence=[
            *small.evidence("compute_s"),
            *large.evidence("compute_s"),
            *(
                Evidence(what=f"level {cache.level} cache", value=cache.size_bytes, unit="B")
                for cache in data_caches(context)
            ),
        ],
        advice=(
            "Work in blocks that fit into the cache, or along rows of both matrices (`variant=transposed`, "
            "`variant=tuned`). Speed-ups against one process of such a size are flattered: each of many processes "
            "has less to keep."
        ),
        lost=1 - 1 / step.value,
    )


def data_caches(context: Context) -> list[Cache]:
    """Return the data caches of the first host, smallest first."""
    host = context.machine.hosts[0] if context.machine.hosts else None
    caches = [cache for cache in host.caches if cache.kind != "instruction"] if host else []
    return sorted(caches, key=lambda cache: cache.size_bytes)
