"""A program whose messages are many and follow one another spends its time on their latency."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, application_cases, words
from scope.findings.run.context import Context, figure
from scope.models.fitting.ratios import Figure, ratio
from scope.statistics.summary import Summary

WHY = {
    "application.npb_cg": "each product of its solver ends in two sums over all processes",
    "application.npb_mg": "most of its messages are the few values of coarse grids",
}
"""The applications that are known to wait so, and for what."""
MUCH = 0.25
"""Share of the whole time from which on latency is worth a word."""


def find(context: Context) -> list[Finding]:
    """Find for each such application the fewest processes on which latency certainly takes much of it.

    Messages that follow one another (`waits`, counted by the application itself) cost a latency each at least:
    that of the shortest message of the same run's ping-pong over the same transport.
    """
    bound: dict[tuple[object, ...], tuple[AlgorithmCase, Summary, Figure]] = {}
    for case in application_cases(context):
        total = case.total
        ping = _shortest(context, total.transport)
        if total.benchmark not in WHY or ping is None or case.seconds("waits") == 0:
            continue
        waits = case.seconds("waits")
        latency = Figure(waits * (ping.median or 0.0), _times(ping.ci_low, waits), _times(ping.ci_high, waits))
        share = ratio(latency, Figure(total.median or 0.0, total.ci_low, total.ci_high))
        if share.low is not None and share.low > MUCH:
            key = (total.benchmark, case.kind, total.transport, total.placement)
            if key not in bound or bound[key][0].total.ranks > total.ranks:
                bound[key] = (case, ping, share)
    return [_finding(*one) for one in bound.values()]


def _times(bound: float | None, factor: float) -> float | None:
    return None if bound is None else bound * factor


def _shortest(context: Context, transport: str) -> Summary | None:
    """Return the ping-pong of the shortest message."""
    found = [
        s
        for s in context.headlines
        if s.benchmark == "mpi.latency" and s.metric == "latency_s" and s.transport == transport
    ]
    return min(found, key=lambda s: (int(s.parameters["message_bytes"]), s.median or 0.0), default=None)


def _finding(case: AlgorithmCase, ping: Summary, share: Figure) -> Finding:
    total = case.total
    waits, small = case.seconds("waits"), case.seconds("exchange_small_messages")
    return Finding(
        code="latency-bound",
        severity="advice",
        title=(
            f"{total.benchmark} {words(case.kind)} on {total.ranks} processes waits {waits:.0f} times for a "
            f"message: latency alone is {units.share(share.value, share.low, share.high)} of its time, as "
            f"{WHY[total.benchmark]}"
        ),
        where={
            "benchmark": total.benchmark,
            "ranks": total.ranks,
            "transport": total.transport,
            "layer": "application",
        },
        evidence=[
            *case.evidence("time_s", "waits", "exchange_messages", "exchange_small_messages", "collect_messages"),
            figure(ping),
            Evidence(what="messages of at most 1 KiB", value=small / max(1.0, case.seconds("exchange_messages"))),
        ],
        advice=(
            "A faster link does not help, a shorter path does: processes on fewer hosts, a transport that passes "
            "by the kernel (`scope run mpi.latency` over each), or a larger problem for each process."
        ),
        lost=min(share.value, 1.0),
    )
