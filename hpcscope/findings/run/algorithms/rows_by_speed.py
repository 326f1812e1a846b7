"""Equal row stripes on hosts of different speeds: the fast hosts wait."""

from collections.abc import Sequence

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.models.scaling.dealing import Dealing
from hpcscope.names import FEW

LEAST_GAIN = 0.1
"""Least gain in time: between equal hosts, times differ by less from run to run."""
ALIKE = 0.9
"""Least ratio of the slowest to the fastest speed among hosts that count as equal."""


def find(run: Run) -> list[Finding]:
    """Find for each benchmark the largest problem that rows by host speed make faster at 95 % confidence.

    If that was measured, the measured time decides; otherwise the prediction does.
    """
    faster = [
        dealing
        for dealing in run.models.dealings
        if _gain(dealing) > LEAST_GAIN
        and _unequal(dealing)
        and run.computes_undisturbed(dealing.subject)
        and (dealing.measured_s is not None or _others_agree(dealing, run.models.dealings))
    ]
    worst = largest_of_each(
        faster, lambda one: one.subject.benchmark, lambda one: (one.measured_s is not None, one.time_s.value)
    )
    return [_finding(dealing, run) for dealing in worst]


def _gain(one: Dealing) -> float:
    """Return the fraction of time saved at 95 % confidence, measured, else predicted; 0 without an interval."""
    if one.time_s.low is None:
        return 0.0
    if one.measured_s is None:
        return 1 - one.predicted_s / one.time_s.low
    return 1 - one.measured_s.high / one.time_s.low if one.measured_s.high is not None else 0.0


def _unequal(one: Dealing) -> bool:
    speeds = [share.by_speed / share.even for share in one.shares]
    return min(speeds) < ALIKE * max(speeds)


def _others_agree(one: Dealing, dealings: Sequence[Dealing]) -> bool:
    """Return whether every program on these hosts found the same host slow; if not, it was slow only briefly."""
    hosts = {share.host for share in one.shares}
    same = [other for other in dealings if {share.host for share in other.shares} == hosts]
    return all(_unequal(other) and _slowest(other) == _slowest(one) for other in same)


def _slowest(one: Dealing) -> str:
    return min(one.shares, key=lambda share: share.by_speed / share.even).host


def _finding(one: Dealing, run: Run) -> Finding:
    subject = one.subject
    name = run.benchmarks.described(subject.benchmark, subject.parameters)
    evidence = [
        Evidence(what="time with equal stripes", value=one.time_s.value, unit="s"),
        Evidence(what="computation of the slowest rank", value=one.compute_s, unit="s"),
        Evidence(what="predicted computation, rows proportional to speed", value=one.balanced_compute_s, unit="s"),
        Evidence(what="predicted time, rows proportional to speed", value=one.predicted_s, unit="s"),
    ]
    if one.measured_s is not None:
        evidence.append(
            Evidence(what="measured time, rows proportional to speed", value=one.measured_s.value, unit="s")
        )
    known = one.measured_s.value if one.measured_s is not None else one.predicted_s
    verb = "takes" if one.measured_s is not None else "would take"
    dealt = ", ".join(f"{share.host} {units.share(share.by_speed)}" for share in one.shares[:FEW])
    return Finding(
        code="rows-by-speed",
        severity="advice",
        title=(
            f"With rows distributed in proportion to host speed, {name} on {subject.ranks} ranks {verb}"
            f" {units.quantity(known, 's')} instead of {units.quantity(one.time_s.value, 's')}"
        ),
        where={
            "benchmark": subject.benchmark,
            "ranks": subject.ranks,
            "host": _slowest(one),
            "layer": "algorithm",
        },
        evidence=evidence,
        advice=f"Distribute rows in proportion to speed: {dealt}{', ...' if len(one.shares) > FEW else ''}. To"
        f" measure the gain, run the case with grid_rows={subject.ranks} dealing=by_speed.",
        lost=1 - known / one.time_s.value,
    )
