"""How a program is started on a host that lacks Scope: here, through a remote shell, or by Slurm's srun."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcscope.health import answer
from hpcscope.health.records import Visit
from hpcscope.launch.launchers.srun import sharing

SCRIPT = (
    'd=$(mktemp -d "${TMPDIR:-/tmp}/scope-health.XXXXXX") || exit 1;'
    " trap 'cd / && rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT TERM;"
    ' cd "$d" && cat > health && chmod 700 health && ./health "$@"'
)
"""Takes the program from its standard input into a private directory, runs it there, and removes the directory."""
CONNECT_S = 10
ANSWER_S = 20.0
"""Beyond the time of the program, until a host counts as one that hangs."""

Words = Callable[[str, Sequence[str]], list[str]]
"""Returns the command that runs words on a host."""


@dataclass(frozen=True)
class Reach:
    """The hosts of a site, and how each is reached."""

    hosts: tuple[str, ...]
    words: Words
    at_once: int
    """Hosts that are visited at the same time; 1 where they share processors."""


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


def visit(reach: Reach, host: str, stage: int, program: bytes, options: Sequence[str], limit_s: float) -> Visit:
    """Visit a host once; one that dies or hangs costs the time limit, and its own answer."""
    words = reach.words(host, ["sh", "-c", SCRIPT, "sh", *options, f"--limit={int(limit_s)}"])
    started = time.time()
    said, reason = _ended(words, program, limit_s + ANSWER_S)
    times = {"started_unix_s": started, "ended_unix_s": time.time()}
    return answer.read(said, {"host": host, "stage": stage, **times}, reason)


def _ended(words: Sequence[str], given: bytes, limit_s: float) -> tuple[str, str]:
    """Run a command, for this long at most; return its output and, where it failed, why."""
    try:
        running = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        return "", f"{words[0]}: does not start: {error.strerror}"
    with running:
        try:
            output, errors = running.communicate(given, limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return "", f"no answer within {limit_s:.0f} s"
    reason = " ".join(errors.decode(errors="replace").split())[-200:] if running.returncode else ""
    return output.decode(errors="replace"), reason or ("ended early" if running.returncode else "")
