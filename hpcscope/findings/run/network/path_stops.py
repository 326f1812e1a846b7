"""A path without load stalls repeatedly."""

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.two_hosts import figures_by_case, lower, two_hosts
from hpcscope.statistics.summary import Summary

SHARE, LONGEST, OFTEN = "stopped_share", "longest_stop_s", "stops_per_s"
AT_LEAST = 0.02
"""Least fraction of the time; single late interrupts cause less."""


def find(run: Run) -> list[Finding]:
    """Find the path that stalls longest, if that is more than this fraction at 95 % confidence."""
    measured = [cases for cases in figures_by_case(run, SHARE) if {LONGEST, OFTEN} <= set(cases)]
    hit = [cases for cases in measured if lower(cases[SHARE]) > AT_LEAST]
    return [_finding(run, max(hit, key=lambda summaries: summaries[SHARE].median or 0.0))] if hit else []


def _finding(run: Run, cases: dict[str, Summary]) -> Finding:
    share, longest, often = cases[SHARE], cases[LONGEST], cases[OFTEN]
    first, second = two_hosts(run, share)
    return Finding(
        code="path-stops",
        severity="warning",
        title=(
            f"Without any load, the path between {first} and {second} stalls for "
            f"{units.share(share.median or 0.0, share.ci_low, share.ci_high)} of the time, "
            f"{often.median or 0.0:.3g} times a second, for up to {units.quantity(longest.median, 's')} each time"
        ),
        where={"pair": f"{first}, {second}", "layer": "network"},
        evidence=run.evidence(share, longest, often),
        advice=(
            "Packets are held back and released together, as flow control does. Look for pause frames: `ethtool "
            "-S`, `ethtool -I --show-pause`, counters of the switch, `dcb pfc show` (priority flow control). Look "
            "also for the slow receiver that sends these frames. Then look for power saving of the link (`ethtool "
            "--show-eee`) and interrupt coalescing. A paused port also stops other traffic through its switch."
        ),
        lost=min(1.0, share.median or 0.0),
    )
