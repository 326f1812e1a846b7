"""Kinds of findings about many runs of a program: one file each."""

from dataclasses import dataclass

from hpcscope.findings import find
from hpcscope.findings.finding import Finding
from hpcscope.programs.campaign.analysis import Analysis
from hpcscope.programs.campaign.folder import Head


@dataclass(frozen=True)
class CampaignFacts:
    """A campaign: the request and the analysis of its runs."""

    head: Head
    analysis: Analysis


def find_all(facts: CampaignFacts) -> list[Finding]:
    """Return the findings of all kinds, worst first."""
    return find.find_all(__name__, facts)
