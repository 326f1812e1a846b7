"""Some of a host's cores already saturate its memory."""

from collections import defaultdict
from dataclasses import dataclass
from math import inf

from hpcscope.findings.finding import Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import written
from hpcscope.plan.placement import Placement
from hpcscope.statistics.estimate import Estimate, in_percent
from hpcscope.statistics.ratio import ratio
from hpcscope.statistics.summary import Summary

STREAM = "node.stream"
FROM_MEMORY = "node.stream_memory"
REACHED = 0.95
"""Fraction of the bandwidth of all cores at or above which the memory counts as saturated."""
FEWER = 0.75
"""Largest fraction of the cores that may suffice; if bandwidth scaled, they would reach only this fraction."""
SHARED = 0.5
"""With all cores busy, a core below this fraction of its own bandwidth is starved."""


@dataclass(frozen=True)
class Scaling:
    """The triad from memory over the number of cores, fewest first."""

    points: list[Summary]

    @property
    def whole(self) -> Summary:
        """The triad on all cores."""
        return self.points[-1]

    def enough(self) -> Summary | None:
        """Return the fewest cores that saturate the memory at 95 % confidence; None if that is nearly all."""
        for point in self.points[:-1]:
            if point.ranks <= FEWER * self.whole.ranks and share(point, self.whole).bounds[0] >= REACHED:
                return point
        return None

    def per_core(self) -> Estimate | None:
        """Return the fraction of its own bandwidth that a core gets with all cores busy; None if not measured."""
        case = self.points[0]
        return share(self.whole, case).scaled(1 / self.whole.ranks) if case.ranks == 1 else None


def find(run: Run) -> Found:
    """Find hosts whose memory some of their cores saturate; one finding for each kind of host."""
    for scaling in _scalings(run):
        enough = scaling.enough()
        estimate = scaling.per_core()
        if enough is not None:
            yield _saturated(run, scaling, enough, estimate)
        elif estimate is not None and estimate.high is not None and estimate.high < SHARED:
            yield _starved(run, scaling, estimate)


def share(of: Summary, whole: Summary) -> Estimate:
    """Return one rate over another, with its interval."""
    return ratio(of.per_launch, whole.per_launch)


def _scalings(run: Run) -> list[Scaling]:
    """Return the triad from memory for each placement: with arrays by STREAM's rule, else with the largest arrays.

    The baseline follows STREAM's rule only on several ranks: on one rank it would take seconds.
    """
    caches = [cache.size_bytes for host in run.machine.hosts for cache in host.caches]
    sizes: dict[Placement, dict[float, list[Summary]]] = defaultdict(lambda: defaultdict(list))
    for benchmark in (STREAM, FROM_MEMORY):
        for s in run.measurements.of(benchmark, "bandwidth_bytes_per_s", {"kernel": "triad"}):
            if _array_bytes(s) * 3 > max(caches, default=0) and run.computes_undisturbed(s):
                sizes[s.placement][_array_bytes(s)].append(s)
    scalings = []
    for groups in sizes.values():
        several = [size for size, points in groups.items() if len(points) > 1]
        if several:
            scalings.append(Scaling(sorted(groups[max(several)], key=lambda s: s.ranks)))
    return scalings


def _array_bytes(s: Summary) -> float:
    return float(s.parameters["array_bytes"]) if s.benchmark == STREAM else inf


def _saturated(run: Run, scaling: Scaling, enough: Summary, estimate: Estimate | None) -> Finding:
    cores, whole = enough.ranks, scaling.whole
    reached = share(enough, whole)
    return Finding(
        code="memory-saturated",
        severity="information",
        title=(
            f"{cores} of {whole.ranks} cores already reach {in_percent(reached)} of the memory bandwidth of all "
            f"cores ({written(whole)})"
        ),
        where=_where(whole, cores),
        evidence=run.evidence(*scaling.points),
        advice=(
            f"Programs limited by memory bandwidth gain nothing from more than {cores} of these cores. Use the "
            "other cores for work that fits in caches, or spread such programs over more hosts."
        ),
        lost=None if estimate is None else max(0.0, 1 - estimate.value),
    )


def _where(case: Summary, ranks: int) -> dict[str, str | int | float]:
    return {"layer": "node", "benchmark": case.benchmark, "ranks": ranks, "placement": str(case.placement)}


def _starved(run: Run, scaling: Scaling, estimate: Estimate) -> Finding:
    whole = scaling.whole
    return Finding(
        code="memory-shared",
        severity="information",
        title=(
            f"With all {whole.ranks} cores streaming, each gets {in_percent(estimate)} of "
            "the memory bandwidth of a single core"
        ),
        where=_where(whole, whole.ranks),
        evidence=run.evidence(*scaling.points),
        advice="`scope run node.stream --module standard` measures every number of cores and shows how many "
        "suffice.",
        lost=1 - estimate.value,
    )
