"""Runs of which only the clock is known although they were to be monitored."""

from __future__ import annotations

from scope.findings.campaign.facts import Facts
from scope.findings.finding import Evidence, Finding


def find(facts: Facts) -> list[Finding]:
    """Find runs that ended well and left no profile that can be read."""
    analysis = facts.analysis
    if not analysis.unprofiled:
        return []
    return [
        Finding(
            code="no-profile",
            severity="warning",
            title=f"{analysis.unprofiled} of {analysis.well} runs that ended well left no profile",
            where={},
            evidence=[Evidence(what="the first of them", value=analysis.unprofiled_reason)],
            advice=(
                "The program may be no MPI program, linked statically, or started by another MPI than the study's"
                " (`mpi`); `monitored = false` says that the clock is enough."
            ),
        )
    ]
