"""Equal stripes of rows on hosts of different speed: the fast ones wait."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.models.measurements import shared_processors
from hpcscope.models.scaling.dealing import Dealing
from hpcscope.names import FEW

LEAST_GAIN = 0.1
"""Least gain in time: equal hosts differ by less from run to run."""
ALIKE = 0.9
"""Speeds of equal hosts, the slowest over the fastest."""


def find(run: Run) -> list[Finding]:
    """Find for each benchmark the largest problem that would be certainly faster with rows dealt by speed.

    Where that was measured, its time decides; else the prediction.
    """
    worst: dict[str, Dealing] = {}
    for one in run.models.dealings:
        name = one.subject.benchmark
        if (
            _gain(one) > LEAST_GAIN
            and _unequal(one)
            and _of_their_own(one, run)
            and (name not in worst or _weight(one) > _weight(worst[name]))
        ):
            worst[name] = one
    return [_finding(one, run) for one in worst.values()]


def _gain(one: Dealing) -> float:
    """Return the share of the time that is gained: what was measured must be certain, whatever was predicted."""
    if one.measured_s is None:
        return 1 - one.predicted_s / one.time_s.value
    if one.measured_s.high is None or one.time_s.low is None:
        return 0.0
    return 1 - one.measured_s.high / one.time_s.low


def _unequal(one: Dealing) -> bool:
    speeds = [share.by_speed / share.even for share in one.shares]
    return min(speeds) < ALIKE * max(speeds)


def _of_their_own(one: Dealing, run: Run) -> bool:
    """Return whether every process had a processor: what shares one says nothing of its host.

    All hosts of a lab share the processors of one machine.
    """
    if run.shares_processors(one.subject):
        return False
    if one.origin != "emulated":
        return True
    processors = shared_processors(run.machine)
    return processors is None or one.subject.ranks <= processors


def _weight(one: Dealing) -> tuple[bool, float]:
    return one.measured_s is not None, one.time_s.value


def _finding(one: Dealing, run: Run) -> Finding:
    subject = one.subject
    name = run.benchmarks.described(subject.benchmark, subject.parameters)
    slowest = min(one.shares, key=lambda share: share.by_speed / share.even)
    evidence = [
        Evidence(what="time with equal stripes", value=one.time_s.value, unit="s"),
        Evidence(what="computation of the slowest rank", value=one.compute_s, unit="s"),
        Evidence(what="computation with rows dealt by speed, predicted", value=one.balanced_compute_s, unit="s"),
        Evidence(what="time with rows dealt by speed, predicted", value=one.predicted_s, unit="s"),
    ]
    if one.measured_s is not None:
        evidence.append(
            Evidence(what="time with rows dealt by speed, measured", value=one.measured_s.value, unit="s")
        )
    known = one.measured_s.value if one.measured_s is not None else one.predicted_s
    verb = "takes" if one.measured_s is not None else "would take"
    dealt = ", ".join(f"{share.host} {units.share(share.by_speed)}" for share in one.shares[:FEW])
    return Finding(
        code="rows-by-speed",
        severity="advice",
        title=(
            f"With rows dealt by the speed of the hosts, {name} on {subject.ranks} ranks {verb}"
            f" {units.quantity(known, 's')} instead of {units.quantity(one.time_s.value, 's')}"
        ),
        where={"benchmark": subject.benchmark, "ranks": subject.ranks, "host": slowest.host, "layer": "algorithm"},
        evidence=evidence,
        advice=f"Deal rows in the ratio of the speeds: {dealt}{', ...' if len(one.shares) > FEW else ''}. The case"
        f" with grid_rows={subject.ranks} dealing=by_speed measures the gain.",
        lost=1 - known / one.time_s.value,
    )
