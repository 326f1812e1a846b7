"""The sources of findings about a run, and how findings cite them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from scope import units
from scope.catalog.benchmark import Benchmark
from scope.catalog.catalog import Catalog
from scope.catalog.ranks import in_groups
from scope.findings.finding import Evidence
from scope.machine.machine import Host, Machine
from scope.models.measurements import Measurements, hosts_by_name, short_name, usable
from scope.models.models import Models
from scope.plan.case import Case, Key
from scope.plan.plan import Plan
from scope.rundirectory import RunRecord
from scope.samples.samples import Samples
from scope.simulation.record import Simulation
from scope.statistics.course import Course
from scope.statistics.ratio import chance, of_launches, ratio
from scope.statistics.summary import Summary, headlines
from scope.topology.topology import Topology

SIGNIFICANCE = 1 / 924
"""Of one comparison: as often two sets of six equal launches do not overlap, in this order."""


@dataclass(frozen=True)
class Context:
    """Everything that is known about a run; findings have no other source."""

    run: RunRecord
    samples: Samples
    course: Course
    """The states of the machine along the run."""
    summaries: list[Summary]
    models: Models
    machine: Machine
    catalog: Catalog
    plan: Plan | None = None
    """None for a run that has no plan, for example an imported one."""
    simulation: Simulation | None = None
    """Of a simulated run: how wrong its figures are."""
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
        return self._hosts.get(short_name(name))

    def usable(self, host: str) -> int | None:
        """Return how many processors the run may use on a host, by its name; None where that is not known."""
        return usable(self.host(host))

    @cached_property
    def _hosts(self) -> dict[str, Host]:
        return hosts_by_name(self.machine)

    def benchmark(self, case: Case) -> Benchmark:
        """Return the declaration of a case's benchmark."""
        return self.catalog[case.benchmark]

    def calls(self, case: Case, *routines: str) -> bool:
        """Return whether all ranks of a case call one of the MPI routines together, in any way of calling."""
        return not in_groups(case.parameters) and any(
            one.routine in routines for one in self.benchmark(case).routines
        )

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


def how_compared(one: Summary, other: Summary) -> Evidence:
    """Return whether two cases were compared launch by launch, as evidence."""
    launches = ratio(one.per_launch, other.per_launch).paired_launches if one.median and other.median else 0
    return Evidence(what="compared in", value=f"{launches} common launches" if launches else "different launches")


def one_of_each_case(summaries: Iterable[Summary]) -> list[Summary]:
    """Return the first summary of each case."""
    cases: dict[Key, Summary] = {}
    for summary in summaries:
        cases.setdefault(summary.key, summary)
    return list(cases.values())


def excess_of(one: Summary, other: Summary) -> float:
    """Return how much longer one takes than the other: 0.1 is 10 %. Launch by launch where they share launches."""
    return ratio(one.per_launch, other.per_launch).value - 1 if one.median and other.median else 0.0


def certainly_longer(one: Summary, other: Summary, at_least: float = 0.0) -> bool:
    """Return whether one certainly takes longer than the other, and by at least a share of its time.

    With equal times this happens once in a thousand comparisons: in common launches by the paired test of their
    ratios, in different ones because their intervals are disjoint.
    """
    if not one.median or not other.median:
        return False
    found = ratio(one.per_launch, other.per_launch)
    if found.paired_launches:
        longer = chance(of_launches(one.per_launch, other.per_launch)) < SIGNIFICANCE
    else:
        longer = one.ci_low is not None and other.ci_high is not None and one.ci_low > other.ci_high
    return longer and found.value - 1 > at_least


def written(summary: Summary) -> str:
    """Write a summary's median for people, with its unit."""
    return units.quantity(summary.median, summary.unit)
