"""Kinds of findings about a measured run: one file each, in a package for the layer that they are about."""

from __future__ import annotations

from scope.findings import find
from scope.findings.finding import Finding
from scope.findings.run.context import Context


def find_all(context: Context) -> list[Finding]:
    """Return the findings of all kinds, worst first."""
    return find.find_all(__name__, context)
