"""An application that receives very many short messages one after another spends its time receiving them."""

from math import log

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.program_case import ProgramCase, application_cases
from hpcscope.statistics.estimate import Estimate, in_percent
from hpcscope.statistics.ratio import ratio
from hpcscope.statistics.summary import Summary

WAVES = {"application.npb_lu": "a row or a column of each plane from the preceding neighbors"}
"""The applications whose ranks pass on such messages, and what each message contains."""
SHORT_BYTES = 4096
"""Mean message size up to which latency dominates, not bandwidth."""
MUCH = 0.25
"""Fraction of the total time above which receiving is worth a line."""
SLOW = 2.0
"""Multiple of the ping-pong time above which latency alone does not explain a receive."""


def find(run: Run) -> list[Finding]:
    """Find for each such application the fewest ranks on which receives take much time at 95 % confidence.

    Tessera, Benchmarking of a commercial Linux cluster, sec. 3.1: over the faster of two networks, LU spent four
    times as long in its messages of about 1 KB as over the slower one. So a receive is compared with the ping-pong
    of the same run. Waiting for a rank that is still computing does not count.
    """
    bound = [
        (case, share)
        for case in application_cases(run)
        if case.total.benchmark in WAVES and 0 < _message_bytes(case) <= SHORT_BYTES
        for share in [ratio(case.figures["exchange_s"].per_launch, case.total.per_launch)]
        if share.low is not None and share.low > MUCH
    ]
    fewest = largest_of_each(bound, lambda one: one[0].apart(), lambda one: -one[0].total.ranks)
    return [_finding(run, case, share, _ping_pong(run, case)) for case, share in fewest]


def _message_bytes(case: ProgramCase) -> float:
    """Return the mean message size; 0 if no messages are sent."""
    sent = case.seconds("exchange_messages")
    return case.seconds("exchange_bytes") / sent if sent and case.seconds("waits") else 0.0


def _ping_pong(run: Run, case: ProgramCase) -> Summary | None:
    """Return the ping-pong with the nearest message size; None if no size is within a factor of four."""
    size = _message_bytes(case)

    def apart(summary: Summary) -> float:
        return abs(log(max(1, run.measurements.size(summary)) / size))

    cases = [
        summary
        for summary in run.measurements.calling("MPI_Send")
        if summary.transport == case.total.transport and apart(summary) <= log(4)
    ]
    return min(cases, key=apart, default=None)


def _finding(run: Run, case: ProgramCase, share: Estimate, ping: Summary | None) -> Finding:
    total = case.total
    waits, size = case.seconds("waits"), _message_bytes(case)
    each_s = case.seconds("exchange_s") / waits
    beside = each_s / ping.estimate.value if ping else None
    slow = beside is not None and beside > SLOW
    compared = f", {beside:.1f} times as long as a ping-pong" if beside else ""
    advice = (
        "Combine several planes into one message if the program can, or use fewer ranks: each receive costs one "
        "latency at any size. "
    )
    if slow:
        advice += (
            "Latency alone does not explain these receives: check how the library receives short messages on this "
            "path (eager limit, polling or interrupts), and compare transports."
        )
    return Finding(
        code="many-small-receives",
        severity="warning" if slow else "advice",
        title=(
            f"{case.name} on {total.ranks} ranks waits {waits:.0f} times for messages of "
            f"{units.quantity(size, 'B')} ({WAVES[total.benchmark]}). The waits take {in_percent(share)} of its "
            f"time; each wait takes {units.quantity(each_s, 's')}{compared}"
        ),
        where=case.where,
        evidence=[
            *case.evidence("time_s", "exchange_s", "idle_s", "waits", "exchange_messages", "exchange_bytes"),
            Evidence(what="mean message size", value=size, unit="B"),
            Evidence(what="time in exchanges per wait", value=each_s, unit="s"),
            *(run.evidence(ping) if ping else []),
        ],
        advice=advice.strip(),
        lost=min(share.value, 1.0),
    )
