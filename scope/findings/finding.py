"""The type of a finding."""

from __future__ import annotations

from typing import Literal

from scope.strict import Strict

Severity = Literal["error", "warning", "advice", "information"]
"""From worst: data wrong or missing; not to be trusted or much lost; worth a look; good to know."""


class Evidence(Strict):
    """One number that supports a finding."""

    what: str
    """The meaning of the number: a case's label and metric, or a fact about the machine."""
    value: float | str
    unit: str = ""


class Finding(Strict):
    """One thing that the measurement found, as data."""

    code: str
    """Stable name of the kind: `protocol-switch`, `oversubscription`."""
    severity: Severity
    title: str
    """One sentence with the figure in it."""
    where: dict[str, str | int | float]
    """The location: host, pair, layer, benchmark, message_bytes."""
    evidence: list[Evidence]
    advice: str
    lost: float | None = None
    """Share of the performance lost, where known; findings of one severity are sorted by it."""


class Findings(Strict):
    """`findings.json`."""

    format: int
    findings: list[Finding]
    """Worst first."""
