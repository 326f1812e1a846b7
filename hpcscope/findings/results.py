"""A run as every part of Scope sees it; each of its parts is read when first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpcscope.catalog.benchmark import Benchmark, Definition, Value
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.catalog.ranks import in_groups
from hpcscope.errors import UsageError
from hpcscope.findings.finding import Evidence, Finding, Findings
from hpcscope.launch.supervision.journal import Journal
from hpcscope.machine.machine import Host, Machine
from hpcscope.models.measurements import Measurements, finder, shared_processors, usable
from hpcscope.plan.case import Case
from hpcscope.plan.plan import Plan
from hpcscope.plan.plan import read as read_plan
from hpcscope.rundirectory import RunDirectory, RunFile, not_a_run, read_json, read_text
from hpcscope.samples.reader import read as read_samples
from hpcscope.samples.samples import Samples
from hpcscope.simulation.record import Simulation
from hpcscope.simulation.record import read as read_simulation
from hpcscope.statistics.case_times import CaseTimes, launch_times
from hpcscope.statistics.course import Course, course_of
from hpcscope.statistics.selection import BATCH, DEFAULTS, Statistics, chosen, matches
from hpcscope.statistics.summarise import read_statistics, summarise
from hpcscope.statistics.summary import Summaries, Summary, headlines
from hpcscope.topology.topology import Topology
from hpcscope.topology.topology import read as read_topology

if TYPE_CHECKING:
    from hpcscope.models.models import Models

PARTS = (
    *("record", "experiment", "machine", "benchmarks", "plan", "simulation", "topology", "unchanged"),
    *("raw_samples", "course", "statistics", "models", "findings"),
)
"""The parts of a run from which everything else follows."""


class Run:
    """A run directory: its samples, and everything that was derived from them.

    Raises UsageError naming the file, key and value if a file is missing or wrong.
    """

    def __init__(self, path: Path | str, **known: Any) -> None:
        """Open a run directory; parts passed in `known` under their names are not read from files."""
        self.directory = RunDirectory(Path(path))
        if not self.directory.run.is_file():
            raise not_a_run(self.path)
        self.__dict__.update(known)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def replaced(self, **parts: Any) -> Run:
        """Return the same run with some parts replaced, such as `machine` or `statistics`."""
        kept = {name: part for name, part in vars(self).items() if name in PARTS}
        if "statistics" in parts:
            parts["statistics"] = Statistics(parts["statistics"])
        return Run(self.path, **(kept | parts))

    @property
    def path(self) -> Path:
        """The path of the run directory."""
        return self.directory.path

    @cached_property
    def record(self) -> RunFile:
        """The request, its time, and how the run ended."""
        return read_json(self.directory.run, RunFile)

    @cached_property
    def experiment(self) -> str:
        """The text of experiment.toml; empty if there is none."""
        return read_text(self.directory.experiment) if self.directory.experiment.exists() else ""

    @cached_property
    def well(self) -> bool:
        """Whether no case failed, crashed or timed out."""
        return not Journal.read_only(self.directory).failed

    @cached_property
    def machine(self) -> Machine:
        """The hosts, the MPI and the native program."""
        return read_json(self.directory.machine, Machine)

    @cached_property
    def benchmarks(self) -> Catalog:
        """The declarations of the benchmarks: parameters, metrics, units, definitions."""
        return read_catalog(self.directory.benchmarks)

    @cached_property
    def plan(self) -> Plan | None:
        """The planned launches; None for a run without a plan, for example an imported one."""
        return read_plan(self.directory.plan) if self.directory.plan.exists() else None

    @cached_property
    def simulation(self) -> Simulation | None:
        """The record of the simulation, with the errors of its results; None for a measured run."""
        return read_simulation(self.directory)

    @cached_property
    def unchanged(self) -> Statistics:
        """Simulated results of the same cases on the unchanged platform; empty unless a changed one was used."""
        known = self.directory.unchanged.is_dir()
        return Statistics(read_statistics(self.directory.unchanged).summaries if known else [])

    @cached_property
    def topology(self) -> Topology | None:
        """The groups of hosts and their speeds; None if the run was not given a topology."""
        return read_topology(self.directory.topology) if self.directory.topology.exists() else None

    @cached_property
    def raw_samples(self) -> Samples:
        """All samples of all cases and launches."""
        return read_samples(self.path, self.benchmarks, self.plan)

    @cached_property
    def _statistics_file(self) -> Summaries:
        return read_statistics(self.path)

    @cached_property
    def course(self) -> Course:
        """The states of the machine during the run."""
        return self._statistics_file.course

    @cached_property
    def statistics(self) -> Statistics:
        """The median of every case and metric with its 95 % interval, and further statistics."""
        return Statistics(self._statistics_file.summaries)

    @cached_property
    def models(self) -> Models:
        """Fits, ladders, speedups and predictions."""
        from hpcscope.models.models import Models  # loads every model, which tables do without

        return read_json(self.directory.models, Models)

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings, worst first."""
        return read_json(self.directory.findings, Findings).findings

    @cached_property
    def headlines(self) -> list[Summary]:
        """The valid results under the headline definitions of their metrics."""
        return headlines(self.statistics)

    @cached_property
    def measurements(self) -> Measurements:
        """The results as models see them."""
        return Measurements(self.statistics, self.machine, self.raw_samples.launches, self.benchmarks)

    @property
    def mpi(self) -> str:
        """The family of the MPI library: `openmpi`, `mpich`, ...; empty if it is not known."""
        return self.machine.build.mpi.name if self.machine.build else ""

    def host(self, name: str) -> Host | None:
        """Return the facts about a host, by its name with or without its domain."""
        return self._finder(name)

    @cached_property
    def _finder(self) -> Callable[[str], Host | None]:
        return finder(self.machine)

    def usable(self, host: str) -> int | None:
        """Return how many processors the run may use on a host, by the host's name; None if that is not known."""
        return usable(self.host(host))

    def benchmark(self, case: Case) -> Benchmark:
        """Return the declaration of a case's benchmark."""
        return self.benchmarks[case.benchmark]

    def calls(self, case: Case, *routines: str) -> bool:
        """Return whether all ranks of a case call one of these MPI routines together, in any form of the call."""
        return not in_groups(case.parameters) and any(
            called.routine in routines for called in self.benchmark(case).routines
        )

    def shares_processors(self, case: Case) -> bool:
        """Return whether a case had more ranks than processors on some host."""
        return self.measurements.is_oversubscribed(case)

    def computes_undisturbed(self, case: Case) -> bool:
        """Return whether each rank of a case had its own processor; all hosts of a lab share one machine's."""
        room = shared_processors(self.machine) if self.machine.lab else None
        return not self.shares_processors(case) and (room is None or case.ranks <= room)

    def evidence(self, *summaries: Summary) -> list[Evidence]:
        """Return the medians of summaries as evidence."""
        return [
            Evidence(
                what=f"{self.benchmarks.metric_label(summary.metric, summary.benchmark)} of {summary.label}",
                value=summary.median or 0.0,
                unit=summary.unit,
            )
            for summary in summaries
        ]

    def cases(self, benchmark: str | None = None, **choices: Value) -> list[Case]:
        """Return the cases of a benchmark that have these parameters, ranks, transport and placement."""
        cases = {visit.case.key: visit.case for visit in self.raw_samples.cases}
        return [case for case in cases.values() if benchmark in (None, case.benchmark) and matches(case, choices)]

    def samples(self, benchmark: str, *, definition: Definition | None = None, **choices: Value) -> CaseTimes:
        """Return the times of the one case that matches these choices.

        `choices`: parameters of the benchmark, ranks, transport, placement. If several cases match, parameters
        that are not named have their defaults. `definition`: definition of time; None takes the benchmark's
        headline definition. Raises UsageError naming the parameters that still differ if several cases match, or
        listing the existing cases if none matches.
        """
        case = self._single_case(benchmark, choices)
        asked = definition or self._headline(benchmark)
        launches = [
            launch
            for visit in self.raw_samples.cases
            if visit.case.key == case.key and (launch := launch_times(visit, asked)) is not None
        ]
        if not launches:
            raise UsageError(f"{self.path}: {case.label}: has no times by the definition {asked}")
        return CaseTimes(case, "s", asked, launches)

    def _headline(self, benchmark: str) -> Definition:
        metrics = self.benchmarks[benchmark].metrics
        return next(
            (metric.definition for metric in metrics if metric.quantity != "observed"), metrics[0].definition
        )

    def _single_case(self, benchmark: str, choices: Mapping[str, Value]) -> Case:
        cases_left = self._with_defaults(benchmark, self.cases(benchmark, **choices), choices)
        if len(cases_left) == 1:
            return cases_left[0]
        if not cases_left:
            there = "; ".join(case.label for case in self.cases(benchmark)[:8]) or "none of this benchmark"
            asked = " ".join([benchmark, *(f"{key}={value}" for key, value in choices.items())])
            raise UsageError(f"{self.path}: no case {asked}; there are: {there}")
        values = {
            name: {str(chosen(case, name)) for case in cases_left} for name in (*cases_left[0].parameters, *BATCH)
        }
        open_choices = ", ".join(
            f"{name}={'|'.join(sorted(each))}" for name, each in values.items() if len(each) > 1
        )
        raise UsageError(f"{self.path}: {len(cases_left)} cases of {benchmark}: choose one by {open_choices}")

    def _with_defaults(self, benchmark: str, cases: list[Case], choices: Mapping[str, Value]) -> list[Case]:
        """Return the cases in which every parameter that was not chosen has its default, if any case has it."""
        declared = {parameter.name: parameter.default for parameter in self.benchmarks[benchmark].parameters}
        for name, default in {**declared, **DEFAULTS}.items():
            if name not in choices:
                cases = [case for case in cases if chosen(case, name) == default] or cases
        return cases


def derived(path: Path) -> Run:
    """Return a run whose statistics and models are recomputed from its samples, whatever its files contain."""
    from hpcscope.models.models import derive

    run = Run(path)
    course = course_of(run.raw_samples)
    run = run.replaced(course=course, statistics=summarise(run.raw_samples, run.benchmarks, course))
    return run.replaced(models=derive(run.measurements, run.raw_samples, run.topology))
