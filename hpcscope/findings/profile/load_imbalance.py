"""Computation is distributed unevenly."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts

WORTH = 0.1
"""Least excess of the longest computation over the mean, as a fraction of the program's time."""


def find(facts: ProfileFacts) -> Found:
    """Find programs that would be at least 10 % faster with evenly distributed computation."""
    merged = facts.merged
    spread = merged.spreads["compute_s"]
    beyond_s = spread.most - spread.mean
    if len(merged.processes) < 2 or beyond_s < WORTH * merged.wall_s:
        return
    host = next(process.host for process in merged.processes if process.rank == spread.most_rank)
    yield Finding(
        code="load-imbalance",
        severity="warning",
        title=(
            f"Rank {spread.most_rank} computes for {units.quantity(spread.most, 's')}, the mean is"
            f" {units.quantity(spread.mean, 's')}: with equal work the program would take"
            f" {units.share(beyond_s / merged.wall_s)} less time"
        ),
        where={"rank": spread.most_rank, "host": host, "layer": "balance"},
        evidence=[
            Evidence(what=f"computation of rank {spread.most_rank}, the most", value=spread.most, unit="s"),
            Evidence(what="mean over the ranks", value=spread.mean, unit="s"),
            Evidence(what=f"computation of rank {spread.least_rank}, the least", value=spread.least, unit="s"),
            Evidence(what="imbalance", value=100 * (spread.imbalance or 0.0), unit="%"),
            Evidence(
                what="coefficient of variation", value=100 * (spread.coefficient_of_variation or 0.0), unit="%"
            ),
        ],
        advice=(
            "Distribute the work by cost instead of size, or dynamically in small pieces. If the same ranks "
            "are slow in every program, their host is the cause. Otherwise these ranks have more work."
        ),
        lost=beyond_s / merged.wall_s,
    )
