"""Equal streams between two hosts get significantly unequal fractions of the path's bandwidth."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.two_hosts import upper

METRIC = "fairness"
FAIR = 0.8
"""Least value of Jain's index; it is 0.75 if one of four streams gets nearly nothing."""


def find(run: Run) -> Found:
    """Find the loads whose streams get unequal rates at 95 % confidence; one finding for all."""
    measured = [case for case in run.headlines if case.metric == METRIC]
    hit = [case for case in measured if upper(case) < FAIR]
    if not hit:
        return
    worst = min(hit, key=lambda case: case.median or 0.0)
    index = units.interval(worst.median, worst.ci_low, worst.ci_high, "")
    yield Finding(
        code="unfair-streams",
        severity="warning",
        title=(
            f"Equal streams get unequal shares of a path: Jain's index is {index} in {worst.label} "
            f"(shares are unequal under {len(hit)} of {len(measured)} loads)"
        ),
        where={"benchmark": worst.benchmark, "layer": "network"},
        evidence=[*run.evidence(*hit), Evidence(what="Jain's index of equal shares", value=1.0)],
        advice=(
            "Something treats connections differently: a policer, classes of service, or a hash of the ports "
            "that loads bonded links or equal-cost routes unequally. Check the switch counters and `ip -s link`. "
            "An MPI library that opens several connections for each pair waits for the slowest connection."
        ),
        lost=1 - (worst.median or 1.0),
    )
