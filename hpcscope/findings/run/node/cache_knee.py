"""The same work takes longer above some size: the working set no longer fits into a cache."""

from collections import defaultdict
from itertools import pairwise

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.node.memory_swapped import swapped
from hpcscope.findings.run.program_case import ProgramCase, algorithm_cases
from hpcscope.machine.machine import Cache
from hpcscope.models.prediction.costs.steps import Costs
from hpcscope.models.prediction.prediction import all_costs, problem_of
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import PerLaunch, ratio

SMALLEST_STEP = 1.25
CACHES = "size of the caches"


def find(run: Run) -> Found:
    """Find for each algorithm the largest significant step in the time per unit of work on one rank.

    Melas 2000, sec. 7.5.2 and 7.6.1: such knees are due to caches, or to swapping, which has its own finding.
    """
    due_to_memory = swapped(run)
    all_known = all_costs(run.benchmarks)
    curves: dict[tuple[object, ...], list[ProgramCase]] = defaultdict(list)
    for case in algorithm_cases(run):
        if case.total.key in due_to_memory:
            continue
        if case.total.ranks == 1 and case.seconds("compute_s") > 0 and case.total.benchmark in all_known:
            curves[case.total.benchmark, case.kind, case.total.transport].append(case)
    for cases in curves.values():
        costs = all_known[cases[0].total.benchmark]
        ordered = sorted(cases, key=lambda case: case.size)
        steps = [
            (ratio(_per_unit(costs, large), _per_unit(costs, small)), small, large)
            for small, large in pairwise(ordered)
        ]
        certain = [step for step in steps if (step[0].low or 0.0) > SMALLEST_STEP]
        if certain:
            step, small, large = max(certain, key=lambda each: each[0].value)
            yield _finding(run, costs, step, small, large)


def _per_unit(costs: Costs, case: ProgramCase) -> PerLaunch:
    work = costs.units("compute", case.size, problem_of(case.total, case.run.benchmarks))
    return case.figures["compute_s"].per_launch.scaled(1 / work)


def _finding(run: Run, costs: Costs, step: Estimate, small: ProgramCase, large: ProgramCase) -> Finding:
    before, after = costs.touched_bytes(small.size), costs.touched_bytes(large.size)
    passed = [cache for cache in data_caches(run) if before <= cache.size_bytes < after]
    grows = f"the working set grows from {units.quantity(before, 'B')} to {units.quantity(after, 'B')}"
    cause = (
        f"likely because {grows}, past the level {passed[-1].level} cache of {units.size(passed[-1].size_bytes)}"
        if passed
        else grows
    )
    return Finding(
        code="cache-knee",
        cause=CACHES,
        severity="information",
        title=(
            f"{large.name} takes {step.value:.2f} times as long per unit of work as size {small.size}: {cause}"
        ),
        where=large.where,
        evidence=[
            *small.evidence("compute_s"),
            *large.evidence("compute_s"),
            *_variants(large),
            *(
                Evidence(what=f"level {cache.level} cache", value=cache.size_bytes, unit="B")
                for cache in data_caches(run)
            ),
        ],
        advice=(
            "If a cache is the cause, blocks that fit into the cache are faster, and so are variants that "
            "traverse memory in another order. The evidence has the times of these variants. Speedups relative "
            "to one rank at this size are too high: each of many ranks has a smaller working set."
        ),
        lost=1 - 1 / step.value,
    )


def _variants(large: ProgramCase) -> list[Evidence]:
    """Return the computing times of the other variants of the case, which access memory in other orders."""
    alike = [
        case
        for case in algorithm_cases(large.run)
        if (case.total.benchmark, case.total.batch) == (large.total.benchmark, large.total.batch)
        and case.size == large.size
    ]
    return [evidence for case in alike for evidence in case.evidence("compute_s") if case.total != large.total]


def data_caches(run: Run) -> list[Cache]:
    """Return the data caches of the first host, smallest first."""
    host = run.machine.hosts[0] if run.machine.hosts else None
    caches = [cache for cache in host.caches if cache.kind != "instruction"] if host else []
    return sorted(caches, key=lambda cache: cache.size_bytes)
