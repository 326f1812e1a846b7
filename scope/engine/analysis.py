"""Everything that is derived from raw data, for each kind of run directory; needs no MPI and no network."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from scope.campaign import is_campaign
from scope.catalog.catalog import read as read_catalog
from scope.findings.finding import Findings
from scope.findings.run import find_all
from scope.findings.run.context import Context
from scope.machine.machine import Machine
from scope.models.derive import derive
from scope.plan.plan import read as read_plan
from scope.profiles.monitored_run import is_monitored
from scope.rundirectory import FORMAT, Run, RunDirectory, read_json, write_json
from scope.samples.reader import read
from scope.statistics.summarise import summarise
from scope.statistics.summary import Summaries
from scope.topology.topology import read as read_topology

Kind = Literal["run", "monitored", "campaign"]


def kind_of(folder: Path) -> Kind:
    """Return which kind of results a folder holds: of benchmarks, of a monitored program, of a campaign."""
    return "campaign" if is_campaign(folder) else "monitored" if is_monitored(folder) else "run"


def analyze(run: Path) -> None:
    """Write statistics.json, models.json and findings.json of the run directory `run`, each in one step.

    Raises UsageError when a file of the run is missing or wrong, ScopeError when one cannot be written.
    """
    directory = RunDirectory(run)
    catalog = read_catalog(directory.benchmarks)
    samples = read(run, catalog)
    machine = read_json(directory.machine, Machine)
    summaries = summarise(samples, catalog)
    write_json(directory.statistics, Summaries(format=FORMAT, summaries=summaries))
    models = derive(summaries, machine, samples, catalog)
    write_json(directory.models, models)
    plan = read_plan(directory.plan) if directory.plan.exists() else None
    topology = read_topology(directory.topology) if directory.topology.exists() else None
    run_record = read_json(directory.run, Run)
    context = Context(run_record, samples, summaries, models, machine, catalog, plan, topology)
    write_json(directory.findings, Findings(format=FORMAT, findings=find_all(context)))


def explain(run: Path) -> Path:
    """Derive everything from a run's samples and draw its report; return the report."""
    from scope.report.run import page

    analyze(run)
    return page.write(run)
