"""`scope run`: from the command line to the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from scope.launch.cluster import Cluster
    from scope.launch.jobs.host_jobs import QueuePolicy
    from scope.launch.supervision.supervisor import Limits
    from scope.machine.machine import Machine, MpiInstallation, NativeBuild
    from scope.plan.experiment import Experiment
    from scope.plan.plan import Plan
    from scope.rundirectory import RunDirectory

COMMA = "separated by commas"
FAREWELL_S = 3.0
"""Within which a batch system tells every process of a job that it ends."""


def command(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="An experiment (a .toml file, or HPL.dat), and benchmarks: mpi.latency, 'mpi.*' or mpi.",
        ),
    ] = None,
    module: Annotated[str | None, typer.Option(help="baseline, standard or advanced.")] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="A case: 'mpi.latency message_bytes=0,1Ki mode=standard'.")
    ] = None,
    ranks: Annotated[str | None, typer.Option(help=f"2,4 - instead of the module's numbers, {COMMA}.")] = None,
    refine: Annotated[bool, typer.Option("--refine", help="Add message sizes where a curve breaks.")] = False,
    launches: Annotated[int | None, typer.Option(help="How often everything is started anew.")] = None,
    time: Annotated[float | None, typer.Option(help="Seconds for all cases together.")] = None,
    interval: Annotated[float | None, typer.Option(help="How tight a median must be: 0.02 is 2 %.")] = None,
    budget: Annotated[float | None, typer.Option(help="Seconds per case, instead of a share of --time.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the random order.")] = None,
    name: Annotated[str | None, typer.Option(help="What the run is called.")] = None,
    mpi: Annotated[str | None, typer.Option(help="openmpi, mpich, embedded, a folder or an mpicxx.")] = None,
    launcher: Annotated[str | None, typer.Option(help="mpiexec, or slurm for srun inside a job.")] = None,
    hosts: Annotated[str | None, typer.Option(help=f"a:2,b:2 - hosts and their slots, {COMMA}.")] = None,
    hostfile: Annotated[str | None, typer.Option(help="A file with a host per line.")] = None,
    ranks_per_host: Annotated[int | None, typer.Option(help="Spread ranks: so many on each host.")] = None,
    binding: Annotated[str | None, typer.Option(help="core, socket or none.")] = None,
    interface: Annotated[str | None, typer.Option(help="The network interface for messages.")] = None,
    topology: Annotated[str | None, typer.Option(help="What transport=collectives uses.")] = None,
    mpiexec: Annotated[str | None, typer.Option(help="The launcher, if not beside the compiler.")] = None,
    agent: Annotated[str | None, typer.Option(help="A program that stands in for ssh.")] = None,
    launcher_argument: Annotated[
        list[str] | None, typer.Option(help="A further argument of mpiexec or srun.")
    ] = None,
    oversubscribe: Annotated[bool, typer.Option("--oversubscribe", help="Allow more ranks than cores.")] = False,
    submit: Annotated[bool, typer.Option("--submit", help="Run as a job of a batch system; wait for it.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --submit: write and print the batch script only.")
    ] = False,
    scheduler: Annotated[str | None, typer.Option(help="slurm, pbs or lsf: whose script --submit writes.")] = None,
    partition: Annotated[str | None, typer.Option(help="The job's partition or queue.")] = None,
    account: Annotated[str | None, typer.Option(help="The account or project that pays.")] = None,
    nodes: Annotated[int | None, typer.Option(help="How many nodes the job gets.")] = None,
    nodelist: Annotated[str | None, typer.Option(help=f"Which nodes: a,b or node[1-4], {COMMA}.")] = None,
    exclusive: Annotated[
        bool | None, typer.Option("--exclusive/--no-exclusive", help="Share the nodes with nobody (the default).")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds after which the job is ended.")] = None,
    time_margin: Annotated[
        float | None, typer.Option(help="Seconds before a job's end at which the run stops by itself.")
    ] = None,
    scheduler_argument: Annotated[
        list[str] | None, typer.Option(help="A further directive of the batch script.")
    ] = None,
    each_host: Annotated[
        bool, typer.Option("--each-host", help="A job for each idle host (node.*, if nothing else is asked for).")
    ] = False,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="A job for each pair of idle hosts: latency and bandwidth.")
    ] = False,
    jobs_at_once: Annotated[int, typer.Option(help="With these two: jobs in the queue at a time.")] = 8,
    nice: Annotated[int, typer.Option(help="How far others' jobs go first.")] = 100,
    patience: Annotated[float, typer.Option(help="Seconds to wait for hosts that are not idle.")] = 0.0,
    case_limit: Annotated[float | None, typer.Option(help="Seconds after which a case is ended.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The run's folder.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue this run; it keeps all its settings.")] = None,
) -> None:
    """Measure this machine or cluster, say what was found, and write a report.

    Without arguments: the baseline module on this host, in one to three minutes.
    """
    import sys

    from scope.errors import UsageError
    from scope.launch.supervision.supervisor import Limits
    from scope.plan.experiment import resolve

    if case_limit is not None and not 0 < case_limit < 1e6:
        raise UsageError(f"--case-limit {case_limit:g}: must be more than 0 seconds and less than 1000000")
    limits = Limits(case_s=case_limit)
    file, patterns = _experiment_and_patterns(what or [])
    options: dict[str, Any] = {
        "module": module,
        "case": [selection(text) for text in case] if case else None,
        "ranks": ranks.split(",") if ranks else None,
        "refine": refine or None,
        "launches": launches,
        "time_s": time,
        "sampling.interval": interval,
        "sampling.budget_s": budget,
        "seed": seed,
        "name": name,
        "mpi": mpi,
        "only": patterns or None,
        "launcher.kind": launcher,
        "launcher.hosts": hosts.split(",") if hosts else None,
        "launcher.hostfile": hostfile,
        "launcher.ranks_per_host": ranks_per_host,
        "launcher.binding": binding,
        "launcher.interface": interface,
        "launcher.topology": topology,
        "launcher.mpiexec": mpiexec,
        "launcher.agent": agent,
        "launcher.arguments": launcher_argument or None,
        "launcher.oversubscribe": oversubscribe or None,
    }
    of_job: dict[str, Any] = {
        "launcher.scheduler": scheduler,
        "launcher.partition": partition,
        "launcher.account": account,
        "launcher.nodes": nodes,
        "launcher.nodelist": [nodelist] if nodelist else None,
        "launcher.exclusive": exclusive,
        "launcher.time_limit_s": time_limit,
        "launcher.time_margin_s": time_margin,
        "launcher.scheduler_arguments": scheduler_argument or None,
    }
    if dry_run and not submit:
        raise UsageError("--dry-run: must stand beside --submit")
    again = ["--case-limit", f"{case_limit:g}"] if case_limit is not None else []
    if each_host or pairs:
        if submit or resume or (each_host and pairs):
            raise UsageError("--each-host, --pairs, --submit and --resume: must not stand beside each other")
        policy = _policy(jobs_at_once, nice, patience)
        well = spread("each-host" if each_host else "pairs", file, options | of_job, output, again, policy)
        raise typer.Exit(0 if well else 1)
    if submit:
        if resume is None:
            well = send(resolve(file, options | of_job), output, again, dry_run)
        else:
            refuse_settings(resume, {**options, "output": output, "the experiment": file})
            well = send_again(resume, of_job, again, dry_run)
        raise typer.Exit(0 if well else 1)
    options |= of_job
    if resume is None:
        experiment = resolve(file, options)
        well = run(experiment, str(file or "the command line"), limits, output, sys.argv)
    else:
        refuse_settings(resume, {**options, "output": output, "the experiment": file})
        well = take_up(resume, limits)
    raise typer.Exit(0 if well else 1)


def refuse_settings(resume: Path, given: dict[str, Any]) -> None:
    """Raise UsageError when a setting is given beside --resume."""
    from scope.errors import UsageError

    if named := [key for key, value in given.items() if value]:
        raise UsageError(f"--resume {resume}: the run keeps its settings; {named[0]} must not be given beside it")


def send(experiment: Experiment, output: Path | None, options: list[str], dry: bool) -> bool:
    """Submit a new run and wait for it; return whether every case is well. A refused one leaves nothing."""
    import shutil

    from scope.build import installations
    from scope.cli.analyze import explain
    from scope.cli.submission import queue_of, submit
    from scope.errors import UsageError
    from scope.launch import run as runs

    if not dry:
        queue_of(experiment)
        built(installations.find(experiment.mpi))  # nodes seldom have a compiler
    directory = runs.new_directory(experiment.module, output)
    try:
        well = submit(directory, experiment, options, dry)
    except UsageError:
        if not directory.run.exists():
            shutil.rmtree(directory.path)
        raise
    if not dry:
        explain(directory.path)
    return well


def send_again(folder: Path, wishes: dict[str, Any], options: list[str], dry: bool) -> bool:
    """Submit what a run still lacks, or follow its job that is still there; return whether every case is well."""
    from scope.cli.analyze import explain
    from scope.cli.submission import submit
    from scope.launch import job
    from scope.rundirectory import RunDirectory

    directory = RunDirectory(folder.resolve())
    asked = job.recall(directory, wishes)
    if (well := job.finished(directory)) is None:
        well = submit(directory, asked, options, dry)
    if not dry:
        explain(directory.path)
    return well


def spread(
    kind: str,
    file: Path | None,
    options: dict[str, Any],
    output: Path | None,
    again: list[str],
    policy: QueuePolicy,
) -> bool:
    """Run an experiment on each host or pair, a job each; return whether every job that ran is well."""
    import shutil

    from scope.build import installations
    from scope.cli import errands
    from scope.cli.submission import queue_of
    from scope.errors import UsageError
    from scope.launch import run as runs
    from scope.plan.experiment import resolve

    if file is None and not options["only"] and not options["case"]:
        options = options | errands.CASES[kind]
    experiment = resolve(file, options)
    queue_of(experiment)
    built(installations.find(experiment.mpi))
    folder = runs.new_directory(kind, output).path
    try:
        return errands.run(kind, experiment, folder, again, policy)
    except UsageError:
        if not list(folder.glob("*/run.json")):
            shutil.rmtree(folder)
        raise


def run(experiment: Experiment, where: str, limits: Limits, output: Path | None, words: list[str]) -> bool:
    """Measure as the experiment asks, derive, report; return whether every case is well."""
    from scope.build import registry
    from scope.cli.analyze import explain
    from scope.launch import run as runs
    from scope.plan import plan as planning
    from scope.rundirectory import read_text, write_text
    from scope.topology import preloading

    experiment, build, cluster, machine = settled(experiment, where)
    site = cluster.site
    benchmarks = registry.load(build.program)
    plan = planning.make(experiment, benchmarks, cluster.place, where)
    preloading.check(plan.launches, cluster)
    directory = runs.new_directory(experiment.module, output)
    runs.make_latest(directory)
    runs.begin(directory, experiment, machine, benchmarks, plan, words)
    if site.topology is not None:
        write_text(directory.topology, read_text(site.topology))
    margin_s = experiment.launcher.time_margin_s
    well = measure(directory, plan, build, cluster, limits, margin_s, planning.total_s(experiment))
    if experiment.refine:
        well = measure(directory, closer(directory, plan, experiment.launches), build, cluster, limits, margin_s)
    explain(directory.path)
    return well


def settled(experiment: Experiment, where: str) -> tuple[Experiment, NativeBuild, Cluster, Machine]:
    """Return the experiment as it can be done here, the program for it, its hosts, and what they are."""
    from scope.build import installations
    from scope.lab.active import active
    from scope.launch.cluster import probe_cluster
    from scope.launch.site import site_of
    from scope.machine import discover

    lab = active()
    if lab is not None:
        experiment = settled_in(experiment)
    mpi = installations.find(experiment.mpi)
    site = site_of(mpi, experiment.launcher, where)
    build = built(mpi)
    cluster = probe_cluster(site)
    return experiment, build, cluster, discover.machine(cluster.hosts, build, lab.facts() if lab else None)


def settled_in(experiment: Experiment) -> Experiment:
    """Return the experiment as a lab can do it: its hosts share processors.

    Nothing is bound, and processes wait for each other: an agreed start time would always be missed by some.
    """
    launcher = experiment.launcher.model_copy(update={"binding": "none"})
    sampling = experiment.sampling
    if sampling.synchronization is None:
        sampling = sampling.model_copy(update={"synchronization": "dissemination"})
    return experiment.model_copy(update={"launcher": launcher, "sampling": sampling})


def take_up(folder: Path, limits: Limits) -> bool:
    """Run what an interrupted run still lacks; return whether every case is well."""
    from scope.build import installations
    from scope.cli.analyze import explain
    from scope.launch import run as runs
    from scope.launch.cluster import probe_cluster
    from scope.launch.site import site_of
    from scope.plan import plan as planning
    from scope.rundirectory import RunDirectory
    from scope.topology import preloading

    directory = RunDirectory(folder.resolve())
    begun = runs.read(directory)
    mpi = installations.find(runs.compiler(directory, begun.machine))
    site = site_of(mpi, begun.experiment.launcher, str(directory.experiment))
    build = built(mpi)
    cluster = probe_cluster(site)
    runs.refuse_changes(directory, begun.machine, build, cluster.hosts)
    preloading.check(begun.plan.launches, cluster)
    margin_s = begun.experiment.launcher.time_margin_s
    well = measure(directory, begun.plan, build, cluster, limits, margin_s, planning.total_s(begun.experiment))
    if begun.experiment.refine:
        plan = closer(directory, begun.plan, begun.experiment.launches)
        well = measure(directory, plan, build, cluster, limits, margin_s)
    explain(directory.path)
    return well


def closer(directory: RunDirectory, plan: Plan, launches: int) -> Plan:
    """Return the plan with further message sizes where the curves measured so far break, and write it down."""
    from scope.cli.analyze import analyze
    from scope.models.models import Models
    from scope.plan import plan as planning
    from scope.plan.refine import Gap, refined
    from scope.rundirectory import read_json, write_text

    analyze(directory.path)
    gaps = [
        Gap(
            fit.subject.benchmark,
            tuple((name, value) for name, value in fit.subject.parameters.items() if isinstance(value, int | str)),
            fit.subject.ranks,
            fit.subject.transport,
            fit.subject.placement,
            int(point.last_before),
            int(point.first_after),
        )
        for fit in read_json(directory.models, Models).fits
        if fit.chosen and fit.variable == "message_bytes"
        for point in fit.breakpoints
    ]
    plan = refined(plan, gaps, launches)
    write_text(directory.plan, planning.write(plan))
    return plan


def measure(
    directory: RunDirectory,
    plan: Plan,
    build: NativeBuild,
    cluster: Cluster,
    limits: Limits,
    margin_s: float,
    time_s: float | None = None,
    again: str = "scope run",
) -> bool:
    """Run the plan's launches under supervision; whatever ends them leaves a run that can be resumed.

    `again`: the command that resumes it.
    """
    import sys
    import time

    from scope.cli.progress import listening
    from scope.errors import ScopeError
    from scope.lab.active import active
    from scope.launch import run as runs
    from scope.launch import scheduler
    from scope.launch.supervision.supervisor import InterruptedRunError, Supervisor
    from scope.plan import plan as planning
    from scope.rundirectory import spelt

    deadline = scheduler.deadline(margin_s)
    with runs.held(directory) as lock, ending_on_request():
        supervisor = Supervisor(
            run=directory,
            program=build.program,
            command=cluster.start,
            place=cluster.place,
            limits=limits,
            time_s=time_s,
            deadline=deadline,
            farewell_s=0.0 if scheduler.allocation() is None else FAREWELL_S,
            inherited=(lock,),
            origin="measured" if active() is None else "emulated",
        )
        try:
            runs.finish(directory, "running")
            left = supervisor.unfinished(plan)
            if deadline is not None and deadline.unix_s < time.time() + planning.expected_s(left):
                print("this job ends before the plan; the rest can go on in another (--resume)", file=sys.stderr)
            with listening(plan, left) as listener:
                well = supervisor.supervise(plan, listener)
            runs.finish(directory, "finished")
        except ScopeError as error:
            runs.finish_early(directory, interrupted=isinstance(error, InterruptedRunError))
            print(f"continue with: {again} --resume {spelt(directory.path)}", file=sys.stderr)
            raise
    return well


def built(mpi: MpiInstallation) -> NativeBuild:
    """Return the native program for an MPI; say so when it has to be compiled first."""
    import sys

    from scope.build import native

    if not native.is_built(mpi):
        print(f"compiling the native program for {mpi.name} {mpi.version} ...", file=sys.stderr, flush=True)
    return native.build(mpi)


@contextmanager
def ending_on_request() -> Iterator[None]:
    """Let SIGTERM and a closed terminal end a run as Ctrl-C does."""
    import signal

    def end(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _policy(at_once: int, nice: int, patience_s: float) -> QueuePolicy:
    from scope.errors import UsageError
    from scope.launch.jobs.host_jobs import QueuePolicy

    for name, value, least in (("jobs-at-once", at_once, 1), ("nice", nice, 0), ("patience", patience_s, 0)):
        if value < least:
            raise UsageError(f"--{name} {value:g}: must be at least {least}")
    return QueuePolicy(at_once, nice, patience_s)


def _experiment_and_patterns(words: list[str]) -> tuple[Path | None, list[str]]:
    from scope.errors import UsageError

    files = [word for word in words if word.endswith((".toml", ".dat"))]
    if len(files) > 1:
        raise UsageError(f"{files[1]}: must be one experiment at a time, besides {files[0]}")
    return Path(files[0]) if files else None, [word for word in words if word not in files]


def selection(text: str) -> dict[str, Any]:
    """Read a case as `--case` spells it; raises UsageError for a word that is no `key=value`."""
    from scope.plan import sweep

    benchmark, _, rest = text.strip().partition(" ")
    return {"benchmark": benchmark, **sweep.parse(rest, f"--case '{text}'")}
