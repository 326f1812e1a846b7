"""A program that receives very many short messages, one after another, spends its time on receiving them."""

from __future__ import annotations

from math import log

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.algorithms.cases import AlgorithmCase, application_cases, words
from scope.findings.run.context import Context, figure
from scope.models.fitting.ratios import Figure, ratio
from scope.statistics.summary import Summary

WAVES = {"application.npb_lu": "a row or a column of each plane from the neighbours before"}
"""The applications whose processes pass such messages on, and what each holds."""
SHORT_BYTES = 4096
"""A mean message up to which latency, and not the rate, decides."""
MUCH = 0.25
"""Share of the whole time from which on receiving is worth a word."""
SLOW = 2.0
"""How many times the ping-pong's figure a receive takes that something else than latency must explain."""


def find(context: Context) -> list[Finding]:
    """Find for each such application the fewest processes on which it certainly is long in its receives.

    Tessera, Benchmarking of a commercial Linux cluster, sec. 3.1: over the faster of two networks LU was four
    times as long in its messages, of about 1 KB, as over the slower one; so a receive is held against the
    ping-pong of the same run. Waiting for a process that still computes is not counted.
    """
    bound: dict[tuple[object, ...], tuple[AlgorithmCase, Figure]] = {}
    for case in application_cases(context):
        total = case.total
        if total.benchmark not in WAVES or not 0 < _message_bytes(case) <= SHORT_BYTES:
            continue
        share = ratio(_figure(case.figures["exchange_s"]), _figure(total))
        if share.low is not None and share.low > MUCH:
            key = (total.benchmark, case.kind, total.transport, total.placement)
            if key not in bound or bound[key][0].total.ranks > total.ranks:
                bound[key] = (case, share)
    return [_finding(case, share, _ping_pong(context, case)) for case, share in bound.values()]


def _figure(one: Summary) -> Figure:
    return Figure(one.median or 0.0, one.ci_low, one.ci_high)


def _message_bytes(case: AlgorithmCase) -> float:
    """Return the mean message; 0 where none is sent."""
    sent = case.seconds("exchange_messages")
    return case.seconds("exchange_bytes") / sent if sent and case.seconds("waits") else 0.0


def _ping_pong(context: Context, case: AlgorithmCase) -> Summary | None:
    """Return the one whose message is nearest, by a factor; None where none is within a factor of four."""
    size = _message_bytes(case)

    def apart(one: Summary) -> float:
        return abs(log(max(1, int(one.parameters["message_bytes"])) / size))

    found = [
        s
        for s in context.headlines
        if s.benchmark == "mpi.latency"
        and s.metric == "latency_s"
        and s.transport == case.total.transport
        and s.median
        and apart(s) <= log(4)
    ]
    return min(found, key=apart, default=None)


def _finding(case: AlgorithmCase, share: Figure, ping: Summary | None) -> Finding:
    total = case.total
    waits, size = case.seconds("waits"), _message_bytes(case)
    each_s = case.seconds("exchange_s") / waits
    beside = ratio(Figure(each_s), Figure(ping.median)) if ping and ping.median else None
    slow = beside is not None and beside.value > SLOW
    held = f", {beside.value:.1f} times the ping-pong's figure" if beside else ""
    advice = (
        "Let a message carry several planes where the program can, or use fewer processes: each receive costs a "
        "latency, whatever it holds. "
    )
    if slow:
        advice += (
            "Latency alone does not explain these receives: look at how the library receives short messages over "
            "this path (eager limit, progress by polling or by interrupts), and compare transports."
        )
    return Finding(
        code="many-small-receives",
        severity="warning" if slow else "advice",
        title=(
            f"{total.benchmark} {words(case.kind)} on {total.ranks} processes waits {waits:.0f} times for "
            f"{units.quantity(size, 'B')}, {WAVES[total.benchmark]}: "
            f"{units.share(share.value, share.low, share.high)} of its time, "
            f"{units.quantity(each_s, 's')} each{held}"
        ),
        where={
            "benchmark": total.benchmark,
            "ranks": total.ranks,
            "transport": total.transport,
            "layer": "application",
        },
        evidence=[
            *case.evidence("time_s", "exchange_s", "idle_s", "waits", "exchange_messages", "exchange_bytes"),
            Evidence(what="mean message", value=size, unit="B"),
            Evidence(what="of its exchanges, for each wait", value=each_s, unit="s"),
            *([figure(ping)] if ping else []),
        ],
        advice=advice.strip(),
        lost=min(share.value, 1.0),
    )
