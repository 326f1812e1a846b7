"""How near does the relaxation come to what memory or cache deliver? algorithm.relaxation over node.stream's copy.

A Jacobi sweep reads one array and writes another, as a copy does: its bound is the copy of arrays as large as a
process's block, on as many ranks at once, times the iterations. Both in the same pinned launches, in turn. Wanted
for tuned Jacobi, blocking: total at most 1.15 times the bound (in one array, it may be below 1). The other methods
have bounds of their own (see the specification); their ratio says what the method costs.
usage: python benchmarks/relaxation_bound.py [--mpi NAME] [--ranks N] [--iterations N] [--launches N] [--sizes N,N]
"""

from __future__ import annotations

import argparse
import os
import statistics

from launches import Pair, of_slowest

METHODS = (
    "method=jacobi variant=tuned exchange=blocking",
    "method=jacobi variant=tuned exchange=overlapped",
    "method=jacobi variant=plain exchange=blocking",
    "method=red_black variant=plain exchange=blocking",
    "method=chaotic variant=tuned exchange=blocking",
    "method=chaotic variant=plain exchange=blocking",
)


def main() -> None:
    """Print one row per size and method."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--iterations", type=int, default=1000)
    arguments.add_argument("--launches", type=int, default=7)
    arguments.add_argument("--sizes", default="240,720,1080,1500")
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    print(f"{asked.launches} launches, {asked.ranks} ranks, {asked.iterations} iterations; ratios to the bound")
    print(f"{'size':>6}{'copy GB/s':>11}{'bound ms':>10}  {'method':<50}{'compute':>9}{'solve':>8}{'total':>8}")
    for size in [int(word) for word in asked.sizes.split(",")]:
        measure(pair, size, asked.ranks, asked.iterations, asked.launches)


def measure(pair: Pair, size: int, ranks: int, iterations: int, launches: int) -> None:
    """Run all methods of one size, a copy before each of them, and print their ratios to it."""
    points = size * size // ranks
    stream = f"node.stream kernel=copy array_bytes={8 * points} sampling.budget_s=0.3"
    lines = [
        line
        for method in METHODS
        for line in (
            stream,
            f"algorithm.relaxation {method} n={size} iterations={iterations} sampling.budget_s=0.5",
        )
    ]
    bounds: list[float] = []
    parts: dict[tuple[str, str], list[float]] = {}
    for _ in range(launches):
        records = pair.measured(lines, ranks)
        for method, copy, relaxation in zip(METHODS, records[::2], records[1::2], strict=True):
            bounds.append(of_slowest(copy, None) * iterations)
            for part in ("compute_s", "solve_s", None):
                parts.setdefault((method, str(part)), []).append(of_slowest(relaxation, part))
    bound_s = statistics.median(bounds)
    rate = 16 * points * ranks * iterations / bound_s
    for method in METHODS:
        ratios = [statistics.median(parts[method, part]) / bound_s for part in ("compute_s", "solve_s", "None")]
        print(
            f"{size:>6}{rate / 1e9:>11.1f}{bound_s * 1e3:>10.1f}  {method:<50}"
            f"{ratios[0]:>9.2f}{ratios[1]:>8.2f}{ratios[2]:>8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
