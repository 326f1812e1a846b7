"""A Scope command that another one starts: its output, its last line on standard error, and its time limit."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from hpcscope import signals
from hpcscope.launch import processes
from hpcscope.own_python import own_python

PATIENCE_S = 60.0
"""Time in which a command that was asked to stop may end its ranks and derive results before it is killed."""

LAST_WORDS_S = 5.0
"""Time for the last output of an ended command: processes that it left may hold its standard error open."""


@dataclass(frozen=True)
class EndedCommand:
    """How a command ended."""

    code: int
    output: str
    """What it printed on its standard output."""
    last: str
    """The last line on its standard error: the reason if the command failed."""
    out_of_time: bool

    @property
    def reason(self) -> str:
        """The last line without the name of the command."""
        return re.sub(r"^scope( [a-z]+)?: ", "", self.last)


def run_scope(words: Sequence[str], lab: str | None = None, limit_s: float = inf) -> EndedCommand:
    """Run a Scope command, in a lab if one is named; pass its standard error on.

    It is interrupted when its time is over or this program is interrupted; what it leaves can be resumed.
    """
    command = own_python("-m", "hpcscope", *(["--lab", lab] if lab else []), *words)
    # Ctrl-C during the start of the command would orphan it.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        signals.held(signal.SIGINT) as release,
    ):
        # A session of its own: a signal reaches all processes that it started, and each only once.
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_heed_interrupts,
        )
        # Passed on by a thread, so that an interrupted command can still say what it does.
        last: deque[str] = deque([""], maxlen=1)
        said = threading.Thread(target=_pass_on, args=(process, last), daemon=True)
        said.start()
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
        return EndedCommand(code, output.read(), last[0], not in_time)


def _pass_on(process: subprocess.Popen[str], last: deque[str]) -> None:
    """Pass on what a process prints on its standard error, and keep the last line that is not empty."""
    assert process.stderr is not None
    with process.stderr:
        for line in process.stderr:
            sys.stderr.write(line)
            sys.stderr.flush()
            last.extend(filter(None, [line.strip()]))


def _heed_interrupts() -> None:
    """Let the command be interrupted even if a shell started this one in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _signal(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to the session of a process that has not ended."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
