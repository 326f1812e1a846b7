"""A path loses packets, either without load or only when streams fill it."""

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import same_place
from hpcscope.findings.run.two_hosts import figures_by_case, lower, two_hosts
from hpcscope.statistics.estimate import in_percent
from hpcscope.statistics.summary import Summary

LOADED, RATE = "retransmitted_share", "bandwidth_bytes_per_s"
IDLE = "lost_share"
"""Metric for the packet loss without other traffic."""
AT_LEAST_LOADED = 0.02
"""Least fraction of lost packets; a queue that a stream fills now and then loses less."""
AT_LEAST_IDLE = 0.001
"""Least fraction of lost packets: 1e-6 is already much for a cable, and TCP is slow at this loss or more."""
BY_ITSELF = 0.25
"""The link explains the loss under load if it loses more than this fraction of it without load."""


def find(run: Run) -> list[Finding]:
    """Find the path that loses packets without load at 95 % confidence, and the loads that lose more."""
    idle = [cases[IDLE] for cases in figures_by_case(run, IDLE)]
    lossy = [case for case in idle if lower(case) > AT_LEAST_IDLE]
    loads = figures_by_case(run, LOADED)
    hit = [
        cases for cases in loads if lower(cases[LOADED]) > AT_LEAST_LOADED and not _explained(cases[LOADED], idle)
    ]
    return [
        *([_of_link(run, max(lossy, key=lambda summary: summary.median or 0.0))] if lossy else []),
        *([_of_load(run, hit, len(loads), idle)] if hit else []),
    ]


def _explained(loaded: Summary, idle: list[Summary]) -> bool:
    """Return whether the loss of the same path without load explains the loss under load."""
    return any((case.median or 0.0) > BY_ITSELF * (loaded.median or 0.0) for case in _same_path(loaded, idle))


def _same_path(loaded: Summary, idle: list[Summary]) -> list[Summary]:
    return [case for case in idle if same_place(case, loaded)]


def _of_link(run: Run, idle: Summary) -> Finding:
    first, second = two_hosts(run, idle)
    lost = in_percent(idle.estimate)
    return Finding(
        code="lossy-path",
        severity="warning",
        title=f"Between {first} and {second}, {lost} of the packets are lost without any load",
        where={"pair": f"{first}, {second}", "layer": "network"},
        evidence=run.evidence(idle),
        advice=(
            "Check the link rather than its queues: cables, optics and duplex mismatch. Errors and drops show "
            "in `ip -s link` and `ethtool -S` at both ends, and on the switch ports in between."
        ),
        lost=idle.median,
    )


def _of_load(run: Run, hit: list[dict[str, Summary]], of: int, idle: list[Summary]) -> Finding:
    worst = max(hit, key=lambda cases: cases[LOADED].median or 0.0)
    share = worst[LOADED]
    first, second = two_hosts(run, share)
    alone = run.evidence(*_same_path(share, idle))
    return Finding(
        code="lost-under-load",
        severity="warning",
        title=(
            f"Between {first} and {second}, {in_percent(share.estimate)} of the packets of streams are "
            f"retransmitted (with {len(hit)} of {of} loads; the worst: {share.label})"
        ),
        where={"pair": f"{first}, {second}", "layer": "network"},
        evidence=[
            *run.evidence(share, *([worst[RATE]] if RATE in worst else [])),
            *(alone or [Evidence(what="loss without load", value="not measured")]),
        ],
        advice=(
            "The queue before the narrowest link is too short for bursts, or a policer drops packets. Let the "
            "queue hold what the link sends in a few ms (`tc -s qdisc`, buffers and drops of the switch port). "
            "Otherwise mark packets instead of dropping them (ECN), pace senders (`tc qdisc ... fq`), or "
            "shape instead of policing."
        ),
        lost=share.median,
    )
