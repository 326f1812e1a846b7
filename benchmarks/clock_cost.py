"""Does the register clock cost less than MPI_Wtime? Pairs of reads, cases in turn within each launch.

usage: python benchmarks/clock_cost.py [--mpi NAME] [--launches N]
"""

from __future__ import annotations

import argparse
import statistics

from launches import Pair, seconds

CLOCKS = ["register", "clock_gettime", "mpi_wtime"]


def main() -> None:
    """Print nanoseconds per pair and the ratio to MPI_Wtime."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=9)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    pairs: dict[str, list[float]] = {clock: [] for clock in CLOCKS}
    for _ in range(asked.launches):
        cases = pair.measured([f"node.timer clock={clock} sampling.budget_s=0.2" for clock in CLOCKS], ranks=1)
        for clock, case in zip(CLOCKS, cases, strict=True):
            pairs[clock].append(seconds(case))
    for clock in CLOCKS:
        median = statistics.median(pairs[clock])
        ratio = median / statistics.median(pairs["mpi_wtime"])
        print(f"{clock:<14}{median * 1e9:8.1f} ns per pair, {ratio:.2f} of MPI_Wtime's")


if __name__ == "__main__":
    main()
