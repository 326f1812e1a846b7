"""One run as a job of a batch system: what it asks for, the script it is given, and how it ended."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcscope.errors import InterruptedRunError, OutOfTimeError, ScopeError, UsageError
from hpcscope.launch import schedulers
from hpcscope.launch.scheduler import JobState, Request, Scheduler
from hpcscope.launch.supervision.journal import Journal
from hpcscope.launch.supervision.supervisor import unfinished
from hpcscope.machine.machine import Machine
from hpcscope.plan import experiment as asking
from hpcscope.plan import plan as planning
from hpcscope.private import refuse_foreign
from hpcscope.rundirectory import Below, RunDirectory, RunFile, read_json, write_text
from hpcscope.settings.experiment import Experiment, LauncherSettings
from hpcscope.settings.hosts import hostnames

LONGEST_NAME = 100
"""Most characters of a job's name; PBS allows 230, and refuses non-ASCII ones."""


@dataclass(frozen=True)
class JobFiles:
    """The files of the `job` folder of a run."""

    path: Path

    experiment = Below("experiment.toml")
    """The experiment that the job runs."""
    script = Below("script.sh")
    """The job script."""
    output = Below("output.txt")
    """The output of the jobs of this run, one after the other."""
    number = Below("number")
    """The number of the last job in its queue."""


def prepare(run: RunDirectory, experiment: Experiment, nice: int = 0) -> tuple[Scheduler, Request]:
    """Write the experiment and the script of a run's job."""
    files = JobFiles(run.job)
    run.job.mkdir(parents=True, exist_ok=True)
    write_text(files.experiment, asking.write(experiment))
    scheduler = schedulers.all_schedulers()[experiment.launcher.scheduler]
    request = _request(run, experiment.launcher, nice)
    words = ["run", str(files.experiment), "--output", str(run.path)]
    write_text(files.script, schedulers.script(scheduler, request, run.path, words))
    return scheduler, request


def experiment_of(run: RunDirectory, changes: Mapping[str, Any]) -> Experiment:
    """Return the experiment of a run that was begun or submitted, with changes for its next job.

    Raises UsageError if the folder is not such a run, or a change is wrong.
    """
    file = run.experiment if run.experiment.exists() else JobFiles(run.job).experiment
    refuse_foreign(file)
    return asking.resolve(file, changes)


def finished(run: RunDirectory) -> bool | None:
    """Return whether all cases of a finished run are well; None if the run is not finished."""
    if not run.run.exists() or read_json(run.run, RunFile).status != "finished":
        return None
    return not Journal.read_only(run).failed


def outcome(run: RunDirectory, number: str, state: JobState) -> bool:
    """Return whether all cases of a run whose job has ended are well; raises what the run itself raised."""
    if (well := finished(run)) is not None:
        return well
    if state.exit_code == OutOfTimeError.exit_code or state.state == "TIMEOUT":
        raise OutOfTimeError(f"job {number} reached its time limit: {_progress(run)}")
    if state.state == "CANCELLED":
        raise InterruptedRunError(f"job {number} was canceled: {_progress(run)}")
    message = f"job {number} ended ({state.state}): {_last_line(JobFiles(run.job).output)}"
    raise UsageError(message) if state.exit_code == UsageError.exit_code else ScopeError(message)


def _request(run: RunDirectory, asked: LauncherSettings, nice: int) -> Request:
    """Return what a job asks for; a run that was begun must continue on the same hosts."""
    named: Sequence[str] = asked.nodelist or [host.name for host in asked.hosts]
    if run.machine.exists():
        named = [host.name for host in read_json(run.machine, Machine).hosts]
    nodelist = tuple(host for text in named for host in hostnames(text))
    return Request(
        name=re.sub(r"[^\w.-]", "_", f"scope-{run.path.name}", flags=re.ASCII)[:LONGEST_NAME],
        folder=Path.cwd(),
        output=JobFiles(run.job).output,
        nodes=asked.nodes or len(nodelist) or 1,
        nodelist=nodelist,
        ranks_per_node=asked.ranks_per_host,
        exclusive=asked.exclusive,
        partition=asked.partition,
        account=asked.account,
        parallel_environment=asked.parallel_environment,
        time_limit_s=asked.time_limit_s,
        nice=nice,
        arguments=asked.scheduler_arguments,
    )


def _progress(run: RunDirectory) -> str:
    if not run.plan.exists():
        return "nothing was measured"
    plan = planning.read(run.plan)
    total = sum(len(launch.cases) for launch in plan.launches)
    left = sum(len(launch.cases) for launch in unfinished(plan, Journal.read_only(run)).launches)
    return f"{total - left} of {total} cases have records"


def _last_line(output: Path) -> str:
    try:
        lines = [line.strip() for line in output.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return "it printed nothing"
    own = [line for line in lines if line.startswith("scope run: ")]
    return (own or lines or ["it printed nothing"])[-1].removeprefix("scope run: ")
