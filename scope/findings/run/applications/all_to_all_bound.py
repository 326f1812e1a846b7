"""A program that turns its data round between all processes spends more time on that than on computing."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, application_cases, words
from scope.findings.run.context import Context

ALL_TO_ALL = {"application.npb_is": "keys", "application.npb_ft": "transpose"}
"""The applications whose every exchange is an all-to-all, and what it carries."""


def find(context: Context) -> list[Finding]:
    """Find for each such application the most processes on which its all-to-alls outweigh computation.

    Waiting for the others is not counted: it may have other causes.
    """
    bound: dict[tuple[object, ...], AlgorithmCase] = {}
    for case in application_cases(context):
        total = case.total
        if total.benchmark in ALL_TO_ALL and case.certainly_exceeds("exchange_s", "compute_s"):
            key = (total.benchmark, case.kind, total.transport, total.placement)
            if key not in bound or bound[key].total.ranks < total.ranks:
                bound[key] = case
    return [_finding(case) for case in bound.values()]


def _finding(case: AlgorithmCase) -> Finding:
    total = case.total
    exchange, compute, sent = (case.seconds(name) for name in ("exchange_s", "compute_s", "exchange_bytes"))
    rate = sent / exchange
    share = exchange / (total.median or exchange)
    return Finding(
        code="all-to-all-bound",
        severity="advice",
        title=(
            f"{total.benchmark} {words(case.kind)} on {total.ranks} processes sends from all to all for "
            f"{units.quantity(exchange, 's')} and computes for {units.quantity(compute, 's')}: "
            f"{units.quantity(rate, 'B/s')} per process"
        ),
        where={
            "benchmark": total.benchmark,
            "ranks": total.ranks,
            "transport": total.transport,
            "layer": "application",
        },
        evidence=[
            *case.evidence("exchange_s", "compute_s", "idle_s", "time_s", "exchange_bytes"),
            Evidence(what=f"rate of the {ALL_TO_ALL[total.benchmark]} per process", value=rate, unit="B/s"),
        ],
        advice=(
            "Compare the rate with mpi.alltoall of as many bytes: where that is as slow, the network's bisection "
            "or the library's all-to-all is the limit (`scope topology`, `scope run mpi.alltoall`); the fewer "
            "processes a host has, the more of its link each gets."
        ),
        lost=min(share, 1.0),
    )
