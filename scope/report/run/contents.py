"""The contents of a run directory, read once for the report, which derives nothing itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from scope.catalog.catalog import PROGRAM_LEVELS, Catalog
from scope.catalog.catalog import read as read_catalog
from scope.errors import UsageError
from scope.findings.finding import Finding
from scope.findings.read import read_findings
from scope.machine.machine import Machine
from scope.models.derive import read_models
from scope.models.models import Models
from scope.plan.case import Case
from scope.report.order import case_key, level
from scope.rundirectory import RunDirectory, RunRecord, read_json, read_text
from scope.simulation.record import Simulation
from scope.simulation.record import read as read_simulation
from scope.statistics.course import Course
from scope.statistics.summarise import read_statistics
from scope.statistics.summary import Summary
from scope.units import is_share

PHASES = ("compute_s", "distribute_s", "exchange_s", "collect_s", "communicate_s", "initialise_s", "idle_s")
"""Metrics that are parts of a program's time, in reading order; `communicate_s` is the sum of three of them."""


@dataclass(frozen=True)
class Contents:
    """Everything that a report is drawn from."""

    directory: RunDirectory
    run: RunRecord
    experiment: str
    """The text of experiment.toml; empty when there is none."""
    machine: Machine
    catalog: Catalog
    summaries: list[Summary]
    course: Course | None
    """The states of the machine along the run; None in runs of before they were recorded."""
    models: Models
    findings: list[Finding]
    simulation: Simulation | None = None
    """Of a simulated run: how wrong its figures are."""
    unchanged: list[Summary] = field(default_factory=list)
    """Of a run simulated on a changed platform: the same cases on the platform as it was measured."""

    @property
    def headline(self) -> list[Summary]:
        """The summaries under their headline definition of time."""
        return [summary for summary in self.summaries if summary.primary]

    def results(self, benchmark: str) -> list[Summary]:
        """Return the valid headline figures of a benchmark that are results, not counts, conditions or phases.

        Phases are results where they are not drawn as parts of the whole. Times and rates of 0 are no results,
        shares of 0 are. A collective on one process moves no data: its figures are only in the table of all cases.
        """
        return [
            one
            for one in self.headline
            if one.benchmark == benchmark
            and one.valid
            and self._is_result(one)
            and one.median is not None
            and (one.median > 0 or is_share(one.metric))
            and (one.ranks > 1 or one.definition != "global" or level(benchmark) != "mpi")
        ]

    def phases(self, benchmark: str) -> list[str]:
        """Return the metrics of a program that are parts of its time, in reading order; empty without several."""
        declared = self.catalog[benchmark]
        names = [name for name in PHASES if name in declared.metric and declared.metric[name].role == "phase"]
        return names if declared.level in PROGRAM_LEVELS and len(names) > 1 else []

    def has_default_problem(self, one: Summary) -> bool:
        """Return whether a case computes what its benchmark does by default: double precision, uniform keys."""
        defaults = self.catalog.defaults(one.benchmark)
        problem = self.catalog.of_role(one.benchmark, one.parameters, "problem")
        return all(defaults.get(name) == value for name, value in problem.items())

    def _is_result(self, one: Summary) -> bool:
        declared = self.catalog.metric(one.benchmark, one.metric)
        role = declared.role if declared else "result"
        return role == "result" or (role == "phase" and not self.phases(one.benchmark))

    def choice_key(self, case: Case) -> tuple[object, ...]:
        """Sort the choices of a parameter in their declared order, the standard send mode first; then by value."""
        choices = (
            one.choices.index(str(case.parameters[one.name]))
            if case.parameters.get(one.name) in one.choices
            else -1
            for one in self.catalog[case.benchmark].parameters
        )
        return *choices, case_key(case)

    def describe(self, benchmark: str) -> str:
        """Return the summary of a benchmark."""
        return self.catalog[benchmark].summary


def read(path: Path) -> Contents:
    """Read a run directory; UsageError names the file, key and value that is missing or wrong."""
    directory = located(path)
    statistics = read_statistics(path)
    return Contents(
        directory=directory,
        run=read_json(directory.run, RunRecord),
        experiment=read_text(directory.experiment) if directory.experiment.exists() else "",
        machine=read_json(directory.machine, Machine),
        catalog=read_catalog(directory.benchmarks),
        summaries=statistics.summaries,
        course=statistics.course,
        models=read_models(path),
        findings=read_findings(path),
        simulation=read_simulation(directory),
        unchanged=read_statistics(directory.unchanged).summaries if directory.unchanged.is_dir() else [],
    )


def located(path: Path) -> RunDirectory:
    """Return the run directory at `path`; raises UsageError where there is none."""
    if not path.is_dir():
        what = "not a directory" if path.exists() else "missing"
        raise UsageError(f"{path}: {what}; a run directory is allowed, such as runs/latest")
    return RunDirectory(path)
