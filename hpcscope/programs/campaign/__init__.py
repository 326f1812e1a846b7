"""Many runs of a program: studies over parameters, rank counts and placements, and their joint analysis."""

from pathlib import Path

HEAD = "campaign.json"
"""The file that marks the directory of a campaign."""


def is_campaign(path: Path) -> bool:
    """Return whether a directory belongs to a campaign, a placement study or a soak."""
    return (path / HEAD).is_file()
