"""The type of a finding."""

from collections.abc import Iterator
from typing import Literal

from hpcscope.strict import Strict

Severity = Literal["error", "warning", "advice", "information"]
"""Worst first: data wrong or missing; untrustworthy, or much is lost; worth a look; good to know."""

About = Literal["cluster", "measurement"]
"""The cluster and the programs on it; or the measurement, and how far its results can be trusted."""


class Evidence(Strict):
    """One number that supports a finding."""

    what: str
    """The meaning of the number: a case's label and metric, or a fact about the machine."""
    value: float | str
    unit: str = ""


class Trial(Strict):
    """A change of the MPI library's settings that may help, and the case on which a measurement decides."""

    environment: dict[str, str]
    """Variables that are set only in the changed launches."""
    case: str
    """The case, in the form that `scope run --case` reads."""


class Finding(Strict):
    """One thing that the measurement found, as data."""

    code: str
    """Stable name of the kind: `protocol-switch`, `oversubscription`."""
    severity: Severity
    about: About = "cluster"
    cause: str = ""
    """The cause, such as `late starts`; findings with the same cause are merged. Empty: never merged."""
    title: str
    """One sentence that contains the value."""
    also: list[str] = []
    """Titles of further findings with the same cause."""
    where: dict[str, str | int | float]
    """The location: host, pair, layer, benchmark, message_bytes."""
    evidence: list[Evidence]
    advice: str
    trials: list[Trial] = []
    """Trials of what the advice suggests, for `scope run --try-advice`."""
    lost: float | None = None
    """Fraction of the performance that is lost in the case of the finding; None if it is not known."""
    at_stake: float | None = None
    """Upper bound on the lost fraction of the programs' time: `lost` times the fraction that they spend on it."""


Found = Iterator[Finding]
"""What a kind of finding yields."""


class Findings(Strict):
    """`findings.json`."""

    format: int
    findings: list[Finding]
    """Worst first: the findings about the cluster, then those about the measurement."""


def about(findings: list[Finding], what: About) -> list[Finding]:
    """Return the findings about the cluster, or those about the measurement."""
    return [finding for finding in findings if finding.about == what]
