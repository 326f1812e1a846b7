"""Findings grouped by kind, as reports and the terminal list them."""

from collections.abc import Sequence

from hpcscope.findings.finding import Finding
from hpcscope.grouping import grouped

_SHOWN = 3
"""Number of findings of one kind and severity that are shown; the others are folded."""


def by_kind(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Group findings by severity and kind, in the order of the worst finding of each group."""
    return list(grouped(findings, lambda finding: (finding.severity, finding.code)).values())


def folded(findings: Sequence[Finding]) -> list[tuple[list[Finding], list[Finding]]]:
    """Return the findings of each group that are shown, and those that are folded; errors are never folded."""
    return [
        (alike, [])
        if alike[0].severity == "error" or len(alike) <= _SHOWN + 1
        else (alike[:_SHOWN], alike[_SHOWN:])
        for alike in by_kind(findings)
    ]
