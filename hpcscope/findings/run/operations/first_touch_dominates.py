"""The first touch of cold buffers dominates the time of an operation."""

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import how_compared, largest_of_each
from hpcscope.findings.run.operations import fresh_buffers
from hpcscope.models.prediction.operation_parts import BUFFERS, FRESH, USED
from hpcscope.plan.case import key
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.ratio import ratio
from hpcscope.statistics.summary import Summary

DOMINATES = 2.0
"""Ratio of the times with cold and warm buffers above which first touch is most of the time."""


def find(run: Run) -> list[Finding]:
    """Find for each operation the case in which first touch takes most time, over half at 95 % confidence.

    Melas 2000, sec. 7.5.1: demand paging halved the bandwidth of large broadcasts on the BIP cluster.
    """
    times = {
        (s.key, s.metric, s.origin): s
        for s in run.headlines
        if run.benchmark(s).level == "operation" and s.unit == "s" and not run.shares_processors(s)
    }
    slower = [
        (excess, fresh, used)
        for fresh in times.values()
        if fresh.parameters.get(BUFFERS) == FRESH
        for other in [key(fresh.benchmark, fresh.parameters | {BUFFERS: USED}, fresh.batch)]
        if (used := times.get((other, fresh.metric, fresh.origin))) is not None
        if ((excess := ratio(fresh.per_launch, used.per_launch)).low or 0.0) > DOMINATES
    ]
    worst = largest_of_each(slower, lambda one: one[1].benchmark, lambda one: one[0].value)
    return [_finding(run, *arguments) for arguments in worst]


def _finding(run: Run, excess: Estimate, fresh: Summary, used: Summary) -> Finding:
    share = 1 - 1 / excess.value
    return Finding(
        code="first-touch-dominates",
        cause=fresh_buffers.CAUSE,
        severity="advice",
        title=(
            f"{fresh.label} takes {units.quantity(fresh.median, 's')} with cold buffers and "
            f"{units.quantity(used.median, 's')} with warm ones: first touch is {units.share(share)} of its time"
        ),
        where={
            "benchmark": fresh.benchmark,
            "size": run.measurements.size(fresh),
            "ranks": fresh.ranks,
            "layer": "operation",
        },
        evidence=[*run.evidence(fresh, used), how_compared(fresh, used)],
        advice=fresh_buffers.advice(run, fresh.median or 0.0, used.median or 0.0),
        lost=share,
    )
