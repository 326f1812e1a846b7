"""Many runs of a program: studies over parameters, process counts and placements, and their joint analysis."""

from pathlib import Path

HEAD = "campaign.json"
"""The file that marks the folder of a campaign."""


def is_campaign(path: Path) -> bool:
    """Say whether a folder belongs to a campaign, a placement study or a soak."""
    return (path / HEAD).is_file()
