"""The processes of a launch as this host's kernel sees them, and how they are ended.

Only processes that carry the mark of this very launch, an argument or an environment variable, are ever signaled.
A process number that has been reused is left alone.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf

import psutil

STATES = {
    psutil.STATUS_RUNNING: "running",
    psutil.STATUS_SLEEPING: "sleeping",
    psutil.STATUS_DISK_SLEEP: "sleeping",
    psutil.STATUS_IDLE: "sleeping",
    psutil.STATUS_STOPPED: "stopped",
    psutil.STATUS_TRACING_STOP: "stopped",
}
NO_PIDFD_S = 0.1
"""Polling interval for the end of a process if the kernel cannot report it."""
SIGNAL_S = 1.0
GRACE_S = 3.0
"""How long a launcher may take to end its ranks itself."""
KILL_S = 10.0
"""How long killed processes may take to disappear."""


def state(pid: int, argument: str) -> str:
    """Return the state of a process with this argument: running, sleeping, stopped or gone."""
    try:
        process = psutil.Process(pid)
        return STATES.get(process.status(), "gone") if argument in process.cmdline() else "gone"
    except psutil.Error:
        return "gone"


def with_argument(argument: str) -> list[psutil.Process]:
    """Return the living processes of this host that have `argument` among theirs."""
    return _living(lambda process: argument in process.cmdline())


def with_variable(name: str, value: str) -> list[psutil.Process]:
    """Return the living processes of this host that have `name` set to `value` in their environment."""
    return _living(lambda process: process.environ().get(name) == value)


def end(
    launcher: subprocess.Popen[bytes], find: Callable[[], list[psutil.Process]], grace_s: float = GRACE_S
) -> None:
    """End a launcher, its process group and every process that `find` returns: first SIGTERM, then SIGKILL."""
    try:
        _signal_group(launcher.pid, signal.SIGTERM)
        has_ended(launcher, grace_s)
    finally:  # even if another Ctrl-C arrives in between
        _signal_group(launcher.pid, signal.SIGKILL)
        kill(find)
        has_ended(launcher, KILL_S)


def has_ended(process: subprocess.Popen[bytes] | subprocess.Popen[str], seconds: float = inf) -> bool:
    """Wait for the end of a process and return whether it ended; signals to this process are handled within 1 s.

    `Popen.wait` handles a signal that arrives just before it sleeps only after the process has ended.
    """
    until_s = time.monotonic() + seconds
    while process.poll() is None and (left_s := until_s - time.monotonic()) > 0:
        await_end(process, min(left_s, SIGNAL_S))
    return process.returncode is not None


def await_end(process: subprocess.Popen[bytes] | subprocess.Popen[str], seconds: float) -> None:
    """Return when a process has ended or the time is over, without disturbing its processor."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # before Linux 5.3, or already ended and reaped
        time.sleep(min(seconds, NO_PIDFD_S))
        return
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        ended.poll(1000 * seconds)
    finally:
        os.close(descriptor)


class Ends:
    """The order in which processes of this host end, which the kernel notes without disturbing them."""

    def __init__(self) -> None:
        """Begin without any process."""
        self._events = select.epoll()
        self._ranks: dict[int, int] = {}

    def watch(self, rank: int, pid: int, argument: str) -> None:
        """Watch the process of a rank that has `argument`, if the kernel can (Linux 5.3)."""
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return
        self._ranks[descriptor] = rank
        if state(pid, argument) != "gone":  # else the number may be another process's
            self._events.register(descriptor, select.EPOLLIN)

    def order(self) -> list[int]:
        """Return the ranks whose processes have ended, in the order of their ends."""
        # epoll returns events that have not been polled yet in the order in which they occurred.
        ended = self._events.poll(0, maxevents=max(1, len(self._ranks)))
        return [self._ranks[descriptor] for descriptor, _ in ended]

    def close(self) -> None:
        """Stop watching."""
        for descriptor in self._ranks:
            os.close(descriptor)
        self._events.close()


def kill(find: Callable[[], list[psutil.Process]]) -> None:
    """Kill what `find` returns until it returns nothing, for a limited time."""
    deadline = time.monotonic() + KILL_S
    while (left := find()) and time.monotonic() < deadline:
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.02)


def _living(matches: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    processes = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.status() in STATES and matches(process):
                processes.append(process)
    return processes


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
