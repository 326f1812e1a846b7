"""Planned runs without a record."""

from hpcscope.findings.campaign import CampaignFacts
from hpcscope.findings.finding import Finding


def find(facts: CampaignFacts) -> list[Finding]:
    """Find a finished campaign with fewer records than planned runs; a soak has no fixed number of runs."""
    head, there = facts.head, facts.analysis.runs
    planned = len(head.runs()) if head.kind != "soak" and head.status == "finished" else there
    if there == planned:
        return []
    return [
        Finding(
            code="runs-missing",
            about="measurement",
            severity="warning",
            title=f"The {head.kind} has ended, but {planned - there} of {planned} runs have no record",
            where={},
            evidence=[],
            advice="Restore runs.jsonl from a copy; until then, values come from the other runs.",
        )
    ]
