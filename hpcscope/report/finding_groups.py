"""Findings grouped by kind, as reports list them."""

from collections.abc import Sequence
from dataclasses import dataclass

from hpcscope.findings.finding import Finding

_SHOWN = 3
"""Number of findings of one kind and severity that are shown; the others are folded."""


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one kind and severity, worst first: some shown, the others folded."""

    code: str
    shown: list[Finding]
    others: list[Finding]


def grouped(findings: Sequence[Finding]) -> list[FindingGroup]:
    """Group findings by severity and kind, in the order of the worst finding of each group."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.severity, finding.code), []).append(finding)
    return [
        FindingGroup(code, alike, [])
        if severity == "error" or len(alike) <= _SHOWN + 1
        else FindingGroup(code, alike[:_SHOWN], alike[_SHOWN:])
        for (severity, code), alike in found.items()
    ]
