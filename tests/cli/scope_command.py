"""Runs `scope` as a person would, in a folder of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcscope import cli
from tests.patience import PATIENCE_S

SCOPE = Path(sysconfig.get_path("scripts")) / "scope"
BRIEF = ["--mpi", "embedded", "--budget", "0.05", "--seed", "3"]
LATENCY = "mpi.latency message_bytes=0,1Ki"
LONG = [
    "--case",
    "mpi.latency message_bytes=0,1,2,4,8,16,32,64",
    "--case",
    "mpi.barrier ranks=2",
    "--launches",
    "4",
]


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


def answered(folder: Path, *words: str) -> Answer:
    """Carry out a command in this process, which saves what a process of its own takes to begin."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = cli.answer(list(words))
    return Answer(code, output.getvalue(), errors.getvalue())


def start(
    folder: Path, *words: str, program: Sequence[str] = (str(SCOPE),), **environment: str
) -> subprocess.Popen[str]:
    """Start a command that a test will interrupt, also where this process itself ignores interrupts."""
    return subprocess.Popen(
        [*program, *words],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # before any interrupt of the caller
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def samples(run: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a run's samples."""
    text = (run / "samples.jsonl").read_text() if (run / "samples.jsonl").exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def rewrite_times(run: Path, time_s: Callable[[dict[str, Any]], float]) -> None:
    """Give every operation of a run the time in seconds that `time_s` returns for its case, within 1 %.

    All ranks then begin at once and in time, and times of parts stay as large parts. What a test derives from
    such a run does not depend on how steady the machine was.
    """
    records = samples(run)
    scatter = random.Random(1)
    for record in records:
        for series in record.get("series", []):
            elapsed_s = time_s(record) * series["operations"]
            before = series["elapsed_s"]
            series["elapsed_s"] = [[elapsed_s * scatter.uniform(0.99, 1.01) for _ in row] for row in before]
            for name, values in series.get("observed", {}).items():
                if name.endswith("_s") and "_per_" not in name:
                    rows = zip(values, series["elapsed_s"], before, strict=True)
                    series["observed"][name] = [_scaled(*row) for row in rows]
            if "entry_s" in series:
                series["entry_s"] = [[0.0] * len(row) for row in series["entry_s"]]
            if "valid" in series:
                series["valid"] = [True] * len(series["valid"])
    # No sentinel: the states of the real machine are not those of these times.
    kept = [{key: value for key, value in record.items() if key != "crc32"} for record in records]
    lines = [json.dumps(record) + "\n" for record in kept if record["record"] != "sentinel"]
    (run / "samples.jsonl").write_text("".join(lines))


def _scaled(parts: list[float], now: list[float], before: list[float]) -> list[float]:
    """Return times that were parts of others as the same parts of what these are now."""
    return [part * to / of if of else part for part, to, of in zip(parts, now, before, strict=True)]


def cases(run: Path) -> list[tuple[int, int, str, str]]:
    """Return (launch, position, benchmark, parameters) of every case that has its record, sorted."""
    return sorted(
        (line["launch"], line["position"], line["benchmark"], json.dumps(line["parameters"], sort_keys=True))
        for line in samples(run)
        if line["record"] == "case"
    )


def planned(run: Path) -> list[tuple[int, int, str, str]]:
    """Return the same of every case of the plan."""
    from hpcscope.plan import plan

    return sorted(
        (launch.number, position, case.benchmark, json.dumps(case.parameters, sort_keys=True))
        for launch in plan.read(run / "plan.txt").launches
        for position, case in enumerate(launch.cases)
    )


def status(run: Path) -> str:
    """Return how a run stands."""
    return str(json.loads((run / "run.json").read_text())["status"])
