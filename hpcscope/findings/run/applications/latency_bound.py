"""An application with many dependent messages spends its time on their latency."""

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.program_case import ProgramCase, application_cases
from hpcscope.statistics.estimate import Estimate, in_percent
from hpcscope.statistics.ratio import ratio
from hpcscope.statistics.summary import Summary

WHY = {
    "application.npb_cg": "each matrix-vector product of CG is followed by two sums over all ranks",
    "application.npb_mg": "most messages of MG carry the few values of coarse grids",
}
"""The applications that are known to wait for many short messages, and why."""
MUCH = 0.25
"""Fraction of the total time above which latency is worth a line."""


def find(run: Run) -> list[Finding]:
    """Find for each such application the fewest ranks on which latency takes much of the time at 95 % confidence.

    Each message that depends on the previous one (`waits`, counted by the application) costs at least the latency
    of the shortest ping-pong in the same run over the same transport.
    """
    bound = [
        (case, ping, share)
        for case in application_cases(run)
        if case.total.benchmark in WHY and case.seconds("waits") > 0
        if (ping := _shortest(run, case.total.transport)) is not None
        for share in [ratio(ping.per_launch.scaled(case.seconds("waits")), case.total.per_launch)]
        if share.low is not None and share.low > MUCH
    ]
    fewest = largest_of_each(bound, lambda one: one[0].apart(), lambda one: -one[0].total.ranks)
    return [_finding(run, *arguments) for arguments in fewest]


def _shortest(run: Run, transport: str) -> Summary | None:
    """Return the ping-pong with the shortest message."""
    cases = [case for case in run.measurements.calling("MPI_Send") if case.transport == transport]
    return min(cases, key=lambda summary: (run.measurements.size(summary), summary.median or 0.0), default=None)


def _finding(run: Run, case: ProgramCase, ping: Summary, share: Estimate) -> Finding:
    total = case.total
    waits, small = case.seconds("waits"), case.seconds("exchange_small_messages")
    return Finding(
        code="latency-bound",
        severity="advice",
        title=(
            f"{case.name} on {total.ranks} ranks waits {waits:.0f} times for a message: latency alone takes "
            f"{in_percent(share)} of its time, because {WHY[total.benchmark]}"
        ),
        where=case.where,
        evidence=[
            *case.evidence("time_s", "waits", "exchange_messages", "exchange_small_messages", "collect_messages"),
            *run.evidence(ping),
            Evidence(what="messages of at most 1 KiB", value=small / max(1.0, case.seconds("exchange_messages"))),
        ],
        advice=(
            "More bandwidth does not help, but a lower latency does. Use fewer hosts, a kernel-bypass "
            "transport (compare transports: `scope run mpi.latency`), or a larger problem per rank."
        ),
        lost=min(share.value, 1.0),
    )
