"""The run time of a program drifts from run to run."""

from hpcscope import units
from hpcscope.findings.campaign import CampaignFacts
from hpcscope.findings.finding import Evidence, Finding, Found

LEAST_SHARE = 0.02
"""Least drift over the whole soak, as a fraction of the time of a run."""


def find(facts: CampaignFacts) -> Found:
    """Find a trend whose interval excludes a constant time."""
    endurance = facts.analysis.endurance
    drift = endurance.drift if endurance else None
    if drift is None or not drift.certain or abs(drift.over_span) < LEAST_SHARE * drift.typical:
        return
    span, change = drift.shown
    share = drift.over_span / drift.typical
    longer = "longer" if share > 0 else "shorter"
    yield Finding(
        code="drift",
        severity="advice" if share > 0 else "information",
        title=f"The run time became {units.share(abs(share))} {longer} over {units.quantity(drift.span_s, 's')}",
        where={},
        evidence=[
            Evidence(what=f"change of the run time {span}", value=change.value, unit="s"),
            Evidence(what="at least (95 %)", value=change.low or 0.0, unit="s"),
            Evidence(what="at most (95 %)", value=change.high or 0.0, unit="s"),
            Evidence(what="runs", value=float(drift.points)),
        ],
        advice="Check temperature, clock frequency, processes started during the runs, and files that grow.",
        lost=max(share, 0.0) / (1 + max(share, 0.0)),
    )
