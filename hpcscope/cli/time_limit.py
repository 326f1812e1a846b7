"""A hard time limit for a command that a node waits for."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path


def within(seconds: float, otherwise: str, work: Callable[[float], int]) -> int:
    """Do work in a separate process, print its output, and return its exit code.

    The limit counts from the start of this process, and `work` is given its end by the monotonic clock. At the
    limit `otherwise` is printed and 0 returned, even if the work hangs in the kernel and cannot be ended.
    """
    end = time.monotonic() + seconds - _age_s()
    said, given = os.pipe()
    worker = os.fork()
    if worker == 0:
        _work(given, end, work)
    os.close(given)
    printed = b""
    while select.select([said], [], [], max(end - time.monotonic(), 0))[0]:
        more = os.read(said, 1 << 16)
        if not more:
            _, status = os.waitpid(worker, 0)
            print(printed.decode(errors="replace") or otherwise, end="" if printed else "\n")
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 0
        printed += more
    os.kill(worker, signal.SIGKILL)
    print(f"{otherwise} within {seconds:g} s")
    return 0


def _work(target: int, end: float, work: Callable[[float], int]) -> None:
    code = 0
    try:
        with os.fdopen(target, "w", errors="replace") as sys.stdout:
            code = work(end)
    finally:
        os._exit(code)


def _age_s() -> float:
    """Return how long this process has been running: its start is field 22 of /proc/self/stat, see proc(5)."""
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK")
