"""Cases of algorithms and applications as findings look at them: all metrics together, a processor per rank."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from scope.findings.finding import Evidence
from scope.findings.run.context import Context
from scope.findings.run.measurement.oversubscription import crowded
from scope.models.fit import Bounds
from scope.models.scaling.speedup import SIZES, size_of
from scope.samples.records import Value
from scope.statistics.summary import Summary


@dataclass(frozen=True)
class AlgorithmCase:
    """One case of an algorithm, with its headline figures by metric."""

    total: Summary
    figures: dict[str, Summary]

    @property
    def size(self) -> int:
        """Order of the matrix or grid, or elements."""
        return size_of(self.total.parameters) or 0

    @property
    def kind(self) -> tuple[tuple[str, Value], ...]:
        """What was chosen, but for size and grid."""
        return tuple(sorted((k, v) for k, v in self.total.parameters.items() if k not in (*SIZES, "rows")))

    def seconds(self, metric: str) -> float:
        """Return a median; 0 where it was not observed."""
        found = self.figures.get(metric)
        return found.median or 0.0 if found else 0.0

    def certainly_exceeds(self, metric: str, other: str) -> bool:
        """Say whether the interval of one metric lies above that of another."""
        one, two = self.figures.get(metric), self.figures.get(other)
        return bool(
            one and two and one.ci_low is not None and two.ci_high is not None and one.ci_low > two.ci_high
        )

    def evidence(self, *metrics: str) -> list[Evidence]:
        """Return medians as evidence."""
        return [
            Evidence(what=f"{name} of {self.total.label}", value=self.seconds(name), unit=self.figures[name].unit)
            for name in metrics
            if name in self.figures
        ]


def algorithm_cases(context: Context) -> list[AlgorithmCase]:
    """Return the cases of all algorithms that have a time, but for those with more processes than processors."""
    return _cases(context, "algorithm.")


def application_cases(context: Context) -> list[AlgorithmCase]:
    """Return the same of all applications."""
    return _cases(context, "application.")


def _cases(context: Context, level: str) -> list[AlgorithmCase]:
    crowds = crowded(context)
    groups: dict[tuple[object, ...], dict[str, Summary]] = defaultdict(dict)
    for one in context.headlines:
        if one.benchmark.startswith(level) and (one.ranks, one.transport, one.placement) not in crowds:
            key = (one.label, one.placement, one.origin)
            groups[key][one.metric] = one
    return [AlgorithmCase(group["time_s"], group) for group in groups.values() if "time_s" in group]


def words(kind: tuple[tuple[str, Value], ...]) -> str:
    """Write what was chosen: `variant=plain`."""
    return " ".join(f"{name}={value}" for name, value in kind)


def written(bounds: Bounds, digits: int = 0) -> str:
    """Write a count with its interval."""
    if bounds.low is None or bounds.high is None:
        return f"{bounds.value:.{digits}f}"
    return f"{bounds.value:.{digits}f} [{bounds.low:.{digits}f}, {bounds.high:.{digits}f}]"
