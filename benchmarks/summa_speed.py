"""Compares algorithm.summa with ScaLAPACK's pdgemm and with the BLAS on all cores.

Each pinned launch measures node.matrix_multiply, both products with every block, and node.matrix_multiply again.
All call one BLAS. Ratios of rates are taken within a launch, each product at its own best block, then their median
and quartiles over launches. Wanted at n = 4000: 1 or more against pdgemm, 0.9 against the BLAS on as many ranks.
usage: python benchmarks/summa_speed.py [--mpi NAME] [--ranks N ...] [--sizes N ...] [--blocks N ...]
       [--launches N].
"""

from __future__ import annotations

import argparse
import statistics

from launches import Pair, of_slowest
from quartiles import quartiles

OURS, THEIRS = "algorithm.summa", "algorithm.scalapack_pdgemm"
ONCE = "sampling.budget_s=0.01 sampling.maximum_repetitions=3"


def main() -> None:
    """Print one row per number of ranks and size."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mpi")
    arguments.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    arguments.add_argument("--sizes", type=int, nargs="+", default=[2000, 4000])
    arguments.add_argument("--blocks", type=int, nargs="+", default=[64, 128, 256])
    arguments.add_argument("--launches", type=int, default=7)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    print(f"{asked.launches} launches, {pair.mpi.name} {pair.mpi.version}, blocks of {asked.blocks}")
    print(f"{'ranks':>5}{'n':>6}{'BLAS Gflop/s':>13}{'/ pdgemm, quartiles':>26}{'/ BLAS, quartiles':>24}")
    for ranks in asked.ranks:
        for size in asked.sizes:
            launches = [measured(pair, size, ranks, asked.blocks) for _ in range(asked.launches)]
            blas = statistics.median(rates[0] for rates in launches) / 1e9
            against = quartered([ours / theirs for _, ours, theirs in launches])
            retained = quartered([ours / peak for peak, ours, _ in launches])
            print(f"{ranks:>5}{size:>6}{blas:>13.1f}{against:>26}{retained:>24}", flush=True)


def quartered(ratios: list[float]) -> str:
    """Return median and quartiles."""
    low, middle, high = quartiles(ratios)
    return f"{middle:.3f} {low:.3f} to {high:.3f}"


def measured(pair: Pair, size: int, ranks: int, blocks: list[int]) -> tuple[float, float, float]:
    """Return the rates in flop/s of the BLAS on all ranks, of SUMMA and of pdgemm, in one launch."""
    alone = f"node.matrix_multiply n=1500 {ONCE}"
    products = [f"{name} n={size} block={block} {ONCE}" for block in blocks for name in (OURS, THEIRS)]
    before, *records, after = pair.measured([alone, *products, alone], ranks)
    for record in records:
        assert record["status"] == "ok", record["reason"]
    peak = 2 * 1500**3 * ranks / statistics.mean(of_slowest(each, None) for each in (before, after))
    best = {
        name: max(2 * size**3 / of_slowest(each, None) for each in records if each["benchmark"] == name)
        for name in (OURS, THEIRS)
    }
    return peak, best[OURS], best[THEIRS]


if __name__ == "__main__":
    main()
