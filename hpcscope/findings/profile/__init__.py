"""Kinds of findings about a monitored program: one file each."""

from __future__ import annotations

from hpcscope.findings import find
from hpcscope.findings.finding import Finding
from hpcscope.findings.profile.facts import ProfileFacts


def find_all(facts: ProfileFacts) -> list[Finding]:
    """Return the findings of all kinds, worst first; of lost time only where the run was long enough."""
    found = find.find_all(__name__, facts)
    return found if facts.long_enough else [one for one in found if one.lost is None]
