"""A sort gives one process more than its share."""

from __future__ import annotations

from scope.findings.finding import Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, algorithm_cases, words
from scope.findings.run.context import Context

LARGEST = 1.25
"""Regular sampling of distinct keys stays near 1; it promises no more than 2 (Li et al. 1993, theorem 1)."""
PROMISED = 2.0


def find(context: Context) -> list[Finding]:
    """Find for each kind of input the sort whose largest partition is certainly too large, by most."""
    worst: dict[tuple[object, ...], AlgorithmCase] = {}
    for case in algorithm_cases(context):
        share = case.figures.get("partition_imbalance")
        if share is None or share.ranks < 2 or (share.ci_low or 0.0) <= LARGEST:
            continue
        key = (case.total.benchmark, case.kind)
        if key not in worst or case.seconds("partition_imbalance") > worst[key].seconds("partition_imbalance"):
            worst[key] = case
    return [_finding(case) for case in worst.values()]


def _finding(case: AlgorithmCase) -> Finding:
    total = case.total
    largest = case.seconds("partition_imbalance")
    return Finding(
        code="partition-imbalance",
        severity="warning" if largest > PROMISED else "advice",
        title=(
            f"{total.benchmark} {words(case.kind)} gives one of {total.ranks} processes {largest:.2f} times its "
            f"share of {case.size} elements"
        ),
        where={
            "benchmark": total.benchmark,
            "elements": case.size,
            "ranks": total.ranks,
            "layer": "algorithm",
        },
        evidence=case.evidence("partition_imbalance", "idle_s", "compute_s", "time_s"),
        advice=(
            "All others wait for that process in the last stage. Equal keys cannot be told apart by a pivot: "
            "spread ties over the partitions by their place (`variant=tuned` does), or take more samples from "
            "each process."
        ),
        lost=1 - 1 / largest,
    )
