"""The two directions of a path have different rates, or they share one medium."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.two_hosts import figures_by_case, two_hosts, upper
from hpcscope.statistics.summary import Summary

SYMMETRY, DUPLEX, PROCESSOR = "symmetry", "duplex", "processor_share"
OUT, IN, BOTH = "out_bytes_per_s", "in_bytes_per_s", "both_bytes_per_s"
ALIKE = 0.7
"""Least ratio of the slower to the faster direction; the limit of `scope topology discover` is 1/1.5."""
FULL = 0.7
"""Least ratio of the rate of both ways at once to the sum of each alone: 1 if full duplex, 1/2 on one medium."""
IDLE = 0.8
"""CPU load below which the processor is not what both directions share; 0: the kernel did not report the load."""


def find(run: Run) -> list[Finding]:
    """Find paths that are asymmetric or half duplex at 95 % confidence; one finding for each kind."""
    measured = [
        cases
        for cases in figures_by_case(run, DUPLEX)
        if {SYMMETRY, PROCESSOR, OUT, IN, BOTH} <= set(cases) and 0 < (cases[PROCESSOR].median or 0.0) < IDLE
    ]
    uneven = [cases for cases in measured if upper(cases[SYMMETRY]) < ALIKE]
    shared = [cases for cases in measured if upper(cases[DUPLEX]) < FULL and cases not in uneven]
    return [
        *([_uneven(run, min(uneven, key=lambda summaries: summaries[SYMMETRY].median or 0.0))] if uneven else []),
        *([_shared(run, min(shared, key=lambda found: found[DUPLEX].median or 0.0))] if shared else []),
    ]


def _uneven(run: Run, cases: dict[str, Summary]) -> Finding:
    first, second = two_hosts(run, cases[SYMMETRY])
    out, into = cases[OUT].median or 0.0, cases[IN].median or 0.0
    slow = (first, second) if out < into else (second, first)
    share = cases[SYMMETRY]
    return Finding(
        code="asymmetric-rates",
        severity="warning",
        title=(
            f"The path from {slow[0]} to {slow[1]} carries {units.quantity(min(out, into), 'B/s')}, "
            f"{units.share(share.median or 0.0, share.ci_low, share.ci_high)} of the "
            f"{units.quantity(max(out, into), 'B/s')} in the other direction"
        ),
        where={"pair": f"{first}, {second}", "layer": "network"},
        evidence=run.evidence(cases[OUT], cases[IN], share),
        advice=(
            f"Compare speed and duplex at both ends of the links of {first} and {second} (`ethtool`). A duplex "
            "mismatch slows one direction and causes late collisions. Then look for limits in one direction only "
            "(`tc qdisc`, a policer on the switch) and for different routes (`traceroute` from both hosts)."
        ),
        lost=1 - (share.median or 1.0),
    )


def _shared(run: Run, cases: dict[str, Summary]) -> Finding:
    first, second = two_hosts(run, cases[DUPLEX])
    duplex = cases[DUPLEX]
    both = units.quantity(cases[BOTH].median, "B/s")
    alone = (cases[OUT].median or 0.0) + (cases[IN].median or 0.0)
    return Finding(
        code="half-duplex",
        severity="warning",
        title=(
            f"Both directions between {first} and {second} share one medium: together they carry {both}, "
            f"{units.share(duplex.median or 0.0, duplex.ci_low, duplex.ci_high)} of the sum of their separate "
            f"rates ({units.quantity(alone, 'B/s')})"
        ),
        where={"pair": f"{first}, {second}", "layer": "network"},
        evidence=[
            *run.evidence(cases[OUT], cases[IN], cases[BOTH], duplex),
            Evidence(what="CPU demand of the busier side", value=cases[PROCESSOR].median or 0.0),
        ],
        advice=(
            "Likely causes are a half-duplex link, a bus, a radio link, or a shaper for both directions. Enable "
            "autonegotiation at both ends (`ethtool -s ... autoneg on`). Look for `Duplex: Half` in `ethtool` and "
            "for collisions in `ip -s link`. A program gains nothing by sending in both directions concurrently."
        ),
        lost=1 - (duplex.median or 1.0),
    )
