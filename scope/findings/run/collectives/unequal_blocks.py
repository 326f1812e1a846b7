"""A collective takes longer when the same bytes are divided unequally."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Finding
from scope.findings.run.collectives.collective_guidelines import PLAIN, but_for
from scope.findings.run.context import Context, excess_of, figure
from scope.findings.run.measurement.oversubscription import crowded
from scope.statistics.summary import Summary

SMALLEST_EXCESS = 0.25
LARGE_EXCESS = 1.0


def find(context: Context) -> list[Finding]:
    """Find for each collective the worst division whose interval lies above that of equal blocks.

    The bytes of all together are the same. What one process alone has or gets bounds the time from below, so that
    a division that gives all to one is left out: that it takes longer is no fault.
    """
    crowds = crowded(context)
    times = [
        s
        for s in context.headlines
        if s.unit == "s"
        and s.definition == "global"
        and s.ci_low is not None
        and s.benchmark in PLAIN.values()
        and (s.ranks, s.transport, s.placement) not in crowds
    ]
    equal = {but_for(s, "blocks"): s for s in times if s.parameters.get("blocks") == "equal"}
    worst: dict[str, tuple[Summary, Summary]] = {}
    for one in times:
        other = equal.get(but_for(one, "blocks"))
        if other is None or one.parameters.get("blocks") not in ("proportional", "one_empty"):
            continue
        known = worst.get(one.benchmark)
        if _is_slower(one, other) and (known is None or excess_of(one, other) > excess_of(*known)):
            worst[one.benchmark] = (one, other)
    return [_finding(one, other) for one, other in worst.values()]


def _is_slower(one: Summary, other: Summary) -> bool:
    apart = one.ci_low is not None and other.ci_high is not None and one.ci_low > other.ci_high
    return apart and excess_of(one, other) > SMALLEST_EXCESS


def _finding(one: Summary, other: Summary) -> Finding:
    excess = excess_of(one, other)
    return Finding(
        code="unequal-blocks",
        severity="warning" if excess > LARGE_EXCESS else "advice",
        title=f"{one.benchmark} takes {units.share(excess)} longer when blocks are unequal: {one.label}",
        where={
            "benchmark": one.benchmark,
            "ranks": one.ranks,
            "message_bytes": int(one.parameters.get("message_bytes", 0)),
            "layer": "mpi",
        },
        evidence=[figure(one), figure(other)],
        advice=(
            "Divide the data more evenly, or pad it and use the collective of equal blocks; for a few large "
            "blocks compare non-blocking sends and receives."
        ),
        lost=excess / (1 + excess),
    )
