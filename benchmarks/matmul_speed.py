"""What do parallel products retain of the BLAS? Tuned algorithm.matmul_* over node.matrix_multiply on all cores.

Each pinned launch measures the BLAS before and after the algorithms; ratios of rates are taken within a launch,
then their median and quartiles over launches. Wanted at size 1680 of the whole, the making of the input included
(total): 0.85 by Cannon's algorithm, 0.80 by stripes.
usage: python benchmarks/matmul_speed.py [--mpi NAME] [--ranks N] [--launches N] [--sizes N ...] [--variant NAME]
"""

from __future__ import annotations

import argparse
import os
import statistics

from launches import Pair, of_slowest
from quartiles import quartiles

ALGORITHMS = ("cannon", "striped")


def main() -> None:
    """Print one row per size and algorithm."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--launches", type=int, default=7)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[840, 1080, 1320, 1680])
    arguments.add_argument("--variant", default="tuned")
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    print(f"{asked.launches} launches, {asked.ranks} ranks, {asked.variant}, {pair.mpi.name} {pair.mpi.version}")
    print(
        f"{'size':>5} {'algorithm':<9}{'BLAS Gflop/s':>13}{'solve ratio':>12} {'quartiles':<15}{'total ratio':>12}"
    )
    for size in asked.sizes:
        blas, ratios = measured(pair, size, asked)
        for name in ALGORITHMS:
            solved, total = zip(*ratios[name], strict=True)
            low, middle, high = quartiles(solved)
            print(
                f"{size:>5} {name:<9}{statistics.median(blas) / 1e9:>13.1f}{middle:>12.3f}"
                f" {f'{low:.3f} to {high:.3f}':<15}{statistics.median(total):>12.3f}",
                flush=True,
            )


def measured(
    pair: Pair, size: int, asked: argparse.Namespace
) -> tuple[list[float], dict[str, list[tuple[float, float]]]]:
    """Return the BLAS's rates in flop/s over all ranks, and per algorithm its ratios to them (solve, total)."""
    budget = "sampling.budget_s=1 sampling.precision=0.002"
    alone = f"node.matrix_multiply n={size} {budget}"
    lines = [f"algorithm.matmul_{name} n={size} variant={asked.variant} {budget}" for name in ALGORITHMS]
    blas: list[float] = []
    ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in ALGORITHMS}
    for _ in range(asked.launches):
        before, *records, after = pair.measured([alone, *lines, alone], asked.ranks)
        product_s = statistics.mean(of_slowest(each, None) for each in (before, after)) / asked.ranks
        blas.append(2 * size**3 / product_s)
        for name, record in zip(ALGORITHMS, records, strict=True):
            ratios[name].append((product_s / of_slowest(record, "solve_s"), product_s / of_slowest(record, None)))
    return blas, ratios


if __name__ == "__main__":
    main()
