"""Is the tuned parallel sort worth its processes? algorithm.sort_psrs over std::sort alone divided by the ranks.

Interleaved, pinned launches. Wanted, for 8 Mi uniform floats on all cores: a ratio of at most 1, also with the
making of the input (total); skewed and all-equal input at most 1.5 times as slow as uniform.
usage: python benchmarks/sort_speed.py [--mpi NAME] [--ranks N] [--elements N] [--launches N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
from pathlib import Path

from launches import HERE, Pair, of_slowest

INPUTS = ("uniform", "skewed", "sorted", "equal", "with_nan")
SORTS = 3


def main() -> None:
    """Print one row per input and variant."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--elements", type=int, default=8 << 20)
    arguments.add_argument("--launches", type=int, default=7)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    plain = str(Path(pair.directory.name) / "plain_sort")
    subprocess.run([pair.mpi.compiler, "-std=c++20", "-O2", HERE / "plain_sort.cpp", "-o", plain], check=True)
    cases = [(variant, each) for variant in ("tuned", "plain") for each in INPUTS]
    lines = [
        f"algorithm.sort_psrs n={asked.elements} variant={variant} input={each} sampling.budget_s=0.5"
        for variant, each in cases
    ]
    alone: list[float] = []
    solved: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    total: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    for _ in range(asked.launches):
        printed = pair.start(plain, [str(asked.elements), str(SORTS)], ranks=1)
        alone.append(statistics.median(float(line) for line in printed.split()))
        for case, record in zip(cases, pair.measured(lines, asked.ranks), strict=True):
            solved[case].append(of_slowest(record, "solve_s"))
            total[case].append(of_slowest(record, None))
    serial_s = statistics.median(alone)
    share_s = serial_s / asked.ranks
    print(f"{asked.launches} interleaved launches, {asked.elements} floats, {asked.ranks} ranks")
    print(f"std::sort on one core: {serial_s * 1e3:.1f} ms, divided by the ranks {share_s * 1e3:.1f} ms")
    print(f"{'variant':<9}{'input':<10}{'solve ms':>10}{'ratio':>8}{'total ms':>10}{'ratio':>8}{'x uniform':>11}")
    for case in cases:
        solve_s, total_s = statistics.median(solved[case]), statistics.median(total[case])
        uniform_s = statistics.median(solved[case[0], "uniform"])
        print(
            f"{case[0]:<9}{case[1]:<10}{solve_s * 1e3:>10.1f}{solve_s / share_s:>8.3f}"
            f"{total_s * 1e3:>10.1f}{total_s / share_s:>8.3f}{solve_s / uniform_s:>11.2f}"
        )


if __name__ == "__main__":
    main()
