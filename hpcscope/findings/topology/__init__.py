"""Kinds of findings about a topology: one file each."""

from hpcscope.findings import find
from hpcscope.findings.finding import Finding
from hpcscope.findings.topology.facts import TopologyFacts


def find_all(facts: TopologyFacts) -> list[Finding]:
    """Return the findings of all kinds, worst first."""
    return find.find_all(__name__, facts)
