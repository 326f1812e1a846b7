"""The operating system, or something else on the host, takes away more than 1 % of a processor."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Finding
from scope.findings.run.context import Context, figure
from scope.findings.run.measurement.oversubscription import crowded
from scope.statistics.summary import Summary

TOLERATED = 0.01


def find(context: Context) -> list[Finding]:
    """Find noise that is certainly above 1 % on the worst rank; one finding for each kind of host."""
    crowds = crowded(context)
    worst: dict[str, Summary] = {}
    for s in context.headlines:
        if s.benchmark != "node.noise" or s.metric != "noise_share":
            continue
        certain = s.ci_low is not None and s.ci_low > TOLERATED
        if certain and (s.ranks, s.transport, s.placement) not in crowds:
            known = worst.get(s.placement)
            if known is None or (s.median or 0) > (known.median or 0):
                worst[s.placement] = s
    return [_finding(context, s) for s in worst.values()]


def _finding(context: Context, share: Summary) -> Finding:
    case = (share.label, share.placement)
    beside = {s.metric: s for s in context.headlines if (s.label, s.placement) == case and s.metric != "time_s"}
    period = beside.get("period_s")
    beat = f", every {units.quantity(period.median, 's')}" if period is not None and period.median else ""
    lost = units.share(share.median, share.ci_low, share.ci_high)
    return Finding(
        code="noise",
        severity="warning" if (share.median or 0) > 5 * TOLERATED else "advice",
        title=f"{lost} of a processor is lost to interruptions on the worst of {share.ranks} ranks{beat}",
        where={"layer": "node", "benchmark": "node.noise", "ranks": share.ranks, "placement": share.placement},
        evidence=[figure(s) for s in beside.values()],
        advice="Look for other processes (`top`), daemons and timers (`systemctl list-timers`), interrupts "
        "(`/proc/interrupts`) and stolen time of a virtual machine; leave a core to the system (core "
        "specialisation, `isolcpus`, `nohz_full`). An operation of many processes waits for "
        "each detour of any of them.",
        lost=share.median,
    )
