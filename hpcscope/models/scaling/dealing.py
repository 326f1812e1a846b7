"""How rows of a matrix are distributed to slow and fast hosts: predicted from equal stripes, and measured.

Each of p ranks computes 1/p of the product in c_i seconds, so its speed is 1 / (p c_i). With shares in proportion
to speed, all ranks finish together, after the harmonic mean of all c_i. The total time is shorter by the
difference from the largest c_i, for which the other ranks had waited (Kalinov & Lastovetsky 2001, Heterogeneous
distribution of computations solving linear algebra problems on networks of heterogeneous computers, J. Parallel
and Distributed Computing 61, 520-535).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from hpcscope.catalog.benchmark import Value
from hpcscope.models.measurements import Measurements
from hpcscope.models.scaling.phases_by_rank import PhasesByRank
from hpcscope.models.scaling.speedup import totals
from hpcscope.plan.case import Case
from hpcscope.samples.records import LaunchRecord, Origin
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

DEALING, EVEN, BY_SPEED = "dealing", "even", "by_speed"
"""The parameter, and its values."""


class HostShare(Strict):
    """The fraction of all rows that one host gets."""

    host: str
    even: float
    by_speed: float


class Dealing(Strict):
    """A program with equal row stripes, and the effect of distributing its rows by speed."""

    subject: Case
    """The case with equal stripes."""
    origin: Origin
    shares: list[HostShare]
    """In the order of the hosts' first ranks."""
    compute_s: float
    """Computing time of the slowest rank."""
    balanced_compute_s: float
    """Computing time of every rank, with rows distributed by speed."""
    time_s: Estimate
    predicted_s: float
    measured_s: Estimate | None
    """The measured time with rows distributed by speed; None if that was not measured."""
    error: float | None
    """The predicted time over the measured one, minus 1; None without a measured time."""


def dealings(
    phases: Iterable[PhasesByRank], measurements: Measurements, launches: Sequence[LaunchRecord]
) -> list[Dealing]:
    """Return each case with equal stripes on several hosts."""
    times = totals(measurements)
    hosts = _hosts(launches)
    found = [_dealing(rank, times, hosts.get((rank.subject.batch, rank.origin), [])) for rank in phases]
    return [model for model in found if model is not None]


def _hosts(launches: Sequence[LaunchRecord]) -> dict[object, list[str]]:
    """Return the host of each rank; an empty list if launches placed the ranks differently."""
    hosts: dict[object, list[str]] = {}
    for launch in launches:
        placed = [process.host for process in sorted(launch.processes, key=lambda one: one.rank)]
        key = launch.batch, launch.origin
        hosts[key] = placed if hosts.setdefault(key, placed) == placed else []
    return hosts


def _dealing(rank: PhasesByRank, times: Sequence[Summary], hosts: Sequence[str]) -> Dealing | None:
    subject, computed_s = rank.subject, rank.phases_s.get("compute_s", [])
    even = next((s for s in times if s.key == subject.key and s.origin == rank.origin), None)
    if (
        even is None
        or subject.parameters.get(DEALING) != EVEN
        or len(set(hosts)) < 2
        or not len(hosts) == len(computed_s) == subject.ranks
        or min(computed_s) <= 0
    ):
        return None
    speeds = [1 / (subject.ranks * seconds) for seconds in computed_s]
    balanced_s = 1 / sum(speeds)
    counts: dict[str, list[float]] = defaultdict(list)
    for host, speed in zip(hosts, speeds, strict=True):
        counts[host].append(speed)
    predicted_s = even.estimate.value - (max(computed_s) - balanced_s)
    measured = _by_speed(even, times)
    return Dealing(
        subject=subject,
        origin=rank.origin,
        shares=[
            HostShare(host=host, even=len(each) / subject.ranks, by_speed=sum(each) * balanced_s)
            for host, each in counts.items()
        ],
        compute_s=max(computed_s),
        balanced_compute_s=balanced_s,
        time_s=even.estimate,
        predicted_s=predicted_s,
        measured_s=measured.estimate if measured else None,
        error=predicted_s / measured.estimate.value - 1 if measured else None,
    )


def _by_speed(even: Summary, times: Sequence[Summary]) -> Summary | None:
    """Return the fastest case that differs only in the distribution of its rows, and in its grid."""
    wanted = _others(even.parameters)
    same = [
        case
        for case in times
        if (case.benchmark, case.batch, case.origin) == (even.benchmark, even.batch, even.origin)
        and case.parameters.get(DEALING) == BY_SPEED
        and _others(case.parameters) == wanted
    ]
    return min(same, key=lambda summary: summary.estimate.value, default=None)


def _others(parameters: dict[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in parameters.items() if name not in (DEALING, "grid_rows")}
