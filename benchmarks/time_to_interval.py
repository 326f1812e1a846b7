"""How many cases reach an interval of 2 % per second of measuring? Adaptive repetition against fixed counts.

The fixed counts are 10,000 messages up to 1 KiB, 1,000 up to 64 KiB and 100 above, each timed by itself in a plain
loop. The time of an adaptive case is all of it: preparation, calibration, warm-up, sampling and verification; the
fixed loop's is that of its iterations alone. Ping-pongs and windows of 64 messages, over all sizes.
usage: python benchmarks/time_to_interval.py [--mpi NAME] [--launches N] [--precision SHARE]
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass, field

import numpy as np
from launches import Pair

from hpcscope.statistics.order_statistics import median_interval

SIZES = [1, 64, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304]


@dataclass
class Tally:
    """What one way of repeating spent and reached."""

    spent_s: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def add(self, spent_s: float, width: float) -> None:
        """Take in a case: its time, and the half width of its median's interval over the median."""
        self.spent_s.append(spent_s)
        self.widths.append(width)

    def reached(self, interval: float) -> int:
        """Return how many cases are as tight as asked."""
        return sum(width <= interval for width in self.widths)

    def per_second(self, interval: float) -> float:
        """Return cases that are as tight as asked per second of measuring."""
        return self.reached(interval) / sum(self.spent_s)


def fixed_count(message_bytes: int) -> int:
    """Return how often a plain benchmark repeats a message of this size."""
    return 10_000 if message_bytes <= 1024 else 1_000 if message_bytes <= 65536 else 100


def half_width(times_s: list[float]) -> float:
    """Return the half width of the 95 % interval of the median over the median."""
    interval = median_interval(np.array(times_s))
    return float("inf") if interval is None else (interval.high - interval.low) / 2 / statistics.median(times_s)


def main() -> None:
    """Print what both reach, size by size and in all."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=5)
    arguments.add_argument("--precision", type=float, default=0.02)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    kinds = {"ping_pong": "mpi.latency", "stream": "mpi.bandwidth"}
    chosen = f"sampling.budget_s=2 sampling.precision={asked.precision}"
    adaptive, fixed = Tally(), Tally()
    by_case: dict[tuple[str, int], tuple[Tally, Tally]] = {}
    for _ in range(asked.launches):
        for kind, benchmark in kinds.items():
            lines = [f"{benchmark} message_bytes={size} {chosen}" for size in SIZES]
            for size, case in zip(SIZES, pair.measured(lines), strict=True):
                count = fixed_count(size)
                printed = pair.start(pair.loop, [kind, str(size), "1", str(count)])
                times_s = [float(line) for line in printed.split()]
                per_loop = 2 if kind == "ping_pong" else 1
                mine = by_case.setdefault((kind, size), (Tally(), Tally()))
                for tally in (adaptive, mine[0]):
                    tally.add(case["duration_s"], case["relative_interval"] or float("inf"))
                for tally in (fixed, mine[1]):
                    tally.add(per_loop * sum(times_s), half_width(times_s))
    print(f"{'':>10}{'bytes':>9}{'adaptive ms':>13}{'reached':>9}{'fixed ms':>11}{'reached':>9}")
    for (kind, size), (ours, theirs) in by_case.items():
        print(
            f"{kind:>10}{size:>9}{statistics.median(ours.spent_s) * 1e3:>13.2f}{ours.reached(asked.precision):>9}"
            f"{statistics.median(theirs.spent_s) * 1e3:>11.2f}{theirs.reached(asked.precision):>9}"
        )
    rates = [tally.per_second(asked.precision) for tally in (adaptive, fixed)]
    print(f"cases per second within {asked.precision:.0%}: adaptive {rates[0]:.1f}, fixed {rates[1]:.1f}")
    print(f"ratio {rates[0] / rates[1]:.2f}")


if __name__ == "__main__":
    main()
