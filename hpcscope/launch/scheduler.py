"""What a batch system must be able to do: say what a job was granted, and write the directives of a job script.

Scope also submits the script to a `Queue`.
"""

import re
import shutil
import subprocess
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hpcscope.commands import captured
from hpcscope.errors import ScopeError, UsageError

TIMEOUT_S = 60
"""How long a command of a batch system may take."""
END = "SCOPE_JOB_END_UNIX_S"
"""Variable set by the job scripts for batch systems that do not tell a job when it ends."""


@dataclass(frozen=True)
class Allocation:
    """What the batch job of this process was granted."""

    scheduler: str
    title: str
    job: str
    slots: Mapping[str, int | None]
    """Ranks of each host, in the job's order; None: one per usable core."""
    end_unix_s: float | None
    """When the job ends; None without a limit, or if the batch system does not say."""


@dataclass(frozen=True)
class Request:
    """What a job asks for."""

    name: str
    folder: Path
    """Working directory of its script."""
    output: Path
    """Where the output of its script is appended."""
    nodes: int = 1
    nodelist: tuple[str, ...] = ()
    """Names of hosts; empty: any."""
    ranks_per_node: int | None = None
    exclusive: bool = True
    partition: str | None = None
    account: str | None = None
    parallel_environment: str | None = None
    time_limit_s: float | None = None
    nice: int = 0
    """How far its priority is lowered."""
    arguments: tuple[str, ...] = ()


class Scheduler(Protocol):
    """One batch system."""

    name: str
    """The name, as spelled in an experiment's `launcher.scheduler`."""
    title: str
    """The name as its authors spell it."""
    submits: str
    """The command that submits a script, to be followed by its path."""
    tells_end: bool
    """Whether a job can ask when it ends."""

    def allocation(self, environment: Mapping[str, str]) -> Allocation | None:
        """Return what the job of this process was granted; None outside of any job."""

    def directives(self, request: Request) -> list[str]:
        """Return the lines of a job script that say what the job asks for."""


@dataclass(frozen=True)
class JobState:
    """The state of a job in the queue."""

    state: str
    """The state in the batch system's words; `GONE` if it does not know the job (any more)."""
    reason: str = ""
    exit_code: int | None = None
    """Exit code of the script, once it has ended and if the batch system reports it."""
    pending: bool = False
    """Whether the job has not started."""
    stuck: bool = False
    """Whether the job is pending for a reason that does not go away by itself."""
    ended: bool = False
    """Whether the job has ended, in whatever way."""


class Queue(Scheduler):
    """A batch system to which Scope submits jobs, by its own commands."""

    tells_end = False
    accounts_within_s = 0.0
    """How long after the end of a job its exit code may stay unknown."""
    own_command: str | None = None
    """A command that no other batch system has, if another one has `submits`, too."""
    options: tuple[str, ...] = ()
    """Options of every submission."""
    cancels: str
    """The command that cancels a job, to be followed by its number."""
    array: re.Pattern[str]
    """The option of a submission that makes an array of jobs, which would be many jobs for one run."""
    keys: tuple[tuple[str, str], ...]
    """Patterns for errors of a submission, and the key of the experiment that each is about: a field of `Request`,
    too."""

    def require(self) -> None:
        """Raise UsageError if its commands are not on PATH."""
        for command in filter(None, (self.submits, self.own_command)):
            self._require(command)

    def submit(self, script: Path, request: Request) -> str:
        """Submit a job and return its number; raises UsageError with the reason of a rejection."""
        if array := next((word for word in request.arguments if self.array.match(word)), None):
            raise UsageError(
                f"launcher.scheduler_arguments = {array}: must not create a job array: a run is one job. In an "
                "array of your own, each task can start `scope run --output DIR` with its own directory"
            )
        answer = self.ask(self.submits, *self.options, str(script))
        if answer.returncode != 0:
            raise UsageError(self._rejection(self.reason(answer.stderr), request))
        return answer.stdout.split()[-1].partition(";")[0]  # Slurm may add the name of its cluster

    @abstractmethod
    def state_of(self, job: str) -> JobState:
        """Return the state of a job; raises ScopeError while the batch system does not respond."""

    def cancel(self, job: str) -> None:
        """Cancel a job; one that has already ended is left alone."""
        self.ask(self.cancels, job)

    @abstractmethod
    def reason(self, printed: str) -> str:
        """Return the reason for an error from what a command printed."""

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the batch system, whatever its exit code; raises ScopeError without an answer."""
        self._require(words[0])
        try:
            # Ctrl-C is for Scope alone; an interrupted submission would leave a job whose number is unknown.
            return captured(words, TIMEOUT_S, start_new_session=True)
        except subprocess.TimeoutExpired as error:
            raise ScopeError(f"{words[0]}: no answer within {TIMEOUT_S} s") from error

    def _require(self, command: str) -> None:
        if shutil.which(command) is None:
            raise UsageError(f"{command}: no such program; {self.title}'s commands must be on PATH")

    def _rejection(self, reason: str, request: Request) -> str:
        """Return one line with the reason for a rejection and, if one of `keys` matches, the experiment's key."""
        found = [key for pattern, key in self.keys if re.search(pattern, reason, re.IGNORECASE)]
        key = found[0] if len(found) == 1 else None  # a reason that names several does not say which one is wrong
        if key == "nodes" and request.nodelist:
            key = "nodelist"
        value = getattr(request, key) if key else None
        said = f"{self.submits}: {reason}"
        return f"launcher.{key} = {_plain(value)}: {said}" if value else said


def counted(names: Iterable[str]) -> dict[str, int | None]:
    """Return the slots of each host by how often it is named.

    If each host is named only once, whole hosts may have been granted: then None, one slot per usable core.
    """
    found = Counter(names)
    return dict(found) if max(found.values(), default=1) > 1 else dict.fromkeys(found)


def end_of_job(environment: Mapping[str, str]) -> float | None:
    """Return when this job ends, as its script computed; None if the script did not."""
    end = environment.get(END, "")
    return float(end) if end.isdigit() else None


def clock(seconds: float) -> str:
    """Return a duration as HH:MM:SS, rounded up to whole minutes, which is what batch systems count."""
    minutes = -(-int(seconds) // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
