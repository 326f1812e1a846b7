"""`scope run`: measure and report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scope.cli.help import BATCH, JOB_PER_HOST, MPI_AND_HOSTS, PROCEDURE
from scope.cli.options import (
    Binding,
    Hostfile,
    Hosts,
    Interface,
    LauncherArgument,
    Mpi,
    Mpiexec,
    Output,
    Oversubscribe,
    RanksPerHost,
    RemoteShell,
    Seed,
    Storage,
    Transport,
    words,
)

if TYPE_CHECKING:
    from scope.engine.options import RunOptions
    from scope.engine.run import Outcome
    from scope.engine.submission import Script
    from scope.launch.jobs.host_jobs import QueuePolicy


def command(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="An experiment (a .toml file, or an HPL.dat) and/or benchmarks: mpi.latency, 'mpi.*' or mpi.",
        ),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option(metavar="MODULE", help="baseline (default, 2 minutes), standard (25 minutes) or advanced."),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CASE",
            help="One case, such as 'mpi.latency message_bytes=0,1Ki mode=standard'; may be repeated.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="node-type",
            help="Measure every case on all hosts and on each sub-cluster of equal hosts.",
            rich_help_panel=PROCEDURE,
        ),
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option(
            metavar="2,4", help="Numbers of ranks, instead of those of the module.", rich_help_panel=PROCEDURE
        ),
    ] = None,
    transport: Transport = None,
    refine: Annotated[
        bool,
        typer.Option(
            "--refine", help="Add message sizes around the breakpoints of the curves.", rich_help_panel=PROCEDURE
        ),
    ] = False,
    launches: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Launches (mpiexec) of each case; default: 6, and up to 12 where its interval is wide.",
            rich_help_panel=PROCEDURE,
        ),
    ] = None,
    time: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Seconds after which no further launches begin; default: the module's."
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Target half width of the 95 % interval of a median, relative to the median; default: 0.02.",
            rich_help_panel=PROCEDURE,
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Seconds of sampling per case and launch; default: some milliseconds.",
            rich_help_panel=PROCEDURE,
        ),
    ] = None,
    seed: Seed = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the run.", rich_help_panel=PROCEDURE)
    ] = None,
    mpi: Mpi = None,
    launcher: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="mpiexec (default), or slurm: srun inside a Slurm job.",
            rich_help_panel=MPI_AND_HOSTS,
        ),
    ] = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    ranks_per_host: RanksPerHost = None,
    binding: Binding = None,
    interface: Interface = None,
    topology: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="topology.toml for transport=collectives (scope topology discover).",
            rich_help_panel=MPI_AND_HOSTS,
        ),
    ] = None,
    storage: Storage = None,
    mpiexec: Mpiexec = None,
    remote_shell: RemoteShell = None,
    launcher_argument: LauncherArgument = None,
    oversubscribe: Oversubscribe = False,
    submit: Annotated[
        bool,
        typer.Option(
            "--submit", help="Run as a job of a batch system, and wait for its end.", rich_help_panel=BATCH
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="With --submit: only write and print the job script.", rich_help_panel=BATCH
        ),
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Batch system of --submit: slurm (default), gridengine, pbs or lsf.",
            rich_help_panel=BATCH,
        ),
    ] = None,
    partition: Annotated[
        str | None, typer.Option(metavar="NAME", help="Partition or queue of the job.", rich_help_panel=BATCH)
    ] = None,
    account: Annotated[
        str | None, typer.Option(metavar="NAME", help="Account or project of the job.", rich_help_panel=BATCH)
    ] = None,
    parallel_environment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Parallel environment of a Grid Engine job.", rich_help_panel=BATCH),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of nodes of the job; default: 1.", rich_help_panel=BATCH),
    ] = None,
    nodelist: Annotated[
        str | None,
        typer.Option(metavar="NODE[1-4]", help="Nodes of the job, as Slurm spells them.", rich_help_panel=BATCH),
    ] = None,
    exclusive: Annotated[
        bool | None,
        typer.Option(
            "--exclusive/--no-exclusive",
            help="Whether the job has its nodes to itself; default: yes.",
            rich_help_panel=BATCH,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Time limit of the job in seconds; default: the queue's.",
            rich_help_panel=BATCH,
        ),
    ] = None,
    time_margin: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Seconds before the end of its job at which the run stops by itself; default: 30.",
            rich_help_panel=BATCH,
        ),
    ] = None,
    scheduler_argument: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="Further directive of the job script; may be repeated.", rich_help_panel=BATCH
        ),
    ] = None,
    each_host: Annotated[
        bool,
        typer.Option(
            "--each-host",
            help="One job on each idle host; default benchmarks: node.*.",
            rich_help_panel=JOB_PER_HOST,
        ),
    ] = False,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs",
            help="One job on each pair of idle hosts; default: MPI latency and bandwidth.",
            rich_help_panel=JOB_PER_HOST,
        ),
    ] = False,
    max_jobs: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="With --each-host or --pairs: jobs in the queue at a time.",
            rich_help_panel=JOB_PER_HOST,
        ),
    ] = 8,
    nice: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="With --each-host or --pairs: how far the priority of the jobs is lowered.",
            rich_help_panel=JOB_PER_HOST,
        ),
    ] = 100,
    max_wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="With --each-host or --pairs: seconds to wait for hosts that are not idle.",
            rich_help_panel=JOB_PER_HOST,
        ),
    ] = 0.0,
    case_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Seconds after which a case is ended; default: 20 times its budget, at least 30.",
            rich_help_panel=PROCEDURE,
        ),
    ] = None,
    output: Output = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Resume this run, which keeps all its settings.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the run in the repository, too.")] = False,
) -> None:
    """Measure this machine or cluster, explain the findings, and write a report.

    Without arguments: the baseline module on this host.
    """
    import sys

    from scope.engine import run as runs
    from scope.engine.options import (
        JobOptions,
        LauncherOptions,
        RunOptions,
        SamplingOptions,
        experiment_and_patterns,
        refuse_settings,
    )
    from scope.errors import UsageError

    file, patterns = experiment_and_patterns(what or [])
    options = RunOptions(
        experiment=file,
        only=patterns or None,
        module=module,
        case=case,
        ranks=words(ranks),
        transport=words(transport),
        by=by,
        refine=refine or None,
        launches=launches,
        time_s=time,
        seed=seed,
        name=name,
        mpi=mpi,
        sampling=SamplingOptions(precision=precision, budget_s=budget),
        launcher=LauncherOptions(
            kind=launcher,
            hosts=words(hosts),
            hostfile=hostfile,
            ranks_per_host=ranks_per_host,
            binding=binding,
            mpiexec=mpiexec,
            remote_shell=remote_shell,
            interface=interface,
            topology=topology,
            storage=storage,
            arguments=launcher_argument or None,
            oversubscribe=oversubscribe or None,
        ),
        job=JobOptions(
            scheduler=scheduler,
            partition=partition,
            account=account,
            parallel_environment=parallel_environment,
            nodes=nodes,
            nodelist=[nodelist] if nodelist else None,
            exclusive=exclusive,
            time_limit_s=time_limit,
            time_margin_s=time_margin,
            scheduler_arguments=scheduler_argument or None,
        ),
        case_limit_s=case_limit,
        output=output,
        command=sys.argv,
    )
    limits = options.limits  # refused before anything is done
    if dry_run and not submit:
        raise UsageError("--dry-run: must be given with --submit")
    if each_host or pairs:
        if submit or resume or keep or (each_host and pairs):
            raise UsageError("--each-host, --pairs, --submit, --resume, --keep: must not be combined")
        _on_hosts(pairs, options, _policy(max_jobs, nice, max_wait))
        return
    if resume is not None:
        refuse_settings(resume, options.given(with_job=not submit))
    if submit:
        _submit(options, resume, dry_run, keep)
        return
    from scope.cli.output import resumable
    from scope.cli.progress import run_progress

    with resumable("scope run"):
        outcome = runs.run(options, run_progress) if resume is None else runs.resume(resume, limits, run_progress)
    _end(outcome, keep)


def _end(outcome: Outcome, keep: bool) -> None:
    """Keep a run that has ended, if that was asked for, and show it."""
    if keep:
        from scope.engine.repository import Repository

        ((one, _),) = Repository(make=True).add([outcome.directory.path])
        typer.echo(f"kept as {one.id[:8]} of {one.notes.cluster} (scope repository show {one.id[:8]})", err=True)
    _show(outcome.directory.path, outcome.well)


def _submit(options: RunOptions, resume: Path | None, dry_run: bool, keep: bool) -> None:
    from scope.cli.output import resumable
    from scope.cli.progress import run_progress
    from scope.engine import submission

    if dry_run:
        _print_script(
            submission.write_script(options)
            if resume is None
            else submission.write_script_again(resume, options.job, options.case_limit_s)
        )
        return
    with resumable("scope run", " --submit"):
        outcome = (
            submission.submit(options, run_progress)
            if resume is None
            else submission.resubmit(resume, options.job, options.case_limit_s, run_progress)
        )
    _end(outcome, keep)


def _print_script(script: Script) -> None:
    print(script.text, end="")
    typer.echo(f"nothing was submitted; to submit it yourself: {script.submits} {script.path}", err=True)


def _on_hosts(pairs: bool, options: RunOptions, policy: QueuePolicy) -> None:
    from scope.engine import host_jobs
    from scope.report.run.gathered import table
    from scope.report.terminal.console import console

    outcome = host_jobs.run(host_jobs.PAIRS if pairs else host_jobs.EACH_HOST, options, policy)
    if outcome.rows:
        console().print(table(outcome.rows))
    for name, problem in outcome.problems.items():
        typer.echo(f"{name}: {problem}", err=True)
    raise typer.Exit(0 if outcome.well else 1)


def _show(run: Path, well: bool) -> None:
    from scope.engine.asked_cases import without_result
    from scope.report.terminal import verdict

    verdict.show(run)
    reasons = without_result(run)
    if reasons:
        further = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        typer.echo(f"scope run: no result of a case that was asked for: {reasons[0]}{further}", err=True)
    raise typer.Exit(0 if well and not reasons else 1)


def _policy(max_jobs: int, nice: int, max_wait_s: float) -> QueuePolicy:
    from scope.errors import UsageError
    from scope.launch.jobs.host_jobs import QueuePolicy

    for name, value, least in (("max-jobs", max_jobs, 1), ("nice", nice, 0), ("max-wait", max_wait_s, 0)):
        if value < least:
            raise UsageError(f"--{name} {value:g}: must be at least {least}")
    return QueuePolicy(max_jobs, nice, max_wait_s)
