"""`scope analyze`: derive statistics, models and findings from a run's samples; needs no MPI and no network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def analyze(run: Path) -> None:
    """Write statistics.json, models.json and findings.json of the run directory `run`, each in one step.

    Raises UsageError when a file of the run is missing or wrong, ScopeError when one cannot be written.
    """
    from scope.build.registry import BenchmarkDescription
    from scope.findings.finding import Findings
    from scope.findings.run import find_all
    from scope.findings.run.context import Context
    from scope.machine.machine import Machine
    from scope.models.derive import derive
    from scope.plan.plan import read as read_plan
    from scope.rundirectory import FORMAT, Run, RunDirectory, read_json, write_json
    from scope.samples.reader import read
    from scope.statistics.summarise import summarise
    from scope.statistics.summary import Summaries
    from scope.topology.topology import read as read_topology

    directory = RunDirectory(run)
    samples = read(run)
    machine = read_json(directory.machine, Machine)
    benchmarks = read_json(directory.benchmarks, list[BenchmarkDescription])
    summaries = summarise(samples, benchmarks)
    write_json(directory.statistics, Summaries(format=FORMAT, summaries=summaries))
    models = derive(summaries, machine, samples)
    write_json(directory.models, models)
    plan = read_plan(directory.plan) if directory.plan.exists() else None
    topology = read_topology(directory.topology) if directory.topology.exists() else None
    run_record = read_json(directory.run, Run)
    context = Context(run_record, samples, summaries, models, machine, benchmarks, plan, topology)
    write_json(directory.findings, Findings(format=FORMAT, findings=find_all(context)))


def explain(run: Path) -> None:
    """Derive what a run says, draw its page and print its verdict."""
    from scope.campaign import is_campaign
    from scope.profiles.monitored_run import is_monitored
    from scope.report.run import page
    from scope.report.terminal import verdict

    if is_campaign(run):
        from scope.campaign.folder import CampaignFolder
        from scope.cli import campaign

        folder = CampaignFolder(run.absolute())
        campaign.show(folder, *campaign.derive(folder), json=False)
        return
    if is_monitored(run):
        from scope.cli import monitor

        monitor.analyze(run)
        monitor.explain(run)
        return
    analyze(run)
    page.write(run)
    verdict.show(run)


def command(
    run: Annotated[Path, typer.Argument(help="Run directory, for example runs/latest.", show_default=False)],
) -> None:
    """Derive statistics, models, findings and the report of a run anew from its samples or profiles."""
    explain(run)
