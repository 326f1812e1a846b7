"""The program ran too briefly to be judged."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.profile.facts import SHORTEST_S, Facts


def find(facts: Facts) -> list[Finding]:
    """Tell that shares of so short a time say nothing."""
    if facts.telling:
        return []
    return [
        Finding(
            code="too-short",
            severity="information",
            title=(
                f"{units.quantity(facts.merged.wall_s, 's')} between MPI_Init and MPI_Finalize are too short to"
                " say where time is lost"
            ),
            where={"layer": "measurement"},
            evidence=[Evidence(what="shortest that is judged", value=SHORTEST_S, unit="s")],
            advice="Give the program more work: in so short a time one turn of the scheduler decides.",
        )
    ]
