"""The program was too short to be judged."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import SHORTEST_S, ProfileFacts


def find(facts: ProfileFacts) -> Found:
    """Report that a run this short has no meaningful fractions of time."""
    if facts.long_enough:
        return
    yield Finding(
        code="too-short",
        severity="information",
        title=(
            f"{units.quantity(facts.merged.wall_s, 's')} between MPI_Init and MPI_Finalize is too short to"
            " show where time is lost"
        ),
        where={"layer": "measurement"},
        evidence=[Evidence(what="minimum time for a verdict", value=SHORTEST_S, unit="s")],
        advice="Give the program more work: a single time slice of the scheduler distorts a run this short.",
    )
