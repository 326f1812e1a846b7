"""Kinds of findings about trunks under controlled load: one file each."""

from collections.abc import Sequence

from hpcscope.findings import find
from hpcscope.findings.finding import Finding
from hpcscope.topology.loading import LoadedCut


def find_all(loaded: Sequence[LoadedCut]) -> list[Finding]:
    """Return the findings of all kinds, worst first."""
    return find.find_all(__name__, loaded)
