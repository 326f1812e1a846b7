"""What does an interval of 5 % cost? Adaptive repetition against a fixed loop of 1,000 iterations, size by size.

The time of a case is all of it: preparation, calibration, warm-up, sampling and verification. The fixed loop's is
that of its 1,000 iterations alone. usage: python benchmarks/time_to_interval.py [--mpi NAME] [--launches N]
"""

from __future__ import annotations

import argparse
import statistics

from launches import Pair

SIZES = [0, 1, 64, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304]


def main() -> None:
    """Print the cost at each size and in all."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=7)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    lines = [f"mpi.latency message_bytes={size} sampling.budget_s=5 sampling.interval=0.05" for size in SIZES]
    adaptive: dict[int, list[float]] = {size: [] for size in SIZES}
    fixed: dict[int, list[float]] = {size: [] for size in SIZES}
    reached = 0
    for _ in range(asked.launches):
        for case in pair.measured(lines):
            adaptive[case["parameters"]["message_bytes"]].append(case["duration_s"])
            reached += case["stopped"] == "interval"
        for size in SIZES:
            fixed[size].append(pair.plain("latency", size, 1000, 1) * 2 * 1000)
    print(f"interval reached in {reached} of {len(SIZES) * asked.launches} cases")
    print(f"{'bytes':>9}{'adaptive ms':>14}{'1,000 loops ms':>16}{'ratio':>8}")
    for size in SIZES:
        ours, theirs = statistics.median(adaptive[size]), statistics.median(fixed[size])
        print(f"{size:>9}{ours * 1e3:>14.2f}{theirs * 1e3:>16.2f}{ours / theirs:>8.3f}")
    totals = [sum(statistics.median(times) for times in by_size.values()) for by_size in (adaptive, fixed)]
    print(f"{'all':>9}{totals[0] * 1e3:>14.2f}{totals[1] * 1e3:>16.2f}{totals[0] / totals[1]:>8.3f}")


if __name__ == "__main__":
    main()
