"""A real run that is killed at any moment, in whole or in part, and resumed: nothing measured is lost or left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.cli.scope_command import SCOPE, cases, planned
from tests.fuzz.inputs import Complaint, Verdict, workplace
from tests.patience import until

WORDS = [
    *("run", "--case", "node.timer", "--case", "mpi.latency message_bytes=8,1Ki ranks=2", "--launches", "3"),
    *("--budget", "0.05", "--seed", "3", "--mpi", "embedded", "-o", "run"),
]
NEXT = ["run", "--case", "node.timer", "--launches", "1", "--budget", "0.05", "--mpi", "embedded"]
LONGEST_S = 120.0
RUNS_UNTIL_CLEAN = 3
SHARED_MEMORY = Path("/dev/shm")


def killed(chance: random.Random) -> Verdict | None:
    """Kill a run, a launcher or a rank of it, resume the run, and say what was lost or left."""
    with workplace() as place:
        found = _killed(chance, place)
    return Verdict(found[0], WORDS, found[1]) if found else None


def _killed(chance: random.Random, place: Path) -> tuple[Complaint, str] | None:
    segments = set(SHARED_MEMORY.glob("scope-*"))
    run = place / "run"
    command = _start(place, WORDS)
    time.sleep(chance.uniform(0.0, 6.0))
    number = chance.choice((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
    below = psutil.Process(command.pid).children(recursive=True) if command.poll() is None else []
    if below and chance.random() < 0.5:
        victim, number = chance.choice(below), signal.SIGKILL
        victim.send_signal(number)
    else:
        command.send_signal(number)
    if (ended := _ended(command, place)) is None:
        return "hang", f"after signal {number}"
    if not (run / "plan.txt").exists():
        return _trace(ended)
    samples = run / "samples.jsonl"
    content = samples.read_bytes() if samples.exists() else b""
    complete = content[: content.rfind(b"\n") + 1]
    resumed = _resumed(place)
    if resumed is None:
        return "hang", "resumed"
    if not samples.exists() or not samples.read_bytes().startswith(complete):
        return "lost samples", f"after signal {number}: {resumed[1][-500:]}"
    if cases(run) != planned(run):
        return "lost samples", f"{len(cases(run))} of {len(planned(run))} cases: {resumed[1][-500:]}"
    _next_run_of_another_minute(place)
    left = [*(set(SHARED_MEMORY.glob("scope-*")) - segments), *(place / "tmp").iterdir(), *_alive(place)]
    return ("leftover", ", ".join(map(str, left))) if left else _trace(ended) or _trace(resumed)


def _resumed(place: Path) -> tuple[int, str] | None:
    """Resume the run, when what was killed no longer uses it; return what `_ended` does."""
    answers: list[tuple[int, str] | None] = []

    def ended() -> bool:
        answers.append(_ended(_start(place, ["run", "--resume", "run"]), place))
        last = answers[-1]
        return last is None or last[0] != 2 or "another process is using it" not in last[1]

    with suppress(TimeoutError):
        until(ended, "the end of what was killed")
    return answers[-1]


def _next_run_of_another_minute(place: Path) -> None:
    """Let other runs remove what is left of the killed one; what is young may be of a run that begins.

    An MPI library uses its own folder again, which makes it young, and may leave it to the run after the next.
    """
    for number in range(RUNS_UNTIL_CLEAN):
        if not (left := list((place / "tmp").iterdir())):
            return
        for folder in left:
            os.utime(folder, (0, 0))
        _ended(_start(place, [*NEXT, "-o", f"next-{number}"]), place)


def prepare() -> None:
    """Compile what the runs need."""
    subprocess.run([str(SCOPE), "build", "--mpi", "embedded"], check=True, capture_output=True)


def _start(place: Path, words: list[str]) -> subprocess.Popen[bytes]:
    with (place / "said").open("wb") as said:
        return subprocess.Popen(
            [str(SCOPE), *words],
            cwd=place,
            env={**os.environ, "TMPDIR": str(place / "tmp")},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def _ended(command: subprocess.Popen[bytes], place: Path) -> tuple[int, str] | None:
    """Wait for a command and return its exit code and what it said; None where it hangs, which ends it."""
    try:
        code = command.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(command.pid, signal.SIGKILL)
        command.wait()
        return None
    return code, (place / "said").read_text(errors="replace")


def _trace(ended: tuple[int, str]) -> tuple[Complaint, str] | None:
    wrong = "Traceback (most recent call last)" in ended[1] or "a defect of Scope" in ended[1]
    return ("trace", ended[1][-2000:]) if wrong else None


def _alive(place: Path) -> list[int]:
    """Return the processes that work below a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(place):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found
