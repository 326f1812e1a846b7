"""Fewer than all cores of a host already take all the bandwidth of its memory."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from scope import units
from scope.findings.finding import Finding
from scope.findings.run.context import Context, figure, written
from scope.findings.run.measurement.oversubscription import crowded
from scope.models.fitting.ratios import Figure, ratio
from scope.statistics.summary import Summary

REACHED = 0.95
"""Share of the bandwidth of all cores from which on the memory is taken to be saturated."""
FEWER = 0.75
"""Share of the cores that must be enough: were bandwidth proportional, they would reach this share only."""
SHARED = 0.5
"""Share of its own bandwidth below which a core among all of them is starved."""


@dataclass(frozen=True)
class Scaling:
    """The triad in memory over numbers of cores, fewest first."""

    points: list[Summary]

    @property
    def whole(self) -> Summary:
        """All cores."""
        return self.points[-1]

    def enough(self) -> Summary | None:
        """Return the smallest number of cores that certainly reaches what all do; None if that is nearly all."""
        for point in self.points[:-1]:
            if point.ranks <= FEWER * self.whole.ranks and _low(share(point, self.whole)) >= REACHED:
                return point
        return None

    def per_core(self) -> Figure | None:
        """Return what a core among all gets of what one alone has; None where one alone was not measured."""
        alone = self.points[0]
        if alone.ranks != 1:
            return None
        both = share(self.whole, alone)
        p = self.whole.ranks
        return Figure(both.value / p, _over(both.low, p), _over(both.high, p))


def find(context: Context) -> list[Finding]:
    """Find hosts whose memory a part of their cores saturates; one finding for each kind of host."""
    found = []
    for scaling in _scalings(context):
        enough = scaling.enough()
        each = scaling.per_core()
        if enough is not None:
            found.append(_saturated(scaling, enough, each))
        elif each is not None and each.high is not None and each.high < SHARED:
            found.append(_starved(scaling, each))
    return found


def share(of: Summary, whole: Summary) -> Figure:
    """Return one rate over another, with its interval."""
    return ratio(_rate(of), _rate(whole))


def _scalings(context: Context) -> list[Scaling]:
    """Return the largest arrays of the triad, which must exceed every cache, for each placement."""
    caches = [cache.size_bytes for host in context.machine.hosts for cache in host.caches]
    crowds = crowded(context)
    groups: dict[str, list[Summary]] = defaultdict(list)
    for s in context.headlines:
        if (
            s.benchmark == "node.stream"
            and s.metric == "bandwidth_bytes_per_s"
            and s.parameters["kernel"] == "triad"
        ):
            in_memory = 3 * int(s.parameters["array_bytes"]) > max(caches, default=0)
            if in_memory and (s.ranks, s.transport, s.placement) not in crowds:
                groups[s.placement].append(s)
    scalings = []
    for group in groups.values():
        largest = max(int(s.parameters["array_bytes"]) for s in group)
        points = sorted((s for s in group if s.parameters["array_bytes"] == largest), key=lambda s: s.ranks)
        if len(points) > 1:
            scalings.append(Scaling(points))
    return scalings


def _saturated(scaling: Scaling, enough: Summary, each: Figure | None) -> Finding:
    cores, whole = enough.ranks, scaling.whole
    reached = share(enough, whole)
    return Finding(
        code="memory-saturated",
        severity="information",
        title=(
            f"{cores} of {whole.ranks} cores already take "
            f"{units.share(reached.value, reached.low, reached.high)} of the memory bandwidth of all "
            f"({written(whole)})"
        ),
        where={"layer": "node", "benchmark": "node.stream", "ranks": cores, "placement": whole.placement},
        evidence=[figure(point) for point in scaling.points],
        advice=(
            f"Programs that stream through memory gain nothing from more than {cores} of these cores: use the "
            "others for work in caches, or spread such programs over more hosts."
        ),
        lost=None if each is None else max(0.0, 1 - each.value),
    )


def _starved(scaling: Scaling, each: Figure) -> Finding:
    whole = scaling.whole
    return Finding(
        code="memory-shared",
        severity="information",
        title=(
            f"Each of {whole.ranks} cores gets {units.share(each.value, each.low, each.high)} of the memory "
            "bandwidth that one alone has"
        ),
        where={"layer": "node", "benchmark": "node.stream", "ranks": whole.ranks, "placement": whole.placement},
        evidence=[figure(point) for point in scaling.points],
        advice="`scope run node.stream --module standard` measures every number of cores and says how many are "
        "enough.",
        lost=1 - each.value,
    )


def _rate(summary: Summary) -> Figure:
    return Figure(summary.median or 0.0, summary.ci_low, summary.ci_high)


def _low(figure: Figure) -> float:
    return figure.value if figure.low is None else figure.low


def _over(value: float | None, divisor: int) -> float | None:
    return None if value is None else value / divisor
