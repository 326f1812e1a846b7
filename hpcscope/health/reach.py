"""How a program is started on a host that lacks Scope: here, through a remote shell, or by Slurm's srun."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from hpcscope.health import answer
from hpcscope.health.records import LinkVisit, Visit
from hpcscope.launch.launchers.srun import sharing

TOKEN = "SCOPE_HEALTH_TOKEN"
SCRIPT = (
    f"IFS= read -r {TOKEN}; export {TOKEN};"
    ' d=$(mktemp -d "${TMPDIR:-/tmp}/scope-health.XXXXXX") || exit 1;'
    " trap 'cd / && rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT TERM;"
    ' cd "$d" && cat > health && chmod 700 health && ./health "$@"'
)
"""Reads a token, as one line, and the program from standard input, since other users can read command lines. The
program runs in a private directory, which is removed."""
CONNECT_S = 10
GRACE_S = 2.0
ANSWER_S = 20.0
"""Seconds beyond the program's time limit after which a host counts as hanging."""

Words = Callable[[str, Sequence[str]], list[str]]
"""Returns the command that runs words on a host."""


@dataclass(frozen=True)
class Reach:
    """The hosts of a site, and how each is reached."""

    hosts: tuple[str, ...]
    words: Words
    at_once: int
    """Hosts that are visited at the same time; 1 if they share processors."""

    @property
    def pairs_at_once(self) -> int:
        """Links that are measured at the same time."""
        return max(1, self.at_once // 2)


def here(_host: str, words: Sequence[str]) -> list[str]:
    """Run words on this host."""
    return list(words)


def by_shell(shell: str) -> Words:
    """Run words through ssh, or what replaces it; it must never ask for a password."""
    options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"] if Path(shell).name == "ssh" else []

    def words_of(host: str, words: Sequence[str]) -> list[str]:
        return list(words) if host == os.uname().nodename else [shell, *options, host, shlex.join(words)]

    return words_of


def by_srun(srun: str) -> Words:
    """Run words as a step of this job, which shares its processors with other steps."""

    def words_of(host: str, words: Sequence[str]) -> list[str]:
        step = ["--nodes=1", "--ntasks=1", f"--nodelist={host}", "--mpi=none", "--cpu-bind=none", "--quiet"]
        return [srun, *step, *sharing(srun), *words]

    return words_of


def by_jobs(srun: str) -> Words:
    """Run words as a small job that starts at once or never: it neither waits in a queue nor blocks one."""

    def words_of(host: str, words: Sequence[str]) -> list[str]:
        job = ["--nodes=1", "--ntasks=1", f"--nodelist={host}", "--immediate=5", "--exclusive", "--time=2"]
        return [srun, *job, "--job-name=scope-health", "--mpi=none", "--cpu-bind=none", "--quiet", *words]

    return words_of


def is_busy(visit: Visit) -> bool:
    """Return whether a host was left alone because others use it, as it or Slurm said."""
    return re.search(r"^busy: |Unable to allocate resources|nodes are busy", visit.error) is not None


def visit(reach: Reach, host: str, stage: int, program: bytes, options: Sequence[str], limit_s: float) -> Visit:
    """Visit a host once; one that dies or hangs costs only its own answer and, at most, the time limit."""
    started = time.time()
    said, reason = started_on(reach, host, program, options, limit_s).ended(limit_s + ANSWER_S)
    times = {"started_unix_s": started, "ended_unix_s": time.time()}
    return answer.read(said, {"host": host, "stage": stage, **times}, reason)


def link(
    reach: Reach, first: str, second: str, stage: int, program: bytes, options: Sequence[str], limit_s: float
) -> LinkVisit:
    """Measure between two hosts once: the second listens on a port of its choice, the first connects to it."""
    token = secrets.token_hex(32)
    started = time.time()
    visit = {"first": first, "second": second, "stage": stage, "started_unix_s": started}
    listener = started_on(reach, second, program, ["--listen", *options], limit_s, token)
    try:
        place = answer.place(listener.first_line(ANSWER_S))
        if place is None:
            said, reason = "", f"{second}: {listener.ended(GRACE_S)[1]}"
        else:
            addresses = ",".join(map(str, place.addresses))
            words = [f"--connect={addresses}", f"--port={place.port}", *options]
            said, reason = started_on(reach, first, program, words, limit_s, token).ended(limit_s + ANSWER_S)
    finally:
        listener.end()
    return answer.read_link(said, {**visit, "ended_unix_s": time.time()}, reason)


def started_on(
    reach: Reach, host: str, program: bytes, options: Sequence[str], limit_s: float, token: str = ""
) -> Started:
    """Start the program on a host."""
    words = reach.words(host, ["sh", "-c", SCRIPT, "sh", *options, f"--limit={max(int(limit_s), 1)}"])
    return Started(words, token.encode() + b"\n" + program)


class Started:
    """A running command that gets its input; its output is kept, with errors between the lines of JSON."""

    def __init__(self, words: Sequence[str], given: bytes) -> None:
        self._said: list[str] = []
        self._line = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        pipe, both = subprocess.PIPE, subprocess.STDOUT
        try:
            self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=both, start_new_session=True)
        except OSError as error:
            self._said.append(f"{words[0]}: does not start: {error.strerror}")
            return
        _running.add(self)
        self._talking = threading.Thread(target=self._talk, args=(given,), daemon=True)
        self._talking.start()

    def first_line(self, limit_s: float) -> str:
        """Return the first line of JSON that it prints; empty if none comes in time."""
        self._line.wait(limit_s)
        return next((line for line in self._said if line.startswith("{")), "")

    def ended(self, limit_s: float) -> tuple[str, str]:
        """Wait until it ends, for this long at most; return its output and, if it failed, why."""
        if self._process is None:
            return "", self._said[0]
        try:
            code = self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.end()
            return "", f"no answer within {limit_s:.0f} s"
        self._talking.join(GRACE_S)  # a process that it left behind may hold its pipes
        _running.discard(self)
        errors = " ".join(" ".join(line for line in self._said if not line.startswith("{")).split())[-200:]
        return "".join(self._said), (errors or "ended early") if code else ""

    def end(self) -> None:
        """End the command and what it started here; on another host, the program's own time limit ends it."""
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        _running.discard(self)

    def _talk(self, given: bytes) -> None:
        running = cast(subprocess.Popen[bytes], self._process)
        with suppress(OSError), cast(IO[bytes], running.stdin) as stdin:
            stdin.write(given)
        with cast(IO[bytes], running.stdout) as lines:
            for line in lines:
                self._said.append(line.decode(errors="replace"))
                if line.startswith(b"{"):
                    self._line.set()
        self._line.set()


_running: set[Started] = set()


def end_all() -> None:
    """End every started command that still runs: an interrupted check leaves no process here."""
    for process in list(_running):
        process.end()
