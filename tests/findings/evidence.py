"""What a finding says as data: its sentences may be worded otherwise at any time."""

from __future__ import annotations

import pytest

from hpcscope.findings.finding import Finding


def evident(finding: Finding, *expected: tuple[float | str, str], rel: float = 1e-3) -> None:
    """Check that each of these (value, unit) is in the evidence of a finding; of counts the unit is empty."""
    found = [(each.value, each.unit) for each in finding.evidence]
    missing = [
        (value, unit)
        for value, unit in expected
        if not any(unit == other and _alike(value, seen, rel) for seen, other in found)
    ]
    assert missing == [], found


def _alike(value: float | str, seen: float | str, rel: float) -> bool:
    return (
        seen == value if isinstance(value, str) or isinstance(seen, str) else seen == pytest.approx(value, rel=rel)
    )
