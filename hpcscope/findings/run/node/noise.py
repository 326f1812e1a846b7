"""The operating system or other activity on the host takes more than 1 % of a processor."""

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.findings.run.worst_rank import worst_rank
from hpcscope.statistics.summary import Summary

NOISE = "node.noise"
TOLERATED = 0.01
EXPLAINS = (0.5, 1.25)
"""The period is named if its beats per interruption are in this range; with more beats it is not a period."""


def find(run: Run) -> list[Finding]:
    """Find noise above 1 % at 95 % confidence on the worst rank; one finding per kind of host."""
    noisy = [
        s
        for s in run.headlines
        if (s.benchmark, s.metric) == (NOISE, "noise_share")
        and (s.ci_low or 0.0) > TOLERATED
        and run.computes_undisturbed(s)
    ]
    return [_finding(run, s) for s in largest_of_each(noisy, lambda s: s.placement, lambda s: s.median or 0)]


def _finding(run: Run, share: Summary) -> Finding:
    beside = {s.metric: s for s in run.headlines if s.key == share.key and s.metric != "time_s"}
    period = beside.get("period_s")
    often = beside.get("detours_per_s")
    beats = 1 / (period.median * often.median) if period and often and period.median and often.median else 0.0
    named = EXPLAINS[0] <= beats <= EXPLAINS[1]
    beat = f", mostly every {units.quantity(period.median, 's')}" if period and named else ""
    worst = worst_rank(run, share)
    who = f"Rank {worst['rank']} on {worst['host']}" if worst else f"The worst of {share.ranks} ranks"
    lost = units.share(share.median, share.ci_low, share.ci_high)
    return Finding(
        code="noise",
        severity="warning" if (share.median or 0) > 5 * TOLERATED else "advice",
        title=f"{who} loses {lost} of its CPU time to interruptions{beat}",
        where={
            "layer": "node",
            "benchmark": NOISE,
            "ranks": share.ranks,
            "placement": str(share.placement),
            **worst,
        },
        evidence=run.evidence(*beside.values()),
        advice="Look for other processes (`top`), daemons and timers (`systemctl list-timers`), interrupts "
        "(`/proc/interrupts`) and stolen time of a virtual machine. Leave a core to the system (core "
        "specialization, `isolcpus`, `nohz_full`): a collective waits for every delay of each rank.",
        lost=share.median,
    )
