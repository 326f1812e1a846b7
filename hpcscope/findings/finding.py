"""The type of a finding."""

from typing import Literal

from hpcscope.strict import Strict

Severity = Literal["error", "warning", "advice", "information"]
"""From worst: data wrong or missing; not to be trusted or much lost; worth a look; good to know."""

About = Literal["cluster", "measurement"]
"""The cluster and the programs on it; or the measurement, and how far its figures can be trusted."""


class Evidence(Strict):
    """One number that supports a finding."""

    what: str
    """The meaning of the number: a case's label and metric, or a fact about the machine."""
    value: float | str
    unit: str = ""


class Trial(Strict):
    """A change of the MPI library's settings that may help, and the case on which a measurement decides."""

    environment: dict[str, str]
    """Variables that only the changed launches have."""
    case: str
    """As `scope run --case` reads it."""


class Finding(Strict):
    """One thing that the measurement found, as data."""

    code: str
    """Stable name of the kind: `protocol-switch`, `oversubscription`."""
    severity: Severity
    about: About = "cluster"
    cause: str = ""
    """What brings it about, such as `late starts`; findings of one cause are one. Empty: it stands alone."""
    title: str
    """One sentence with the figure in it."""
    also: list[str] = []
    """Titles of further findings of the same cause."""
    where: dict[str, str | int | float]
    """The location: host, pair, layer, benchmark, message_bytes."""
    evidence: list[Evidence]
    advice: str
    trials: list[Trial] = []
    """What the advice asks to try, for `scope run --try-advice`."""
    lost: float | None = None
    """Share of the performance lost in the case where it was found, where known."""
    at_stake: float | None = None
    """At most this share of the time of the programs of the run: what is lost, times what they spend on it."""


class Findings(Strict):
    """`findings.json`."""

    format: int
    findings: list[Finding]
    """Worst first: about the cluster, then about the measurement."""


def about(findings: list[Finding], what: About) -> list[Finding]:
    """Return the findings about one of the two."""
    return [finding for finding in findings if finding.about == what]
