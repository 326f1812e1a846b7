"""The processes of a launch as this host's kernel sees them, and how they are ended.

Only processes that carry this very launch's progress file among their arguments are ever touched; a number that
was given to another program meanwhile is left alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

STATES = {"R": "running", "S": "sleeping", "D": "sleeping", "I": "sleeping", "T": "stopped", "t": "stopped"}
GRACE_S = 3.0
"""How long a launcher may take to end its ranks itself."""
KILLED_S = 10.0


def state(pid: int, argument: str) -> str:
    """Return what the kernel says of a process with this argument: running, sleeping, stopped or gone."""
    if argument not in _arguments(pid):
        return "gone"
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "gone"
    return STATES.get(text.rpartition(")")[2].split()[0], "gone")


def end(launcher: subprocess.Popen[bytes], argument: str) -> None:
    """End a launcher, its group and every process on this host with `argument`: asked first, then killed."""
    try:
        _signal_group(launcher.pid, signal.SIGTERM)
        _wait(launcher, GRACE_S)
    finally:  # even when a person loses patience meanwhile
        deadline = time.monotonic() + KILLED_S
        _signal_group(launcher.pid, signal.SIGKILL)
        while (left := with_argument(argument)) and time.monotonic() < deadline:
            for pid in left:
                _signal(pid, signal.SIGKILL)
            time.sleep(0.02)
        _wait(launcher, KILLED_S)


def with_argument(argument: str) -> list[int]:
    """Return the processes on this host that carry `argument`, zombies not counted."""
    numbers = (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())
    return [pid for pid in numbers if pid != os.getpid() and argument in _arguments(pid)]


def _arguments(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return
