"""The sources of findings about a run, and how findings cite them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from scope import units
from scope.catalog.benchmark import Benchmark
from scope.catalog.catalog import Catalog
from scope.findings.finding import Evidence
from scope.machine.machine import Host, Machine
from scope.models.measurements import Measurements
from scope.models.models import Models
from scope.plan.case import Case, Key
from scope.plan.plan import Plan
from scope.rundirectory import Run
from scope.samples.samples import Samples
from scope.statistics.course import Course
from scope.statistics.summary import Summary, headlines
from scope.topology.topology import Topology


@dataclass(frozen=True)
class Context:
    """Everything that is known about a run; findings have no other source."""

    run: Run
    samples: Samples
    course: Course
    """The states of the machine along the run."""
    summaries: list[Summary]
    models: Models
    machine: Machine
    catalog: Catalog
    plan: Plan | None = None
    """None for a run that has no plan, for example an imported one."""
    topology: Topology | None = None
    """The groups of hosts and their speeds, where the run was given them."""

    @cached_property
    def headlines(self) -> list[Summary]:
        """The valid summaries under their headline definition."""
        return headlines(self.summaries)

    @cached_property
    def measurements(self) -> Measurements:
        """The results as models see them."""
        return Measurements(self.summaries, self.machine, self.samples.launches, self.catalog)

    @property
    def mpi(self) -> str:
        """The family of the MPI library: `openmpi`, `mpich`, ...; empty where it is not known."""
        return self.machine.build.mpi.name if self.machine.build else ""

    def host(self, name: str) -> Host | None:
        """Return the facts of a host, by its name or the part before its first dot."""
        short = name.split(".")[0]
        return next((host for host in self.machine.hosts if host.name.split(".")[0] == short), None)

    def benchmark(self, case: Case) -> Benchmark:
        """Return the declaration of a case's benchmark."""
        return self.catalog[case.benchmark]

    def calls(self, case: Case, *routines: str) -> bool:
        """Return whether a case's benchmark represents one of the MPI routines, in any way of calling."""
        return any(one.routine in routines for one in self.benchmark(case).routines)

    def shares_processors(self, case: Case) -> bool:
        """Return whether the processes of a case outnumbered the processors of some host."""
        return self.measurements.is_oversubscribed(case)

    def evidence(self, *summaries: Summary) -> list[Evidence]:
        """Return the medians of summaries as evidence."""
        return [
            Evidence(
                what=f"{self.catalog.metric_label(one.metric, one.benchmark)} of {one.label}",
                value=one.median or 0.0,
                unit=one.unit,
            )
            for one in summaries
        ]


def one_of_each_case(summaries: Iterable[Summary]) -> list[Summary]:
    """Return the first summary of each case."""
    cases: dict[Key, Summary] = {}
    for summary in summaries:
        cases.setdefault(summary.key, summary)
    return list(cases.values())


def excess_of(one: Summary, other: Summary) -> float:
    """Return how much longer one takes than the other: 0.1 is 10 %."""
    return (one.median or 0.0) / (other.median or 1.0) - 1


def certainly_longer(one: Summary, other: Summary, at_least: float = 0.0) -> bool:
    """Return whether the interval of one lies above that of the other, and the medians so far apart."""
    if one.ci_low is None or other.ci_high is None:
        return False
    return one.ci_low > other.ci_high and excess_of(one, other) > at_least


def written(summary: Summary) -> str:
    """Write a summary's median for people, with its unit."""
    return units.quantity(summary.median, summary.unit)
