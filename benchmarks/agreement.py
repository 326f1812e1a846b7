"""Does the framework add anything? Scope's latency and bandwidth over a plain C loop's, launch by launch.

Interleaved, pinned launches; the ratio of the medians over launches, with the spread of the pairwise ratios.
usage: python benchmarks/agreement.py [--mpi NAME] [--launches N]
"""

from __future__ import annotations

import argparse
import statistics

from launches import Pair, seconds
from quartiles import quartiles

SIZES = {0: (50, 1000), 1024: (25, 1000), 65536: (2, 500), 4194304: (1, 60)}
"""Iterations in a loop, and loops. A loop lasts about as long as one of Scope's repetitions, so that the medians
of both see interruptions alike; a mean over a long loop holds them, a median over short ones does not."""


def main() -> None:
    """Print one row per figure and size."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=11)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    print(f"{pair.mpi.name} {pair.mpi.version}, {asked.launches} interleaved launches of each, pinned")
    print(f"{'figure':<14}{'bytes':>9}{'Scope us':>12}{'plain us':>12}{'ratio':>8}   quartiles of pairs")
    for size, (iterations, loops) in SIZES.items():
        row(pair, "mpi.latency", "latency", size, iterations, loops, 2, asked.launches)
    for size, (iterations, loops) in SIZES.items():
        size = max(size, 1)
        row(pair, "mpi.bandwidth", "bandwidth", size, max(1, iterations // 25), loops, 1, asked.launches)


def row(
    pair: Pair, benchmark: str, what: str, size: int, iterations: int, loops: int, hops: int, launches: int
) -> None:
    """Measure one size both ways, in turn, and print the medians and their ratio."""
    line = f"{benchmark} message_bytes={size} sampling.budget_s=1 sampling.precision=0.002"
    ours, plain = [], []
    for launch in range(launches):
        both = [
            lambda: ours.append(seconds(pair.measured([line])[0], hops)),
            lambda: plain.append(pair.plain(what, size, iterations, loops)),
        ]
        for measure in both if launch % 2 else reversed(both):
            measure()
    ratio = statistics.median(ours) / statistics.median(plain)
    low, _, high = quartiles([one / other for one, other in zip(ours, plain, strict=True)])
    print(
        f"{benchmark:<14}{size:>9}{statistics.median(ours) * 1e6:>12.3f}{statistics.median(plain) * 1e6:>12.3f}"
        f"{ratio:>8.3f}   {low:.3f} to {high:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
