"""A run as a job of a batch system: submitted from here, and followed until it has ended."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcscope.build import installations, native
from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.engine import analysis
from hpcscope.engine.directories import new_directory
from hpcscope.engine.progress import RunProgress, silent
from hpcscope.engine.run.run import RunOutcome
from hpcscope.errors import InterruptedRunError, ScopeError, UsageError
from hpcscope.launch import schedulers
from hpcscope.launch.jobs import batch_job
from hpcscope.launch.jobs.batch_job import JobFiles
from hpcscope.launch.scheduler import JobState, Queue
from hpcscope.launch.supervision.journal import Journal
from hpcscope.launch.supervision.supervisor import Listener, unfinished
from hpcscope.locks import release
from hpcscope.plan import plan as planning
from hpcscope.plan.plan import Plan
from hpcscope.rundirectory import RunDirectory, write_text
from hpcscope.settings.experiment import Experiment
from hpcscope.signals import STOP_WAITING, as_interrupt

SILENCE_S = 300
"""How long the controller may fail to respond before a job is given up as lost."""
CANCEL_S = 60
"""How long a canceled job may take to end; Slurm kills it after KillWait (default 30 s)."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Script:
    """A job script that was written and not submitted."""

    path: Path
    text: str
    submits: str
    """The command that submits the script, to be followed by its path."""


def write_script(asked: Experiment | tuple[Path, Mapping[str, Any]], output: Path | None) -> Script:
    """Write the script of a job without submitting it: for a new run, or to resume one with changed requests."""
    if isinstance(asked, Experiment):
        directory, experiment = new_directory(asked.title, output), asked
    else:
        directory = RunDirectory(asked[0].resolve())
        experiment = batch_job.experiment_of(directory, asked[1])
    scheduler, _ = batch_job.prepare(directory, experiment)
    path = JobFiles(directory.job).script
    return Script(path, path.read_text(), scheduler.submits)


def submit(experiment: Experiment, output: Path | None, progress: RunProgress = silent) -> RunOutcome:
    """Submit a new run and wait for its end. A rejected submission leaves nothing."""
    queue_of(experiment)
    native.build(installations.find(experiment.mpi))  # compute nodes rarely have a compiler
    directory = new_directory(experiment.title, output)
    release(directory.path)  # the job holds it
    try:
        well = _submit(directory, experiment, progress)
    except UsageError:
        if not directory.run.exists():
            shutil.rmtree(directory.path)
        raise
    analysis.explain(directory.path)
    return RunOutcome(directory, well)


def resubmit(folder: Path, changes: Mapping[str, Any], progress: RunProgress = silent) -> RunOutcome:
    """Submit the cases of a run that have no record, or follow its job if that is still queued or running."""
    directory = RunDirectory(folder.resolve())
    experiment = batch_job.experiment_of(directory, changes)
    if (well := batch_job.finished(directory)) is None:
        well = _submit(directory, experiment, progress)
    analysis.explain(directory.path)
    return RunOutcome(directory, well)


def queue_of(experiment: Experiment) -> Queue:
    """Return the queue of an experiment's jobs; UsageError if Scope cannot submit to its batch system."""
    scheduler = schedulers.all_schedulers()[experiment.launcher.scheduler]
    if not isinstance(scheduler, Queue):
        raise UsageError(
            f"launcher.scheduler = {scheduler.name}: Scope writes job scripts but does not submit them; use "
            f"--submit --dry-run, and submit the script with {scheduler.submits.split()[0]}"
        )
    scheduler.require()
    return scheduler


def _submit(run: RunDirectory, experiment: Experiment, progress: RunProgress) -> bool:
    """Run an experiment as a job and wait for its end; return whether every case is well.

    Ctrl-C cancels the job; a closed terminal leaves it in the queue, where `resubmit` follows it again.
    """
    _, request = batch_job.prepare(run, experiment)
    files = JobFiles(run.job)
    queue = queue_of(experiment)
    number = _still_queued(queue, files)
    if number is None:
        number = queue.submit(files.script, request)
        write_text(files.number, f"{number}\n")
    try:
        state = _follow(queue, number, run, progress)
        if batch_job.finished(run) is None:
            state = _accounted(queue, number, state)
        return batch_job.outcome(run, number, state)
    except ScopeError as error:
        error.resumable = run.path
        raise


def _follow(queue: Queue, number: str, run: RunDirectory, progress: RunProgress) -> JobState:
    """Report the progress of a job until it has ended; Ctrl-C cancels it."""
    try:
        with as_interrupt(*STOP_WAITING), ExitStack() as stack:
            return _wait(queue, number, Follower(run, progress, stack))
    except KeyboardInterrupt:
        ended = _cancel(queue, number)
        told = "was canceled" if ended else "may still be queued or run: cancel it yourself"
        raise InterruptedRunError(f"interrupted; job {number} {told}") from None


def _accounted(queue: Queue, number: str, state: JobState) -> JobState:
    """Return the state of an ended job, with its exit code if the batch system reports it in time."""
    deadline = time.monotonic() + queue.accounts_within_s
    while state.exit_code is None and time.monotonic() < deadline:
        time.sleep(0.5)
        state = queue.state_of(number)
    return state


def _cancel(queue: Queue, number: str) -> bool:
    """Cancel a job and wait for its end, for a limited time; return whether it has ended."""
    deadline = time.monotonic() + CANCEL_S
    with suppress(ScopeError):
        queue.cancel(number)
        while not (ended := queue.state_of(number).ended) and time.monotonic() < deadline:
            time.sleep(0.2)
        return ended
    return False


def _wait(queue: Queue, number: str, follower: Follower) -> JobState:
    noticed = ""
    started_s = answered_s = time.monotonic()
    while True:
        try:
            state = queue.state_of(number)
            answered_s = time.monotonic()
        except ScopeError:
            if time.monotonic() - answered_s > SILENCE_S:
                raise
            time.sleep(1)
            continue
        if state.ended:
            follower.update()
            return state
        if state.stuck:
            told = "it was withdrawn" if _cancel(queue, number) else "it may still be queued: cancel it yourself"
            raise ScopeError(f"job {number} cannot start ({state.reason.replace('_', ' ')}); {told}")
        reason = "" if state.reason in ("", "None") else f": {state.reason}"
        notice = f"job {number} is pending{reason}" if state.pending else f"job {number} is running"
        if notice != noticed:
            logger.info(notice)
            noticed = notice
        if not state.pending:
            follower.update()
        time.sleep(min(5.0, 0.2 + (time.monotonic() - started_s) / 30))


class Follower:
    """Reports the progress of a run from its journal, on a host other than the one that measures."""

    def __init__(self, run: RunDirectory, progress: RunProgress, stack: ExitStack) -> None:
        self.run = run
        self.progress = progress
        self.stack = stack
        self.known = Journal.read_only(run)
        self.listener: Listener | None = None

    def update(self) -> None:
        """Report changes."""
        if not self.run.plan.exists():
            return
        plan = planning.read(self.run.plan)
        listener = self.listener or self._begin(plan)
        now = Journal.read_only(self.run)
        launches = {launch.number: launch for launch in plan.launches}
        for number, attempt in sorted(set(now.opened) - set(self.known.opened)):
            launch = launches[number]
            listener.launch_started(launch, attempt, len(launch.cases))
        for number, position in [key for key in now.statuses if key not in self.known.statuses]:
            launch = launches[number]
            listener.case_ended(launch, launch.cases[position], now.statuses[number, position])
        for number, duration_s in now.sentinels[len(self.known.sentinels) :]:
            listener.sentinel_ended(launches[number], duration_s)
        for number, _ in sorted(now.ended - self.known.ended):
            listener.launch_ended(launches[number], "")
        self.known = now

    def _begin(self, plan: Plan) -> Listener:
        catalog = read_catalog(self.run.benchmarks)
        self.listener = self.stack.enter_context(self.progress(catalog, plan, unfinished(plan, self.known)))
        return self.listener


def _still_queued(queue: Queue, files: JobFiles) -> str | None:
    """Return the number of this run's earlier job that has not ended."""
    if not files.number.exists():
        return None
    number = files.number.read_text().strip()
    return None if queue.state_of(number).ended else number
