"""Starts of the native program and of the plain loop, pinned and alike, for the comparisons in this folder."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hpcscope.build import installations, native
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine import processors

HERE = Path(__file__).resolve().parent


class Pair:
    """The native program and the plain loop, compiled for the same MPI."""

    def __init__(self, mpi: str | None = None, ranks: int = 2) -> None:
        self.ranks = ranks
        self.mpi = installations.find(mpi)
        self.native = native.build(self.mpi).program
        self.directory = tempfile.TemporaryDirectory()
        self.loop = self.compiled("plain_messages.c")

    def compiled(self, source: str) -> str:
        """Compile a C program of this folder for the MPI and return its path."""
        program = str(Path(self.directory.name) / Path(source).stem)
        compiler = Path(self.mpi.compiler)
        compiler = compiler.with_name(compiler.name.replace("mpicxx", "mpicc"))
        subprocess.run([compiler, "-O2", HERE / source, "-o", program, "-ldl"], check=True)
        return program

    def start(self, program: str, arguments: list[str], ranks: int = 0, folder: Path | None = None) -> str:
        """Run ranks in a folder, pinned unless they are more than the cores, and return what they print."""
        ranks = ranks or self.ranks
        oversubscribed = ranks > processors.usable()
        binding = "none" if oversubscribed else "core"
        job = MpiProgram(program, tuple(arguments), ranks, binding=binding, oversubscribed=oversubscribed)
        command = start_command(job, Site(self.mpi, self.mpi.launcher))
        environment = {**os.environ, **command.environment}
        ended = subprocess.run(
            command.arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=True
        )
        return ended.stdout

    def plain(self, words: list[str]) -> float:
        """Seconds per message, window or operation: the median over loops of one launch."""
        printed = self.start(self.loop, words)
        return statistics.median(float(line) for line in printed.split())

    def measured(self, lines: list[str], ranks: int = 0) -> list[dict[str, Any]]:
        """Return the case records of one launch of the native program with these plan lines."""
        folder = Path(self.directory.name)
        plan, output = folder / "plan.txt", folder / "samples.jsonl"
        plan.write_text("\n".join(lines) + "\n")
        output.unlink(missing_ok=True)
        self.start(self.native, ["--action=run", f"--plan={plan}", f"--output={output}"], ranks)
        records = [json.loads(line) for line in output.read_text().splitlines()]
        return [record for record in records if record["record"] == "case"]


def seconds(case: dict[str, Any], per_operation: float = 1) -> float:
    """Median time of the initiator's repetitions, warm-up left out, per operation and divisor."""
    series = case["series"][0]
    return statistics.median(series["elapsed_s"][0][series["warmup"] :]) / series["operations"] / per_operation


def headline_s(case: dict[str, Any], definition: str, statistic: Callable[[Any], Any] = np.median) -> float:
    """Median, or mean, over the repetitions that count of what a definition takes from them, in s an operation."""
    series = case["series"][0]
    elapsed_s = np.array(series["elapsed_s"])
    if definition == "half_round_trip":
        times_s = elapsed_s[0] / 2
    elif definition == "local":
        times_s = elapsed_s.max(axis=0)
    else:  # global
        entry_s = np.array(series["entry_s"])
        times_s = (entry_s + elapsed_s).max(axis=0) - entry_s.min(axis=0)
    counts = np.array(series.get("valid") or [True] * times_s.size)
    counts[: series["warmup"]] = False
    return float(statistic(times_s[counts])) / series["operations"]


def of_slowest(record: dict[str, Any], observed: str | None) -> float:
    """Median over repetitions of the slowest rank's time in s: of a whole operation, or of an observed part."""
    series = record["series"][0]
    by_rank = series["elapsed_s"] if observed is None else series["observed"][observed]
    slowest = [float(max(times)) / series["operations"] for times in zip(*by_rank, strict=True)]
    return statistics.median(slowest[series["warmup"] :])
