"""Errors for users: one line, never a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ScopeError(Exception):
    """The work failed: a case failed, data were wrong, a program did not run (exit code 1)."""

    exit_code = 1
    resumable: Path | None = None
    """The run directory, if the work can be resumed."""


class UsageError(ScopeError):
    """The command line or an input file is wrong; the message states the allowed values (exit code 2)."""

    exit_code = 2


class InterruptedRunError(ScopeError):
    """The user or a batch system asked the run to stop; it can be resumed (exit code 130)."""

    exit_code = 130


class OutOfTimeError(InterruptedRunError):
    """The batch job of this run is about to end; the run can be resumed in another job (exit code 124)."""

    exit_code = 124


class WrongValueError(ValueError):
    """A value that is not allowed: its key within what was read, and what is allowed there."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(allowed)
        self.key = key
        self.value = value


@contextmanager
def naming(path: Path, problem: str = "cannot be written", kind: type[ScopeError] = ScopeError) -> Iterator[None]:
    """Let an OSError of the context become an error that names the path, the problem, and the system's reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{path}: {problem}: {error.strerror or error}") from error
