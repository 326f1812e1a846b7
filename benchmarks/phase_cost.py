"""What do the marks between phases cost an algorithm? Their number times one mark's cost, over the total.

The relaxation sets the most: 3 in each iteration with the blocking exchange, 6 with the overlapped one. Wanted:
below 1 % of any total.
usage: python benchmarks/phase_cost.py [--mpi NAME] [--ranks P] [--launches N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
from pathlib import Path

from launches import HERE, Pair, of_slowest

from hpcscope.build import native

MARKS = {"blocking": 3, "overlapped": 6}
"""Marks of one iteration."""
ITERATIONS = 1000
NEEDED = ("clocks/*.cpp", "mpi/*.cpp", "sampling/phases.cpp")


def main() -> None:
    """Print the cost of a mark, and its share for each size and exchange."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--launches", type=int, default=5)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    program = compiled(pair)
    cases = [(size, exchange) for size in (240, 720, 1500) for exchange in MARKS]
    lines = [
        f"algorithm.relaxation method=jacobi variant=tuned exchange={exchange} n={size} "
        f"iterations={ITERATIONS} sampling.budget_s=0.5"
        for size, exchange in cases
    ]
    costs_s: list[float] = []
    totals_s: dict[tuple[int, str], list[float]] = {case: [] for case in cases}
    for _ in range(asked.launches):
        costs_s.append(float(pair.start(program, [], ranks=1)) * 1e-9)
        for case, record in zip(cases, pair.measured(lines, asked.ranks), strict=True):
            totals_s[case].append(of_slowest(record, None))
    cost_s = statistics.median(costs_s)
    print(f"{cost_s * 1e9:.1f} ns for a mark; {asked.launches} interleaved launches, {asked.ranks} ranks")
    print(f"{'size':>6}  {'exchange':<12}{'total ms':>10}{'marks':>8}{'share':>8}")
    for size, exchange in cases:
        total_s = statistics.median(totals_s[size, exchange])
        marks = MARKS[exchange] * ITERATIONS
        print(f"{size:>6}  {exchange:<12}{total_s * 1e3:>10.1f}{marks:>8}{marks * cost_s / total_s:>8.2%}")


def compiled(pair: Pair) -> str:
    """Compile the loop over marks with the parts of the native program that it needs."""
    program = str(Path(pair.directory.name) / "phase_cost")
    source = native.source_directory() / "src"
    parts = [str(path) for pattern in NEEDED for path in sorted(source.glob(pattern))]
    words = [pair.mpi.compiler, "-std=c++20", "-O2", f"-I{source}", HERE / "phase_cost.cpp", *parts, "-o", program]
    subprocess.run(words, check=True)
    return program


if __name__ == "__main__":
    main()
