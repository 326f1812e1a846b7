"""Why a launch ended, from what its launcher and program printed: which rank died, where, by which signal."""

from __future__ import annotations

import errno
import os
import re
import signal
from dataclasses import dataclass, replace
from pathlib import Path

OPEN_MPI = re.compile(
    r"process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>\S+) exited\s+on\s+signal (?P<signal>\d+)"
)
HYDRA = re.compile(r"=\s+PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)\s+=\s+EXIT CODE: (?P<code>\d+)")
SRUN = re.compile(r"^srun: error: (?P<host>\S+): tasks? (?P<rank>\d+)[\d,-]*: (?P<how>.+)$", re.MULTILINE)
"""One line per cause of death and host; Terminated are the ranks that srun ended itself."""
HYDRA_SIGNAL = re.compile(r"\(signal (?P<signal>\d+)\)")
MPICH_STACK = re.compile(r"^\w+\(\d+\)\.*: *(\S.*)$", re.MULTILINE)
"""The last line of an error stack is the deepest cause."""
NATIVE = re.compile(r"^scope-measure: (?P<message>.*)$", re.MULTILINE)
RANK = re.compile(r"(?:[\w.]+: )?rank (?P<rank>\d+) on (?P<host>[^\s:]+): ")
"""Of the native program's own message, after the name of a benchmark."""


@dataclass(frozen=True)
class Death:
    """How a launch ended; None where the launcher does not tell."""

    text: str
    rank: int | None = None
    host: str | None = None
    pid: int | None = None
    signal: int | None = None

    @property
    def disk_full(self) -> bool:
        """Whether the launch ended because nothing more could be written."""
        return self.signal == signal.SIGXFSZ or any(
            words in self.text for words in ("No space left", "Disk quota exceeded", "File too large")
        )

    def no_room(self, path: str, full: bool) -> str:
        """Return one line that says what cannot be written; `full`: whether the disk of `path` is."""
        if full and path not in self.text:  # the program's own message had no room either
            return f"{path}: cannot be written: {os.strerror(errno.ENOSPC)}"
        if self.signal == signal.SIGXFSZ:
            return f"{self.text}: a limit on file sizes (ulimit -f)"
        return self.text

    def by_kernel(self) -> Death:
        """Return the death of a process that the kernel killed for lack of memory."""
        return replace(self, text=f"{self.text} by the kernel, for lack of memory")


def kills_for_lack_of_memory() -> int:
    """Return how often the kernel of this host killed a process for lack of memory, of control groups too."""
    try:
        counters = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
        return int(counters.get("oom_kill", 0))
    except (OSError, ValueError):
        return 0


def diagnose(output: str) -> Death:
    """Return how a launch ended, from what its launcher and program printed."""
    own = NATIVE.search(output)
    if match := OPEN_MPI.search(output):
        number = int(match["signal"])
        rank, host, pid = int(match["rank"]), match["host"], int(match["pid"]) or None
        return Death(_sentence(f"rank {rank} on {host}", pid, number), rank, host, pid, number)
    if own:
        who = RANK.match(own["message"])
        return Death(own["message"].strip(), int(who["rank"]) if who else None, who["host"] if who else None)
    if match := HYDRA.search(output):
        named = HYDRA_SIGNAL.search(output)
        code = int(match["code"])
        host, pid = match["host"], int(match["pid"])
        if named:
            number = int(named["signal"])
            return Death(_sentence(f"a rank on {host}", pid, number), None, host, pid, number)
        return Death(f"a rank on {host} (pid {pid}) ended with exit code {code}", None, host, pid)
    if victims := [match for match in SRUN.finditer(output) if match["how"] != "Terminated"]:
        return _of_srun(victims[0])
    if stack := MPICH_STACK.findall(output):
        return Death(stack[-1].strip())
    lines = [line.strip() for line in output.splitlines() if line.strip(" -=\t")]
    errors = [line for line in lines if re.search(r"error|fail|not |cannot|unable", line, re.IGNORECASE)]
    return Death((errors or lines or ["it printed nothing"])[0][:200])


def _of_srun(victim: re.Match[str]) -> Death:
    """Read `srun: error: node1: task 0: Killed`, where signals are spelt as by strsignal(3)."""
    rank, host, how = int(victim["rank"]), victim["host"], victim["how"].removesuffix(" (core dumped)")
    number = next((signals for signals in signal.valid_signals() if signal.strsignal(signals) == how), None)
    if number is None:
        return Death(f"rank {rank} on {host}: {how}", rank, host)
    return Death(_sentence(f"rank {rank} on {host}", None, number), rank, host, None, number)


def _sentence(who: str, pid: int | None, number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = "unknown"
    process = f" (pid {pid})" if pid else ""
    return f"{who}{process} was killed by signal {number} ({name})"
