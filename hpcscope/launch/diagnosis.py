"""Why a launch ended, from what its launcher and program printed: which rank died, where, by which signal."""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

OPEN_MPI = re.compile(
    r"process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>\S+) exited\s+on\s+signal (?P<signal>\d+)"
)
HYDRA = re.compile(r"=\s+PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)\s+=\s+EXIT CODE: (?P<code>\d+)")
SRUN = re.compile(r"^srun: error: (?P<host>\S+): tasks? (?P<rank>\d+)[\d,-]*: (?P<how>.+)$", re.MULTILINE)
"""One line per host and cause of death; `Terminated` is printed for ranks that srun ended itself."""
HYDRA_SIGNAL = re.compile(r"\(signal (\d+)\)")
HYDRA_EXIT_CODES = re.compile(r"\[(?P<host>[^\]\s]+)\] (?P<codes>-?\d+(?:,-?\d+)*)$", re.MULTILINE)
"""Statuses of the processes of a host, as waitpid(2) returns them, in the order of their ranks."""
MPICH_STACK = re.compile(r"^\w+\(\d+\)\.*: *(\S.*)$", re.MULTILINE)
"""The last line of an error stack is the deepest cause."""
NATIVE = re.compile(r"^scope-measure: (?P<message>.*)$", re.MULTILINE)
RANK = re.compile(r"(?:[\w.]+: )?rank (?P<rank>\d+) on (?P<host>[^\s:]+): ")
"""Start of the native program's own message, after the name of a benchmark."""


@dataclass(frozen=True)
class Death:
    """How a launch ended; None for what the launcher does not tell."""

    text: str
    ranks: tuple[int, ...] = ()
    """The rank that died; several if it is one of these."""
    host: str | None = None
    pid: int | None = None
    signal: int | None = None
    statuses: Mapping[int, int] = field(default_factory=dict)
    """Status of the process that died, or of several if that is unclear; by position after `pid` on its host."""

    @property
    def disk_full(self) -> bool:
        """Whether the launch ended because nothing more could be written."""
        return self.signal == signal.SIGXFSZ or any(
            words in self.text for words in ("No space left", "Disk quota exceeded", "File too large")
        )

    def no_room(self, path: str, full: bool) -> str:
        """Return one line that says what cannot be written; `full`: whether the disk of `path` is full."""
        if full and path not in self.text:  # the program's own message had no room either
            return f"{path}: cannot be written: {os.strerror(errno.ENOSPC)}"
        if self.signal == signal.SIGXFSZ:
            return f"{self.text}: a limit on file sizes (ulimit -f)"
        return self.text

    def by_kernel(self) -> Death:
        """Return the death of a process that the kernel killed for lack of memory."""
        return replace(self, text=f"{self.text} by the kernel, for lack of memory")


def kills_for_lack_of_memory() -> int:
    """Return how often the kernel of this host killed a process for lack of memory, also in control groups."""
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
        process = f" (pid {pid})" if pid else ""
        return Death(f"rank {rank} on {host}{process} {_killed(number)}", (rank,), host, pid, number)
    if own:
        who = RANK.match(own["message"])
        return Death(own["message"].strip(), (int(who["rank"]),) if who else (), who["host"] if who else None)
    if match := HYDRA.search(output):
        return _of_hydra(match, output)
    if victims := [match for match in SRUN.finditer(output) if match["how"] != "Terminated"]:
        return _of_srun(victims[0])
    if stack := MPICH_STACK.findall(output):
        return Death(stack[-1].strip())
    lines = [line.strip() for line in output.splitlines() if line.strip(" -=\t")]
    errors = [line for line in lines if re.search(r"error|fail|not |cannot|unable", line, re.IGNORECASE)]
    return Death((errors or lines or ["it printed nothing"])[0][:200])


def _of_hydra(named: re.Match[str], output: str) -> Death:
    """Read how all processes ended on the host where one died first.

    The process that mpiexec names is merely the first on that host that was ended by a signal. The signal that it
    names is the OR of all: 13 if one process died of signal 4 and mpiexec then killed the others with signal 9.
    """
    host, pid, code = named["host"], int(named["pid"]), int(named["code"])
    printed = {match["host"]: match["codes"] for match in HYDRA_EXIT_CODES.finditer(output)}
    if host not in printed:
        signals = HYDRA_SIGNAL.search(output)
        if signals is None:
            return Death(f"a rank on {host} (pid {pid}) {ended(code << 8)}", (), host, pid)
        if code == signal.SIGKILL != int(signals[1]):
            return Death(f"a rank on {host} was killed by a signal", (), host)
    codes = [int(word) for word in printed.get(host, str(code)).split(",")]
    places = [place for place, each in enumerate(codes) if each not in (0, signal.SIGKILL)]
    if not any(os.WIFSIGNALED(codes[place]) for place in places):
        places = [place for place, each in enumerate(codes) if each != 0]
    process = codes.index(code) if code in codes else 0
    number = next((os.WTERMSIG(codes[place]) for place in places if os.WIFSIGNALED(codes[place])), None)
    text = f"a rank on {host} {ended(codes[places[0]])}" if places else "mpiexec ended"
    return Death(text, (), host, pid, number, {place - process: codes[place] for place in places})


def _of_srun(victim: re.Match[str]) -> Death:
    """Read `srun: error: node1: task 0: Killed`, with signals spelled as by strsignal(3)."""
    rank, host, how = int(victim["rank"]), victim["host"], victim["how"].removesuffix(" (core dumped)")
    number = next((signals for signals in signal.valid_signals() if signal.strsignal(signals) == how), None)
    if number is None:
        return Death(f"rank {rank} on {host}: {how}", (rank,), host)
    return Death(f"rank {rank} on {host} {_killed(number)}", (rank,), host, None, number)


def ended(status: int) -> str:
    """Say how a process ended, by its status from waitpid(2)."""
    return _killed(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else f"ended with exit code {status >> 8}"


def _killed(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = "unknown"
    return f"was killed by signal {number} ({name})"
