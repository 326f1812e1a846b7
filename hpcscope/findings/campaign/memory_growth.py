"""Memory grows within a run or from one run to the next; GAMMA saw it over a day."""

from hpcscope import units
from hpcscope.findings.campaign import CampaignFacts
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.programs.campaign.soak import Endurance, Growth
from hpcscope.programs.campaign.trend import Trend

LEAST_BYTES = 1e6
"""Least growth in bytes, within the second half of a run or over all runs; allocators cause less."""
LEAST_SHARE = 0.01
"""Least growth, as a fraction of the memory of a rank."""


def find(facts: CampaignFacts) -> Found:
    """Find growth whose interval excludes constant memory and that is worth a line."""
    endurance = facts.analysis.endurance
    if endurance is None:
        return
    if (growth := endurance.growth) is not None and growth.certain and _large(growth):
        yield _within(growth)
    if (trend := endurance.memory) is not None and trend.low > 0 and _matters(trend.over_span, trend.typical):
        yield _between(trend, endurance)


def _large(growth: Growth) -> bool:
    return _matters(growth.bytes_per_s.value * growth.run_s / 2, growth.resident_bytes)


def _matters(grown_bytes: float, of_bytes: float) -> bool:
    return grown_bytes >= max(LEAST_BYTES, LEAST_SHARE * of_bytes)


def _within(growth: Growth) -> Finding:
    rate = growth.bytes_per_s
    return Finding(
        code="memory-growth",
        severity="warning",
        title=f"The memory of a rank grows at {units.quantity(rate.value, 'B/s')} during a run",
        where={"rank": growth.worst_rank},
        evidence=[
            Evidence(what="growth in the second half of a run, mean over the ranks", value=rate.value, unit="B/s"),
            Evidence(what="at least (95 %)", value=rate.low or 0.0, unit="B/s"),
            Evidence(what="at most (95 %)", value=rate.high or 0.0, unit="B/s"),
            Evidence(
                what=f"growth on rank {growth.worst_rank}, the largest",
                value=growth.worst_bytes_per_s.value,
                unit="B/s",
            ),
            Evidence(what="runs with a time series", value=float(growth.runs)),
        ],
        advice=(
            "Typical causes are requests that are never completed or freed, datatypes and communicators created "
            "in a loop, and unexpected messages. A run on one rank shows the program's own growth."
        ),
    )


def _between(trend: Trend, endurance: Endurance) -> Finding:
    span, growth = trend.shown
    return Finding(
        code="memory-growth",
        severity="warning",
        title=(
            f"The memory of the ranks grows from run to run, by {units.quantity(trend.over_span, 'B')} over"
            f" {units.quantity(endurance.span_s, 's')}"
        ),
        where={},
        evidence=[
            Evidence(what=f"memory growth of the rank that uses most, {span}", value=growth.value, unit="B"),
            Evidence(what="at least (95 %)", value=growth.low or 0.0, unit="B"),
            Evidence(what="at most (95 %)", value=growth.high or 0.0, unit="B"),
            Evidence(what="runs", value=float(trend.points)),
        ],
        advice=(
            "Something outlives the runs: a file that the program appends to and reads completely, or segments in"
            " /dev/shm that earlier runs left behind."
        ),
    )
