"""The sources of findings about a campaign."""

from dataclasses import dataclass

from hpcscope.programs.campaign.analysis import Analysis
from hpcscope.programs.campaign.folder import Head


@dataclass(frozen=True)
class CampaignFacts:
    """A campaign: the request and the analysis of its runs."""

    head: Head
    analysis: Analysis
