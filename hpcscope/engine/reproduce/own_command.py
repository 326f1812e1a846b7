"""A command of Scope that another one starts: its output, what it said last, and its end in time."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from hpcscope.engine import signals
from hpcscope.launch import processes
from hpcscope.own_python import own_python

PATIENCE_S = 60.0
"""Until a command that was asked to stop is killed: it ends its ranks, and derives what it can."""

LAST_WORDS_S = 5.0
"""Time for the last output of an ended command: what it left running may hold its standard error open."""


@dataclass(frozen=True)
class EndedCommand:
    """How a command ended."""

    code: int
    output: str
    """What it printed on its standard output."""
    last: str
    """The last line on its standard error: of a failed command the reason."""
    out_of_time: bool

    @property
    def reason(self) -> str:
        """The last line without the name of the command."""
        return re.sub(r"^scope( [a-z]+)?: ", "", self.last)


def run_scope(words: Sequence[str], lab: str | None = None, limit_s: float = inf) -> EndedCommand:
    """Run a command of Scope, in a lab where one is named; what it says is passed on to the standard error.

    It is interrupted when its time is over, or with this program, and then leaves what can be resumed.
    """
    command = own_python("-m", "hpcscope", *(["--lab", lab] if lab else []), *words)
    # Ctrl-C that comes while the command starts would leave it behind.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        signals.held(signal.SIGINT) as release,
    ):
        # A session of its own: the end reaches all processes that it started, and once only.
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_heed_interrupts,
        )
        # Passed on beside the wait, so that an interrupted command can still say what it does.
        said = _Said(process)
        in_time = False
        try:
            release()
            in_time = processes.has_ended(process, limit_s)
        finally:
            try:
                _signal(process, signal.SIGINT)
                processes.has_ended(process, PATIENCE_S)
            finally:
                _signal(process, signal.SIGKILL)
                code = process.wait()
                said.join(LAST_WORDS_S)
        output.seek(0)
        return EndedCommand(code, output.read(), said.last, not in_time)


class _Said(threading.Thread):
    """Passes on what a process says on its standard error."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self.last = ""
        self._process = process
        self.start()

    def run(self) -> None:
        """Pass on each line, and keep the last one."""
        assert self._process.stderr is not None
        with self._process.stderr:
            for line in self._process.stderr:
                sys.stderr.write(line)
                sys.stderr.flush()
                self.last = line.strip() or self.last


def _heed_interrupts() -> None:
    """Let the command be interrupted also where a shell began this one in its background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _signal(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to the session of a process that has not ended."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
