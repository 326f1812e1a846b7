"""The same small experiment as a job on every host or pair of hosts, with the values of all in one table."""

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hpcscope.build import installations, native
from hpcscope.engine import analysis
from hpcscope.engine.directories import new_directory
from hpcscope.engine.run.submission import queue_of
from hpcscope.errors import InterruptedRunError, ScopeError, UsageError
from hpcscope.launch.jobs import batch_job
from hpcscope.launch.jobs.batch_job import JobFiles
from hpcscope.launch.jobs.host_jobs import HostJob, HostJobs, pairs
from hpcscope.launch.scheduler import JobState
from hpcscope.launch.schedulers.slurm import Slurm
from hpcscope.report.run.gathered import GatheredCase, gather
from hpcscope.rundirectory import FORMAT, RunDirectory, read_json, write_json, write_text
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.hosts import hostnames
from hpcscope.settings.queue_policy import QueuePolicy
from hpcscope.signals import STOP_WAITING, as_interrupt
from hpcscope.statistics.summary import Summaries

Groups = Literal["each-host", "pairs"]
EACH_HOST: Groups = "each-host"
PAIRS: Groups = "pairs"
DEFAULTS: dict[Groups, dict[str, Any]] = {
    EACH_HOST: {"only": ["node.*"]},
    PAIRS: {
        "case": ["mpi.latency message_bytes=0 placement=node", "mpi.bandwidth message_bytes=1Mi placement=node"]
    },
}
"""The default benchmarks."""
TABLE = "gathered.json"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class HostOutcome:
    """The outcome of all jobs."""

    folder: Path
    rows: list[GatheredCase]
    """The values of the runs that are well."""
    problems: Mapping[str, str]
    """For each job that failed, by name: its error, or why it never ran."""
    well: bool
    """Whether every job that ran is well."""


def with_defaults(groups: Groups, file: Path | None, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what was asked for; add the default benchmarks if no experiment, benchmark or case is given."""
    return given if file or given.get("only") or given.get("case") else {**given, **DEFAULTS[groups]}


def run(groups: Groups, experiment: Experiment, output: Path | None, policy: QueuePolicy) -> HostOutcome:
    """Run an experiment as a job on each host or pair.

    Every job has a run directory of its own below one folder, next to `gathered.json` with all values and the
    outcome of each job. Raises ScopeError if no host was ever idle.
    """
    queue = queue_of(experiment)
    if not isinstance(queue, Slurm):
        raise UsageError(f"launcher.scheduler = {queue.name}: must be slurm for --{groups}")
    native.build(installations.find(experiment.mpi))
    folder = new_directory(groups, output).path
    try:
        return _run(groups, experiment, folder, policy, queue)
    except UsageError:
        if not list(folder.glob("*/run.json")):
            shutil.rmtree(folder)
        raise


def _run(groups: Groups, experiment: Experiment, folder: Path, policy: QueuePolicy, queue: Slurm) -> HostOutcome:
    hosts = _hosts(groups, experiment, queue)
    together = list(pairs(hosts)) if groups == PAIRS else [(host,) for host in hosts]
    jobs = [HostJob(name := "--".join(group), group, RunDirectory(folder / name)) for group in together]
    logger.info("%d jobs on %d hosts, at most %d at a time, in %s", len(jobs), len(hosts), policy.max_jobs, folder)

    def submit(job: HostJob) -> str:
        launcher = replace(experiment.launcher, nodes=len(job.hosts), nodelist=job.hosts, hosts=())
        small = replace(experiment, launcher=launcher, name=job.name)
        _, request = batch_job.prepare(job.run, small, policy.nice)
        number = queue.submit(JobFiles(job.run.job).script, request)
        write_text(JobFiles(job.run.job).number, f"{number}\n")
        return number

    running = HostJobs(queue, experiment.launcher.partition, list(jobs), policy, submit, logger.info)
    try:
        with as_interrupt(*STOP_WAITING):
            running.run()
    except KeyboardInterrupt:
        logger.info("to resume a run: scope run --resume %s/NAME --submit", folder)
        raise InterruptedRunError("interrupted; Slurm was asked to cancel its jobs") from None
    finally:
        problems = {job: _problem(job, number, state) for job, (number, state) in running.ended.items()}
        rows = _gathered([job for job in jobs if problems.get(job) == ""])
        _write(folder, groups, jobs, running, problems, rows)
    if not problems:
        raise ScopeError(f"--{groups}: no host was idle: {running.why_not(jobs[0])}")
    told = {job.name: problem for job, problem in problems.items() if problem}
    told |= {job.name: f"never idle: {running.why_not(job)}" for job in running.waiting}
    return HostOutcome(folder, rows, told, not any(problems.values()))


def _hosts(groups: Groups, experiment: Experiment, queue: Slurm) -> list[str]:
    """Return the requested hosts, else those of the partition."""
    asked = experiment.launcher
    named: Sequence[str] = asked.nodelist or [host.name for host in asked.hosts]
    names = [host for text in named for host in hostnames(text)]
    if not names:
        names = [node.name for node in queue.nodes(asked.partition)]
        if not names:
            raise UsageError(
                f"launcher.partition = {asked.partition or 'default'}: has no nodes, or does not exist"
            )
    if groups == PAIRS and len(names) < 2:
        raise UsageError(f"--pairs: needs at least two hosts; there is only {', '.join(names)}")
    return list(dict.fromkeys(names))


def _problem(job: HostJob, number: str, state: JobState) -> str:
    """Return the error of a job; empty if there was none."""
    try:
        return "" if batch_job.outcome(job.run, number, state) else "a case failed"
    except ScopeError as error:
        return str(error)


def _gathered(well: Sequence[HostJob]) -> list[GatheredCase]:
    runs = {}
    for job in well:
        if not job.run.statistics.exists():
            analysis.analyze(job.run.path)
        runs[job.name] = read_json(job.run.statistics, Summaries).summaries
    return gather(runs)


def _write(
    folder: Path,
    groups: Groups,
    jobs: Sequence[HostJob],
    running: HostJobs,
    problems: Mapping[HostJob, str],
    rows: Sequence[GatheredCase],
) -> None:
    waiting = set(running.waiting)
    records = [
        {
            "name": job.name,
            "hosts": list(job.hosts),
            "run": job.run.path.name if job in problems else None,
            "well": problems[job] == "" if job in problems else None,
            "reason": problems.get(job) if job not in waiting else f"not begun: {running.why_not(job)}",
        }
        for job in jobs
    ]
    figures = [row.model_dump() for row in rows]
    write_json(folder / TABLE, {"format": FORMAT, "kind": groups, "jobs": records, "figures": figures})
