"""Many runs of a program: studies over parameters, processes and placements, and what they show together."""

from __future__ import annotations

from pathlib import Path

HEAD = "campaign.json"
"""The name of the file that tells a campaign's folder from any other."""


def is_campaign(path: Path) -> bool:
    """Say whether a folder is that of a campaign, placement or soak."""
    return (path / HEAD).is_file()
