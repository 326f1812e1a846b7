"""What a launcher's dying words say: which rank died, where, of which signal."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

OPEN_MPI = re.compile(
    r"process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>\S+) exited\s+on\s+signal (?P<signal>\d+)"
)
HYDRA = re.compile(r"=\s+PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)\s+=\s+EXIT CODE: (?P<code>\d+)")
SRUN = re.compile(r"^srun: error: (?P<host>\S+): tasks? (?P<rank>\d+)[\d,-]*: (?P<how>.+)$", re.MULTILINE)
"""A line per way of dying and host; Terminated are those that had to follow."""
HYDRA_SIGNAL = re.compile(r"\(signal (?P<signal>\d+)\)")
MPICH_STACK = re.compile(r"^\w+\(\d+\)\.*: *(\S.*)$", re.MULTILINE)
"""The last line of an error stack is the deepest cause."""
OWN = re.compile(r"^scope-measure: (?P<message>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Death:
    """How a launch died; None where the launcher does not say."""

    text: str
    rank: int | None = None
    host: str | None = None
    pid: int | None = None
    signal: int | None = None

    @property
    def disk_full(self) -> bool:
        """Whether it died because nothing more could be written."""
        return self.signal == signal.SIGXFSZ or any(
            words in self.text for words in ("No space left", "Disk quota exceeded", "File too large")
        )

    def no_room(self, path: str, why: str) -> str:
        """Say in one line that `path` cannot be written any further."""
        if path in self.text:
            return self.text
        if self.signal == signal.SIGXFSZ:
            why = "File too large (ulimit -f)"
        return f"{path}: cannot be written: {why}"


def diagnose(output: str) -> Death:
    """Read the end of a launch from what the launcher and the program wrote."""
    own = OWN.search(output)
    if match := OPEN_MPI.search(output):
        number = int(match["signal"])
        rank, host, pid = int(match["rank"]), match["host"], int(match["pid"]) or None
        return Death(_sentence(f"rank {rank} on {host}", pid, number), rank, host, pid, number)
    if own:
        return Death(own["message"].strip())
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
    return Death((errors or lines or ["it said nothing"])[0][:200])


def _of_srun(victim: re.Match[str]) -> Death:
    """Read `srun: error: node1: task 0: Killed`; signals stand there as strsignal(3) writes them."""
    rank, host, how = int(victim["rank"]), victim["host"], victim["how"].removesuffix(" (core dumped)")
    number = next((each for each in signal.valid_signals() if signal.strsignal(each) == how), None)
    if number is None:
        return Death(f"rank {rank} on {host}: {how}", rank, host)
    return Death(_sentence(f"rank {rank} on {host}", None, number), rank, host, None, number)


def _sentence(who: str, pid: int | None, number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = "unknown"
    process = f" (pid {pid})" if pid else ""
    return f"{who}{process} died of signal {number} ({name})"
