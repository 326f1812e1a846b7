"""What Grid Engine and PBS share: POSIX's qsub and qdel."""

import re
from pathlib import Path

from hpcscope.errors import UsageError
from hpcscope.launch.scheduler import Request, ask, refuse_array, rejection, require


class Qsub:
    """A batch system with these commands; see qsub(1P), qdel(1P)."""

    title: str
    submits = "qsub"
    tells_end = False
    own_command: str
    """A command that no other batch system with a qsub has."""
    options: tuple[str, ...] = ()
    """Options of every call of qsub."""
    array: re.Pattern[str]
    """The option of qsub that makes an array of jobs."""
    keys: tuple[tuple[str, str], ...]
    """Patterns for errors of qsub, and the key of the experiment that each is about."""

    def require(self) -> None:
        """Raise UsageError if its commands are not on PATH."""
        for command in (self.submits, self.own_command):
            require(command, self.title)

    def submit(self, script: Path, request: Request) -> str:
        """Submit a job and return its number; raises UsageError with the reason of a rejection."""
        refuse_array(request.arguments, self.array)
        answer = ask(self.title, "qsub", *self.options, str(script))
        if answer.returncode != 0:
            raise UsageError(rejection("qsub", self.reason(answer.stderr), self.keys, request))
        return answer.stdout.split()[-1]

    def cancel(self, job: str) -> None:
        """Cancel a job; one that has already ended is left alone."""
        ask(self.title, "qdel", job)

    def reason(self, printed: str) -> str:
        """Return the reason for an error from what a command printed."""
        raise NotImplementedError
