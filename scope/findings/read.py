"""Reading the findings of a run."""

from __future__ import annotations

from pathlib import Path

from scope.catalog.catalog import read as read_catalog
from scope.findings.finding import Finding, Findings
from scope.findings.run.context import Context
from scope.machine.machine import Machine
from scope.models.derive import derive
from scope.plan.plan import read as read_plan
from scope.rundirectory import RunDirectory, RunRecord, read_json
from scope.samples.reader import read as read_samples
from scope.simulation.record import read as read_simulation
from scope.statistics.course import course_of
from scope.statistics.summarise import summarise
from scope.topology.topology import read as read_topology


def read_findings(run: Path) -> list[Finding]:
    """Return the findings of a run, worst first."""
    return read_json(RunDirectory(run).findings, Findings).findings


def context_of(run: Path) -> Context:
    """Derive everything that findings are made from; UsageError when a file of the run is missing or wrong."""
    directory = RunDirectory(run)
    catalog = read_catalog(directory.benchmarks)
    samples = read_samples(run, catalog)
    machine = read_json(directory.machine, Machine)
    course = course_of(samples)
    summaries = summarise(samples, catalog, course)
    topology = read_topology(directory.topology) if directory.topology.exists() else None
    return Context(
        run=read_json(directory.run, RunRecord),
        samples=samples,
        course=course,
        summaries=summaries,
        models=derive(summaries, machine, samples, catalog, topology),
        machine=machine,
        catalog=catalog,
        plan=read_plan(directory.plan) if directory.plan.exists() else None,
        simulation=read_simulation(directory),
        topology=topology,
    )
