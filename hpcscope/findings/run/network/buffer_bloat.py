"""Small messages wait for tens of milliseconds in queues that streams on the same path fill."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import certainly_longer, written
from hpcscope.findings.run.two_hosts import figures_by_case, lower, upper
from hpcscope.statistics.summary import Summary

ADDED_S = 0.02
"""Least added wait: a queue sized for the link's own speed causes less, even on the slowest link."""
AT_LEAST = 5.0
"""Least ratio of the round trip under load to the round trip without load."""
LOADED, ALONE, RATE = "round_trip_s", "isolated_s", "bandwidth_bytes_per_s"


def find(run: Run) -> Found:
    """Find the cases whose round trip is significantly longer under load, by these limits; one for all."""
    measured = [cases for cases in figures_by_case(run, LOADED) if ALONE in cases]
    hit = [cases for cases in measured if _is_bloated(cases[LOADED], cases[ALONE])]
    if not hit:
        return
    worst = max(hit, key=lambda cases: cases[LOADED].median or 0.0)
    loaded, alone, rate = worst[LOADED], worst[ALONE], worst.get(RATE)
    added_s = (loaded.median or 0.0) - (alone.median or 0.0)
    queue = [added_s * rate.median] if rate and rate.median else []
    yield Finding(
        code="buffer-bloat",
        severity="warning",
        title=(
            f"A small message takes {written(loaded)} instead of {written(alone)} while streams fill the path "
            f"(with {len(hit)} of {len(measured)} loads; the worst: {loaded.label})"
        ),
        where={"benchmark": loaded.benchmark, "layer": "network"},
        evidence=[
            *run.evidence(loaded, alone),
            *(Evidence(what="data in queues: added time × rate", value=size, unit="B") for size in queue),
        ],
        advice=(
            "The queue before the narrowest link is too long for its rate. At this link, set a fair queue with a "
            "short target (`tc qdisc replace dev ... root fq_codel`), lower `txqueuelen`, mark packets (ECN), "
            "or give small messages their own class. Keep bulk and file traffic off MPI's link."
        ),
        lost=1 - (alone.median or 0.0) / (loaded.median or 1.0),
    )


def _is_bloated(loaded: Summary, alone: Summary) -> bool:
    # Only bounds from intervals over launches count.
    return lower(loaded) - upper(alone) >= ADDED_S and certainly_longer(loaded, alone, AT_LEAST - 1)
