"""One run as a job of a batch system: what is asked for, what it is given, how it ended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scope.errors import ScopeError, UsageError
from scope.launch import scheduler as schedulers
from scope.launch.journal import Journal
from scope.launch.scheduler import Request, Scheduler
from scope.launch.schedulers.slurm import Sight
from scope.launch.supervisor import InterruptedRunError, OutOfTimeError
from scope.machine.machine import Machine
from scope.plan import experiment as asking
from scope.plan import plan as planning
from scope.plan.experiment import Experiment, Launcher
from scope.rundirectory import Run, RunDirectory, read_json, read_text, write_text


@dataclass(frozen=True)
class JobFiles:
    """What stands in the `job` folder of a run."""

    run: RunDirectory

    @property
    def experiment(self) -> Path:
        """What the job is to run."""
        return self.run.job / "experiment.toml"

    @property
    def script(self) -> Path:
        """The batch script."""
        return self.run.job / "script.sh"

    @property
    def output(self) -> Path:
        """What the jobs of this run printed, one after the other."""
        return self.run.job / "output.txt"

    @property
    def number(self) -> Path:
        """The last job's number in its queue."""
        return self.run.job / "number"


def prepare(
    run: RunDirectory, experiment: Experiment, options: list[str], nice: int = 0
) -> tuple[Scheduler, Request]:
    """Write the experiment and the script of a run's job; `options` are those that `scope run` takes besides."""
    files = JobFiles(run)
    run.job.mkdir(parents=True, exist_ok=True)
    write_text(files.experiment, asking.write(experiment))
    scheduler = schedulers.every()[experiment.launcher.scheduler]
    request = _request(run, experiment.launcher, nice)
    words = ["run", str(files.experiment), "--output", str(run.path), *options]
    write_text(files.script, schedulers.script(scheduler, request, run.path, words))
    return scheduler, request


def recall(run: RunDirectory, options: dict[str, Any]) -> Experiment:
    """Return the experiment of a run that was begun or submitted, with other wishes for its next job.

    Raises UsageError when it is no such run, or a wish is wrong.
    """
    begun = run.experiment.exists()
    return asking.resolve(run.experiment if begun else JobFiles(run).experiment, options)


def finished(run: RunDirectory) -> bool | None:
    """Return whether every case is well of a run that has come to its end; None when it has not."""
    if not run.run.exists() or read_json(run.run, Run).status != "finished":
        return None
    return not _journal(run).failed


def outcome(run: RunDirectory, number: str, sight: Sight) -> bool:
    """Return whether every case is well of a run whose job has ended; raises what its command raised."""
    if (well := finished(run)) is not None:
        return well
    if sight.exit_code == OutOfTimeError.exit_code or sight.state == "TIMEOUT":
        raise OutOfTimeError(f"job {number} came to the end of its time: {_done(run)}")
    if sight.state == "CANCELLED":
        raise InterruptedRunError(f"job {number} was cancelled: {_done(run)}")
    words = f"job {number} ended ({sight.state}): {_last_words(JobFiles(run).output)}"
    raise UsageError(words) if sight.exit_code == UsageError.exit_code else ScopeError(words)


def _request(run: RunDirectory, asked: Launcher, nice: int) -> Request:
    """Return what a job asks for; a run that was begun must go on where it began."""
    named = asked.nodelist or [host.partition(":")[0] for host in asked.hosts]
    if run.machine.exists():
        named = [host.name for host in read_json(run.machine, Machine).hosts]
    nodelist = tuple(host for text in named for host in schedulers.hostnames(text))
    return Request(
        name=re.sub(r"[^\w.-]", "_", f"scope-{run.path.name}"),
        folder=Path.cwd(),
        output=JobFiles(run).output,
        nodes=asked.nodes or len(nodelist) or 1,
        nodelist=nodelist,
        ranks_per_node=asked.ranks_per_host,
        exclusive=asked.exclusive,
        partition=asked.partition,
        account=asked.account,
        time_limit_s=asked.time_limit_s,
        nice=nice,
        arguments=tuple(asked.scheduler_arguments),
    )


def _journal(run: RunDirectory) -> Journal:
    journal = Journal(run.samples, run.cut_samples)
    journal.read()
    return journal


def _done(run: RunDirectory) -> str:
    if not run.plan.exists():
        return "nothing was measured"
    total = sum(len(launch.cases) for launch in planning.read(run.plan).launches)
    return f"{len(_journal(run).statuses)} of {total} cases have their records"


def _last_words(output: Path) -> str:
    try:
        lines = [line.strip() for line in read_text(output).splitlines() if line.strip()]
    except UsageError:
        return "it printed nothing"
    own = [line for line in lines if line.startswith("scope run: ")]
    return (own or lines or ["it printed nothing"])[-1].removeprefix("scope run: ")
