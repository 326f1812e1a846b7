"""Cases of algorithms and applications in the form that findings need: all metrics of a case together."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from hpcscope.catalog.benchmark import Value
from hpcscope.findings.finding import Evidence
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import certainly_longer
from hpcscope.samples.samples import SamplesKey
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary


@dataclass(frozen=True)
class ProgramCase:
    """One case of an algorithm or application, with its headline results by metric."""

    run: Run
    total: Summary
    """The total time."""
    figures: Mapping[str, Summary]

    @property
    def size(self) -> int:
        """The problem size; 0 if it is not a number, such as an NPB class."""
        return self.run.measurements.size(self.total)

    @property
    def kind(self) -> tuple[tuple[str, Value], ...]:
        """All parameters except a numeric size and the extents of the process grid."""
        catalog, total = self.run.benchmarks, self.total
        left_out = set(catalog.grid(total.benchmark, total.parameters))
        if catalog.size(total.benchmark, total.parameters) is not None:
            left_out |= set(catalog.of_role(total.benchmark, total.parameters, "size"))
        return tuple(sorted((k, v) for k, v in total.parameters.items() if k not in left_out))

    def apart(self) -> tuple[object, ...]:
        """Return what distinguishes this case, except size and number of ranks."""
        return self.total.benchmark, self.kind, self.total.transport, self.total.placement

    @property
    def name(self) -> str:
        """The display name, without the ranks: `Cannon's algorithm, N = 360`."""
        return self.run.benchmarks.described(self.total.benchmark, self.total.parameters)

    def seconds(self, metric: str) -> float:
        """Return the median of a metric; 0 if it was not observed."""
        case = self.figures.get(metric)
        return case.median or 0.0 if case else 0.0

    def certainly_exceeds(self, metric: str, other: str) -> bool:
        """Return whether one metric takes significantly longer than another."""
        case, two = self.figures.get(metric), self.figures.get(other)
        return case is not None and two is not None and certainly_longer(case, two)

    def evidence(self, *metrics: str) -> list[Evidence]:
        """Return the medians of metrics as evidence."""
        return self.run.evidence(*(self.figures[name] for name in metrics if name in self.figures))

    @property
    def where(self) -> dict[str, str | int | float]:
        """The location of a finding: benchmark, size, ranks, transport and layer."""
        size: dict[str, str | int | float] = {"size": self.size} if self.size else {}
        return {
            "benchmark": self.total.benchmark,
            **size,
            "ranks": self.total.ranks,
            "transport": self.total.transport,
            "layer": self.run.benchmarks[self.total.benchmark].level,
        }


def algorithm_cases(run: Run) -> list[ProgramCase]:
    """Return the cases of all algorithms that have a time, except cases whose ranks shared processors."""
    return _cases(run, "algorithm")


def application_cases(run: Run) -> list[ProgramCase]:
    """Return the cases of all applications that have a time, except cases whose ranks shared processors."""
    return _cases(run, "application")


def _cases(run: Run, level: str) -> list[ProgramCase]:
    times = {
        benchmark.name: run.benchmarks.time_metric(benchmark.name)
        for benchmark in run.benchmarks
        if benchmark.level == level
    }
    groups: dict[SamplesKey, dict[str, Summary]] = defaultdict(dict)
    for case in run.headlines:
        if case.benchmark in times and run.computes_undisturbed(case):
            groups[case.samples_key][case.metric] = case
    found = [(times[next(iter(group.values())).benchmark] or "", group) for group in groups.values()]
    return [ProgramCase(run, group[time], group) for time, group in found if time in group]


def written(estimate: Estimate, digits: int = 0) -> str:
    """Write a count with its interval."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.{digits}f}"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
