"""From some number of processes on an algorithm communicates longer than it computes."""

from __future__ import annotations

from collections import defaultdict

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, algorithm_cases, words, written
from scope.findings.run.context import Context
from scope.models.fit import Speedup


def find(context: Context) -> list[Finding]:
    """Find for each algorithm the largest problem of which communication certainly takes longer than computation.

    Melas 2000, sec. 7.6.1: beyond that number of processes little is gained. It must be so on all larger numbers
    too; the whole of an algorithm's communication counts, distribution and collection included.
    """
    curves: dict[tuple[object, ...], list[AlgorithmCase]] = defaultdict(list)
    for case in algorithm_cases(context):
        if case.total.ranks > 1:
            total = case.total
            curves[total.benchmark, case.kind, total.transport, total.placement, case.size].append(case)
    worst: dict[tuple[object, ...], AlgorithmCase] = {}
    for of_size, cases in curves.items():
        first = _from(sorted(cases, key=lambda case: case.total.ranks))
        known = worst.get(of_size[:-1])
        if first is not None and (known is None or first.size > known.size):
            worst[of_size[:-1]] = first
    largest = {
        key: max(case.size for of_size, cases in curves.items() if of_size[:-1] == key for case in cases)
        for key in worst
    }
    return [_finding(context, case, case.size == largest[key]) for key, case in worst.items()]


def _from(cases: list[AlgorithmCase]) -> AlgorithmCase | None:
    """Return the first case from which on communication outweighs; None where the last one does not."""
    first = None
    for case in reversed(cases):
        if not case.certainly_exceeds("communicate_s", "compute_s"):
            break
        first = case
    return first


def _finding(context: Context, case: AlgorithmCase, every_size: bool) -> Finding:
    """Small problems communicate more than they compute everywhere; it is worth a look when the largest does."""
    total = case.total
    communicate, compute = case.seconds("communicate_s"), case.seconds("compute_s")
    times = f"{units.quantity(communicate, 's')} against {units.quantity(compute, 's')}"
    return Finding(
        code="communication-outweighs",
        severity="advice" if every_size else "information",
        title=(
            f"{total.benchmark} {words(case.kind)} of size {case.size} communicates longer than it computes "
            f"from {total.ranks} processes on: {times}"
        ),
        where={
            "benchmark": total.benchmark,
            "size": case.size,
            "ranks": total.ranks,
            "transport": total.transport,
            "layer": "algorithm",
        },
        evidence=[
            *case.evidence("communicate_s", "compute_s", "idle_s", "time_s"),
            *(evidence for one in context.models.speedups if _same(one, case) for evidence in _counts(one)),
        ],
        advice=(
            "Use fewer processes for this size, or larger problems on as many: computation grows faster with the "
            "size than messages do. Distribution and collection by one process grow with all others: let each "
            "process make or read its own part."
        ),
        lost=communicate / (total.median or 1.0) if communicate < (total.median or 0.0) else None,
    )


def _same(one: Speedup, case: AlgorithmCase) -> bool:
    mine = {name: value for name, value in case.total.parameters.items() if name != "rows"}
    return (one.subject.benchmark, one.subject.parameters, one.subject.transport) == (
        case.total.benchmark,
        mine,
        case.total.transport,
    )


def _counts(one: Speedup) -> list[Evidence]:
    found = []
    if one.effective_ranks is not None:
        found.append(Evidence(what="most cost-effective number of processes", value=written(one.effective_ranks)))
    if one.amdahl is not None and one.amdahl.critical_ranks is not None:
        found.append(Evidence(what="critical number of processes", value=written(one.amdahl.critical_ranks, 1)))
    return found
