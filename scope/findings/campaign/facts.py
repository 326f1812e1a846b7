"""What findings about a campaign are derived from."""

from __future__ import annotations

from dataclasses import dataclass

from scope.campaign.analysis import Analysis
from scope.campaign.folder import Head


@dataclass(frozen=True)
class Facts:
    """A campaign: what was requested and what its runs show."""

    head: Head
    analysis: Analysis
