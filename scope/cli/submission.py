"""`scope run --submit`: the same run as a job of a batch system, followed from here until it has ended."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from scope.cli.progress import listening
from scope.errors import ScopeError, UsageError
from scope.launch import job
from scope.launch import scheduler as schedulers
from scope.launch.jobs.batch_job import JobFiles
from scope.launch.schedulers.slurm import JobState, Slurm
from scope.launch.supervision.journal import Journal
from scope.launch.supervision.supervisor import InterruptedRunError, Listener, unfinished
from scope.plan import plan as planning
from scope.plan.experiment import Experiment
from scope.plan.plan import Plan
from scope.rundirectory import RunDirectory, spelt, write_text

SILENCE_S = 300
"""How long the controller may not answer before a job is given up as lost."""
FAREWELL_S = 60
"""How long a cancelled job may take to end; Slurm kills it after KillWait (default 30 s)."""


def submit(run: RunDirectory, experiment: Experiment, options: list[str], dry: bool) -> bool:
    """Run an experiment as a job and wait for its end; return whether every case is well.

    A dry submission only writes the script and prints it. Ctrl-C cancels the job; a closed terminal leaves it in
    the queue, and `scope run --resume RUN --submit` follows it again.
    """
    scheduler, request = job.prepare(run, experiment, options)
    files = JobFiles(run)
    if dry:
        print(files.script.read_text(), end="")
        print(f"nothing was submitted; by hand: {scheduler.submits} {files.script}", file=sys.stderr)
        return True
    queue = queue_of(experiment)
    number = _still_queued(queue, files)
    if number is None:
        number = queue.submit(files.script, request)
        write_text(files.number, f"{number}\n")
    try:
        sight = follow(queue, number, run)
        return job.outcome(run, number, sight)
    except ScopeError:
        print(f"continue with: scope run --resume {spelt(run.path)} --submit", file=sys.stderr)
        raise


def queue_of(experiment: Experiment) -> Slurm:
    """Return the queue that an experiment's jobs go to; raises UsageError where there is none to submit to."""
    scheduler = schedulers.every()[experiment.launcher.scheduler]
    if not isinstance(scheduler, Slurm):
        raise UsageError(
            f"launcher.scheduler = {scheduler.name}: Scope writes its scripts but submits to Slurm only;"
            f" add --dry-run to --submit, and give the script to {scheduler.submits.split()[0]}"
        )
    scheduler.refuse_absent()
    return scheduler


def follow(queue: Slurm, number: str, run: RunDirectory) -> JobState:
    """Tell how a job gets on until it has ended; Ctrl-C ends it."""
    try:
        with terminating_as_interrupt(), ExitStack() as stack:
            progress = Follower(run, stack)
            return _wait(queue, number, progress)
    except KeyboardInterrupt:
        cancel(queue, number)
        raise InterruptedRunError(f"interrupted; job {number} was cancelled") from None


def cancel(queue: Slurm, number: str) -> None:
    """Cancel a job and wait until it has ended, for a while."""
    deadline = time.monotonic() + FAREWELL_S
    with suppress(ScopeError):
        queue.cancel(number)
        while not queue.look(number).over and time.monotonic() < deadline:
            time.sleep(0.2)


def _wait(queue: Slurm, number: str, progress: Follower) -> JobState:
    told = ""
    started_s = answered_s = time.monotonic()
    while True:
        try:
            sight = queue.look(number)
            answered_s = time.monotonic()
        except ScopeError:
            if time.monotonic() - answered_s > SILENCE_S:
                raise
            time.sleep(1)
            continue
        if sight.over:
            progress.look()
            return sight
        if sight.hopeless:
            cancel(queue, number)
            raise ScopeError(f"job {number} cannot start ({sight.reason.replace('_', ' ')}); it was withdrawn")
        why = "" if sight.reason in ("", "None") else f": {sight.reason}"
        said = f"job {number} waits{why}" if sight.waiting else f"job {number} runs"
        if said != told:
            print(said, file=sys.stderr, flush=True)
            told = said
        if not sight.waiting:
            progress.look()
        time.sleep(min(5.0, 0.2 + (time.monotonic() - started_s) / 30))


class Follower:
    """Tells of a run's progress what its records say, from another host than where it is measured."""

    def __init__(self, run: RunDirectory, stack: ExitStack) -> None:
        self.run = run
        self.stack = stack
        self.journal = Journal(run.samples, run.cut_samples)
        self.journal.read()
        self.told = set(self.journal.statuses)
        self.started = set(self.journal.opened)
        self.ended = set(self.journal.ended)
        self.plan: Plan | None = None
        self.listener: Listener | None = None

    def look(self) -> None:
        """Tell what is new."""
        if self.listener is None:
            if not self.run.plan.exists():
                return
            plan = planning.read(self.run.plan)
            self.listener = self.stack.enter_context(listening(plan, unfinished(plan, self.journal)))
        self.journal.read()
        launches = {launch.number: launch for launch in planning.read(self.run.plan).launches}
        for number, attempt in sorted(set(self.journal.opened) - self.started):
            launch = launches[number]
            self.listener.launch_started(launch, attempt, len(launch.cases))
        for number, position in [key for key in self.journal.statuses if key not in self.told]:
            launch = launches[number]
            self.listener.case_ended(launch, launch.cases[position], self.journal.statuses[number, position])
        for number, _ in sorted(self.journal.ended - self.ended):
            self.listener.launch_ended(launches[number], "")
        self.told = set(self.journal.statuses)
        self.started = set(self.journal.opened)
        self.ended = set(self.journal.ended)


def _still_queued(queue: Slurm, files: JobFiles) -> str | None:
    """Return the number of this run's job that was submitted before and has not ended."""
    if not files.number.exists():
        return None
    number = files.number.read_text().strip()
    return None if queue.look(number).over else number


@contextmanager
def terminating_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the waiting as Ctrl-C does; a closed terminal only ends this process."""

    def end(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
