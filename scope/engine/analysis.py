"""Everything that is derived from raw data, for each kind of run directory; needs no MPI and no network."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from scope.findings.finding import Findings
from scope.findings.read import context_of
from scope.findings.run import find_all
from scope.programs.campaign import is_campaign
from scope.programs.profiles.monitored_run import is_monitored
from scope.rundirectory import FORMAT, RunDirectory, note_checksums, write_json
from scope.samples.samples import Samples
from scope.statistics.summary import Summaries

Kind = Literal["run", "monitored", "campaign"]


def kind_of(folder: Path) -> Kind:
    """Return which kind of results a folder holds: of benchmarks, of a monitored program, of a campaign."""
    return "campaign" if is_campaign(folder) else "monitored" if is_monitored(folder) else "run"


def analyze(run: Path) -> Samples:
    """Write statistics.json, models.json and findings.json of the run directory `run`, each in one step.

    Return the samples from which they were derived.

    Raises UsageError when a file of the run is missing or wrong, ScopeError when one cannot be written.
    """
    directory = RunDirectory(run)
    context = context_of(run)
    statistics = Summaries(format=FORMAT, summaries=context.summaries, course=context.course)
    write_json(directory.statistics, statistics)
    write_json(directory.models, context.models)
    write_json(directory.findings, Findings(format=FORMAT, findings=find_all(context)))
    note_checksums(run, [directory.statistics, directory.models, directory.findings])
    return context.samples


def explain(run: Path) -> Path:
    """Derive everything from a run's samples and draw its report; return the report."""
    from scope.report.run import page

    return page.write(run, samples=analyze(run))
