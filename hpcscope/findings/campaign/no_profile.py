"""Monitored runs without a profile."""

from hpcscope.findings.campaign import CampaignFacts
from hpcscope.findings.finding import Evidence, Finding, Found


def find(facts: CampaignFacts) -> Found:
    """Find successful runs that left no readable profile."""
    analysis = facts.analysis
    if not analysis.unprofiled:
        return
    yield Finding(
        code="no-profile",
        severity="warning",
        title=f"{analysis.unprofiled} of {analysis.well} successful runs left no profile",
        where={},
        evidence=[Evidence(what="first of these runs", value=analysis.unprofiled_reason)],
        advice=(
            "Likely causes: the program does not use MPI, is linked statically, or was not started by the MPI "
            "that the study names (`mpi`). With `monitored = false`, only run times are recorded."
        ),
    )
