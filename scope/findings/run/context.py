"""What a finding may look at, and how it names what it saw."""

from __future__ import annotations

from dataclasses import dataclass

from scope import units
from scope.build.registry import BenchmarkDescription
from scope.findings.finding import Evidence
from scope.machine.machine import Host, Machine
from scope.models.fit import Models
from scope.plan.plan import Plan
from scope.rundirectory import Run
from scope.samples.samples import CaseSamples, Samples
from scope.statistics.summary import Case, Summary
from scope.topology.topology import Topology


@dataclass(frozen=True)
class Context:
    """Everything that a run says; nothing else exists for a finding."""

    run: Run
    samples: Samples
    summaries: list[Summary]
    models: Models
    machine: Machine
    benchmarks: list[BenchmarkDescription]
    plan: Plan | None = None
    """What was to be run; None for a run that has no plan, for example an imported one."""
    topology: Topology | None = None
    """The groups of hosts and their speeds, where the run was given them."""

    @property
    def headlines(self) -> list[Summary]:
        """The valid summaries under their headline definition."""
        return [s for s in self.summaries if s.primary and s.valid and s.median is not None]

    @property
    def mpi(self) -> str:
        """Which MPI the run used: `openmpi`, `mpich`, ... or empty where it is not known."""
        return self.machine.build.mpi.name if self.machine.build else ""

    def host(self, name: str) -> Host | None:
        """Return the facts of a host, by its name or the part before its first dot."""
        short = name.split(".")[0]
        return next((host for host in self.machine.hosts if host.name.split(".")[0] == short), None)


def one_of_each_case(summaries: list[Summary]) -> list[Summary]:
    """Return the first summary of each case."""
    cases: dict[tuple[str, str], Summary] = {}
    for summary in summaries:
        cases.setdefault((summary.label, summary.placement), summary)
    return list(cases.values())


def label(case: CaseSamples) -> str:
    """Return what people read of a case, as its summaries do."""
    return Case(
        benchmark=case.benchmark,
        parameters=case.parameters,
        ranks=case.ranks,
        transport=case.transport,
        placement=case.placement,
    ).label


def figure(summary: Summary) -> Evidence:
    """Return a summary's median as evidence."""
    return Evidence(what=f"{summary.metric} of {summary.label}", value=summary.median or 0.0, unit=summary.unit)


def excess_of(one: Summary, other: Summary) -> float:
    """Return how much longer one takes than the other: 0.1 is 10 %."""
    return (one.median or 0.0) / (other.median or 1.0) - 1


def written(summary: Summary) -> str:
    """Write a summary's median for people, with its unit."""
    return units.quantity(summary.median, summary.unit)
