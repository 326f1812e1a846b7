"""Runs `scope` as a person would, in a folder of its own."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_S

SCOPE = Path(sysconfig.get_path("scripts")) / "scope"
BRIEF = ["--mpi", "embedded", "--budget", "0.05", "--seed", "3"]


@dataclass(frozen=True)
class Answer:
    """How a command ended and what it said."""

    code: int
    output: str
    errors: str

    def refusal(self) -> str:
        """Return the one line of a refusal: exit code 2, nothing printed, no trace."""
        assert (self.code, self.output) == (2, ""), self
        assert self.errors.count("\n") == 1, self.errors
        return self.errors.strip()


def scope(folder: Path, *words: str) -> Answer:
    """Run a command to its end."""
    done = subprocess.run(
        [str(SCOPE), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a command that a test will interrupt, also where this process itself ignores interrupts."""
    return subprocess.Popen(
        [str(SCOPE), *words],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # before any interrupt of the caller
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def wait_until(ready: Callable[[], bool]) -> None:
    """Wait for something that a running command does."""
    deadline = time.monotonic() + PATIENCE_S
    while not ready():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def samples(run: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a run's samples."""
    text = (run / "samples.jsonl").read_text() if (run / "samples.jsonl").exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def rewrite_times(run: Path, time_s: Callable[[dict[str, Any]], float]) -> None:
    """Give every operation of a run the time in seconds that `time_s` returns for its case, within 1 %.

    What a test derives from such a run does not depend on how steady the machine was.
    """
    records = samples(run)
    scatter = random.Random(1)
    for record in records:
        for series in record.get("series", []):
            elapsed_s = time_s(record) * series["operations"]
            series["elapsed_s"] = [
                [elapsed_s * scatter.uniform(0.99, 1.01) for _ in row] for row in series["elapsed_s"]
            ]
    # No sentinel: the states of the real machine are not those of these times.
    kept = [{key: value for key, value in record.items() if key != "crc32"} for record in records]
    lines = [json.dumps(record) + "\n" for record in kept if record["record"] != "sentinel"]
    (run / "samples.jsonl").write_text("".join(lines))


def cases(run: Path) -> list[tuple[int, int, str, str]]:
    """Return (launch, position, benchmark, parameters) of every case that has its record, sorted."""
    return sorted(
        (line["launch"], line["position"], line["benchmark"], json.dumps(line["parameters"], sort_keys=True))
        for line in samples(run)
        if line["record"] == "case"
    )


def planned(run: Path) -> list[tuple[int, int, str, str]]:
    """Return the same of every case of the plan."""
    from scope.plan import plan

    return sorted(
        (launch.number, position, case.benchmark, json.dumps(case.parameters, sort_keys=True))
        for launch in plan.read(run / "plan.txt").launches
        for position, case in enumerate(launch.cases)
    )
