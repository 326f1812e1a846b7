"""Programs of other suites that are installed on this machine, started for one size."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from launches import Pair


@dataclass(frozen=True)
class Program:
    """One benchmark of another suite."""

    suite: str
    name: str
    window: int = 0
    """Messages in a window, where it prints bandwidth: 1 MB is 10^6 B. Else it prints microseconds."""

    def seconds(self, pair: Pair, where: Path, size: int, iterations: int) -> float:
        """Start it once and return seconds per message, window or operation: the mean that it prints."""
        if self.suite == "IMB":
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as lengths:
                lengths.write(f"{size}\n")
                lengths.flush()
                words = [self.name, "-msglen", lengths.name, "-iter", str(iterations), "-time", "20"]
                printed = pair.start(str(where), words)
        else:
            printed = pair.start(str(where / self.name), ["-m", f"{size}:{size}", "-i", str(iterations)])
        columns = next(line.split() for line in printed.splitlines() if re.match(rf"\s*{size}\s", line))
        value = float(columns[2 if self.suite == "IMB" else 1])
        return self.window * size / (value * 1e6) if self.window else value * 1e-6


def imb(name: str, window: int = 0) -> Program:
    """Return a benchmark of IMB-MPI1."""
    return Program("IMB", name, window)


def osu(name: str, window: int = 0) -> Program:
    """Return a program of the OSU micro-benchmarks."""
    return Program("OSU", name, window)
