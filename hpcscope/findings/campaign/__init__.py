"""Kinds of findings about many runs of a program: one file each."""

from hpcscope.findings import find
from hpcscope.findings.campaign.facts import CampaignFacts
from hpcscope.findings.finding import Finding


def find_all(facts: CampaignFacts) -> list[Finding]:
    """Return the findings of all kinds, worst first."""
    return find.find_all(__name__, facts)
