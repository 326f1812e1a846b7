"""Everything that a run directory says, read once; the report only reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scope.build.registry import BenchmarkDescription
from scope.errors import UsageError
from scope.findings.finding import Finding, Findings
from scope.machine.machine import Machine
from scope.models.fit import Models
from scope.report.run.order import level
from scope.report.wording import is_share
from scope.rundirectory import Run, RunDirectory, read_json, read_text
from scope.statistics.summary import Case, Summaries, Summary

PHASES = ("compute_s", "distribute_s", "exchange_s", "collect_s", "communicate_s", "initialise_s", "idle_s")
"""Observed times that are parts of an algorithm's, in reading order; communication is the sum of three of them."""
WHOLE_PROGRAMS = ("algorithm", "application")
"""Layers whose benchmarks have phases: elsewhere a time of the same name is a result."""
_COUNTED = ("exchange_messages", "exchange_bytes", "exchange_small_messages", "collect_messages", "collect_bytes")
_ASIDE = ("granted_buffer_bytes", "repeated_packets", "resident_share", *_COUNTED, "waits", "memory_bytes")
"""What a benchmark observes about its conditions, or counts alike on any machine, no result of its own: only in
the table of all figures, and what applications count in the table before them."""


@dataclass(frozen=True)
class Contents:
    """What a report is made of."""

    directory: RunDirectory
    run: Run
    experiment: str
    """The text of experiment.toml; empty when there is none."""
    machine: Machine
    benchmarks: dict[str, BenchmarkDescription]
    summaries: list[Summary]
    models: Models
    findings: list[Finding]

    @property
    def headline(self) -> list[Summary]:
        """The summaries under their headline definition of time."""
        return [summary for summary in self.summaries if summary.primary]

    def results(self, benchmark: str) -> list[Summary]:
        """Return the headline figures of a benchmark that are results: valid, and of the whole, not of a phase.

        A time or a rate of zero is none; a share may well be zero. What a collective of one process costs is left
        to the table of all figures: it moves nothing, at a rate beyond any scale.
        """
        found = [
            one
            for one in self.headline
            if one.benchmark == benchmark
            and one.valid
            and one.metric not in _ASIDE
            and not (level(benchmark) in WHOLE_PROGRAMS and one.metric in (*PHASES, "solve_s", "last_share"))
            and one.median is not None
            and (one.median > 0 or is_share(one.metric))
        ]
        return [one for one in found if one.ranks > 1 or one.definition != "global" or level(benchmark) != "mpi"]

    def choice_key(self, case: Case) -> tuple[int, ...]:
        """Sort the choices of a parameter as its benchmark lists them: the standard send mode comes first."""
        known = self.benchmarks.get(case.benchmark)
        return tuple(
            one.choices.index(str(case.parameters[one.name]))
            if case.parameters.get(one.name) in one.choices
            else -1
            for one in (known.parameters if known else [])
        )

    def describe(self, benchmark: str) -> str:
        """Return what the benchmark says it measures; empty when the run does not know it."""
        return self.benchmarks[benchmark].summary if benchmark in self.benchmarks else ""


def read(path: Path) -> Contents:
    """Read a run directory; UsageError names the file, key and value that is missing or wrong."""
    directory = located(path)
    return Contents(
        directory=directory,
        run=read_json(directory.run, Run),
        experiment=read_text(directory.experiment) if directory.experiment.exists() else "",
        machine=read_json(directory.machine, Machine),
        benchmarks={one.name: one for one in read_json(directory.benchmarks, list[BenchmarkDescription])},
        summaries=read_summaries(path),
        models=read_json(_derived(directory, directory.models), Models),
        findings=read_json(_derived(directory, directory.findings), Findings).findings,
    )


def read_summaries(path: Path) -> list[Summary]:
    """Read only the summaries of a run."""
    directory = located(path)
    return read_json(_derived(directory, directory.statistics), Summaries).summaries


def located(path: Path) -> RunDirectory:
    """Return the run directory at `path`, or say that there is none."""
    if not path.is_dir():
        what = "is not a directory" if path.exists() else "does not exist"
        raise UsageError(f"{path}: {what}; a run directory is allowed, such as runs/latest")
    return RunDirectory(path)


def _derived(directory: RunDirectory, file: Path) -> Path:
    if not file.exists() and directory.samples.exists():
        raise UsageError(f"{file}: does not exist; `scope analyze {directory.path}` derives it from the samples")
    return file
