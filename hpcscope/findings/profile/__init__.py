"""Kinds of findings about a monitored program: one file each."""

from hpcscope.findings import find
from hpcscope.findings.finding import Finding
from hpcscope.findings.profile.facts import ProfileFacts


def find_all(facts: ProfileFacts) -> list[Finding]:
    """Return the findings of all kinds, worst first; of lost time only where the run was long enough."""
    findings = find.find_all(__name__, facts)
    return findings if facts.long_enough else [finding for finding in findings if finding.lost is None]
