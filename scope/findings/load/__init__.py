"""Kinds of findings about trunks under controlled load: one file each."""

from __future__ import annotations

from collections.abc import Sequence

from scope.findings import find
from scope.findings.finding import Finding
from scope.topology.loading import LoadedCut


def find_all(loaded: Sequence[LoadedCut]) -> list[Finding]:
    """Return the findings of all kinds, worst first."""
    return find.find_all(__name__, loaded)
