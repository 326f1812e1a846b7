"""`scope run`: measure and report."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hpcscope.cli.options import Output, Resume
from hpcscope.cli.output import display, resumable
from hpcscope.cli.settings import Given, refuse_beside, takes
from hpcscope.errors import UsageError
from hpcscope.settings.experiment import BATCH, PROCEDURE, Experiment
from hpcscope.settings.queue_policy import JOB_PER_HOST, QueuePolicy
from hpcscope.settings.table import declared

if TYPE_CHECKING:
    from hpcscope.engine.run.host_jobs import Groups
    from hpcscope.engine.run.run import RunOutcome

QUICK_S = 60.0
"""Time limit of --quick: slow storage or a slow network would take many times as long as it promises."""
OPTIONS = [setting for setting in declared(Experiment) if setting.key != "only"]


def _read_before_a_lab_starts(context: typer.Context, what: list[str] | None) -> list[str] | None:
    from hpcscope.plan.experiment import asked_for, resolve

    file, _ = asked_for(what or [], {})
    if file is not None and not context.resilient_parsing:
        resolve(file, {})
    return what


@takes(given=OPTIONS, policy=declared(QueuePolicy))
def command(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="An experiment (.toml file or HPL.dat), or benchmarks (mpi.latency, 'mpi.*' or mpi), or both.",
            callback=_read_before_a_lab_starts,
        ),
    ] = None,
    *,
    given: Given,
    submit: Annotated[
        bool,
        typer.Option(
            "--submit", help="Submit the run as a batch job, and wait until it ends.", rich_help_panel=BATCH
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="With --submit: only write and print the job script.", rich_help_panel=BATCH
        ),
    ] = False,
    each_host: Annotated[
        bool,
        typer.Option(
            "--each-host",
            help="Submit one job on each idle host; default benchmarks: node.*.",
            rich_help_panel=JOB_PER_HOST,
        ),
    ] = False,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs",
            help="Submit one job on each pair of idle hosts; default: MPI latency and bandwidth.",
            rich_help_panel=JOB_PER_HOST,
        ),
    ] = False,
    policy: Given,
    output: Output = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Run one launch of each case: about 20 seconds, at most one minute."),
    ] = False,
    resume: Resume = None,
    keep: Annotated[bool, typer.Option("--keep", help="Also keep the run in the repository.")] = False,
    try_advice: Annotated[
        bool,
        typer.Option(
            "--try-advice",
            help="After the run, measure settings that findings recommend, interleaved with the current settings.",
            rich_help_panel=PROCEDURE,
        ),
    ] = False,
) -> None:
    """Measure this machine or cluster, explain the findings, and write a report.

    Without arguments, `scope run` measures this host with a small fixed set of cases, the baseline module.
    """
    from hpcscope.cli.progress import run_progress
    from hpcscope.engine.run import run as runs
    from hpcscope.plan.experiment import COMMAND_LINE, asked_for, resolve

    if dry_run and not submit:
        raise UsageError("--dry-run: must be given with --submit")
    file, asked = asked_for(what or [], given)
    if try_advice and (submit or each_host or pairs):
        raise UsageError("--try-advice: must not be combined with --submit, --each-host, --pairs")
    if quick:
        if resume or "launches" in asked:
            raise UsageError("--quick: must not be combined with --launches, --resume")
        asked = {**asked, "launches": 1}
    if each_host or pairs:
        if submit or resume or keep or (each_host and pairs):
            raise UsageError("--each-host, --pairs, --submit, --resume, --keep: must not be combined")
        _on_hosts("pairs" if pairs else "each-host", file, asked, QueuePolicy(**policy), output)
        return
    if resume is not None:
        changes = _changes(asked, submit)
        kept = {key: value for key, value in asked.items() if key not in changes}
        refuse_beside(resume, kept, output=output, experiment=file)
    if submit:
        new = resolve(file, asked) if resume is None else (resume, changes)
        _submit(new, dry_run, keep, output)
        return
    with resumable("scope run"):
        if resume is None:
            where = str(file or COMMAND_LINE)
            within_s = QUICK_S if quick else None
            outcome = runs.run(resolve(file, asked), where, output, sys.argv, run_progress, within_s)
        else:
            outcome = runs.resume(resume, changes.get("limit_s"), run_progress)
    _end(outcome, keep, try_advice)


def _changes(asked: Given, submit: bool) -> Given:
    """Return what may change when a run is resumed: the requests of its job, or the limit of cases."""
    may = {each.key for each in OPTIONS if (each.setting.panel == BATCH if submit else each.key == "limit_s")}
    return {key: value for key, value in asked.items() if key in may}


def _end(outcome: RunOutcome, keep: bool, try_advice: bool = False) -> None:
    """Keep a run that has ended, show it, and try what its findings advise, each if asked for."""
    from hpcscope.engine.run.asked_cases import without_result
    from hpcscope.findings.results import Run
    from hpcscope.report.terminal import verdict

    if keep:
        from hpcscope.archive.repository import Repository

        ((entry, _),) = Repository(make=True).add([outcome.directory.path])
        command = f"`scope repository show {entry.id[:8]}`"
        typer.echo(f"kept in the repository under {entry.notes.cluster}; {command} shows the run", err=True)
    run = outcome.directory.path
    verdict.show(Run(run))
    if try_advice:
        _try_advice(run)
    reasons = without_result(run)
    if reasons:
        cases = "a requested case" if len(reasons) == 1 else f"{len(reasons)} requested cases; the first"
        typer.echo(f"scope run: no result for {cases}: {reasons[0]}", err=True)
    raise typer.Exit(0 if outcome.well and not reasons else 1)


def _submit(
    asked: Experiment | tuple[Path, dict[str, Any]], dry_run: bool, keep: bool, output: Path | None
) -> None:
    """Submit a new run, or one that is resumed with changed requests."""
    from hpcscope.cli.progress import run_progress
    from hpcscope.engine.run import submission

    if dry_run:
        script = submission.write_script(asked, output)
        print(script.text, end="")
        command = f"{script.submits} {quote(str(script.path))}"
        typer.echo(f"nothing was submitted; to submit it yourself: {command}", err=True)
        return
    with resumable("scope run", " --submit"):
        outcome = (
            submission.submit(asked, output, run_progress)
            if isinstance(asked, Experiment)
            else submission.resubmit(*asked, run_progress)
        )
    _end(outcome, keep)


def _on_hosts(groups: Groups, file: Path | None, asked: Given, policy: QueuePolicy, output: Path | None) -> None:
    from hpcscope.engine.run import host_jobs
    from hpcscope.plan.experiment import resolve
    from hpcscope.report.run.gathered import table

    experiment = resolve(file, host_jobs.with_defaults(groups, file, asked))
    outcome = host_jobs.run(groups, experiment, output, policy)
    if outcome.rows:
        display(table(outcome.rows))
    for name, problem in outcome.problems.items():
        typer.echo(f"{name}: {problem}", err=True)
    raise typer.Exit(0 if outcome.well else 1)


def _try_advice(run: Path) -> None:
    from hpcscope.cli.progress import stage_progress
    from hpcscope.comparison.paired_table import tried
    from hpcscope.engine.compare import advice
    from hpcscope.report.terminal.console import console

    with stage_progress() as stage:
        advices = advice.try_advice(run, stage=stage)
    for tried_advice in advices:
        for line in tried(tried_advice.finding, tried_advice.change, tried_advice.comparison, tried_advice.gained):
            console().print(line, soft_wrap=True)
    if not advices:
        typer.echo("No finding recommends a setting that can be tried.")
