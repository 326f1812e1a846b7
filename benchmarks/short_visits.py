"""Do short visits give the figures of long ones? Every cheap case of a run's plan, in pairs of launches.

A short visit is as `scope run` makes it, with the warm-up of a first one; a long one has 50 ms. A case that takes
over 0.1 s is left out: both visits would be the same. Exit code 1 where a case moves by more than 2 % for certain.
usage: python benchmarks/short_visits.py RUN [--mpi NAME] [--pairs N]
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from launches import Pair

from hpcscope.plan.plan import FIRST_VISIT, LATER_VISIT, PlannedCase, read
from hpcscope.rundirectory import RunDirectory
from hpcscope.statistics.order_statistics import median_interval

LONG = {"budget_s": 0.05, "minimum_repetitions": 20, "maximum_repetitions": 1000, "precision": 0.0001}
MOVED = 0.02
DEAR_S = 0.1


def main() -> int:
    """Print the cases that move, and how many do; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("run", type=Path)
    arguments.add_argument("--mpi")
    arguments.add_argument("--pairs", type=int, default=12)
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    by_ranks: dict[int, dict[str, PlannedCase]] = defaultdict(dict)
    for launch in read(RunDirectory(asked.run).plan).launches:
        if launch.transport == "default":
            for case in launch.cases:
                by_ranks[launch.ranks].setdefault(f"{case.benchmark} {case.settings}", case)
    ratios: dict[str, list[float]] = defaultdict(list)
    for ranks, cases in sorted(by_ranks.items()):
        first = dict(visited(pair, list(cases), FIRST_VISIT, {}, ranks))
        names = [name for name, record in first.items() if record["duration_s"] < DEAR_S]
        learned = {name: first[name]["series"][0]["warmup"] for name in names}
        print(f"{ranks} ranks: {len(names)} of {len(cases)} cases", flush=True)
        for number in range(asked.pairs):
            ways = [(LATER_VISIT, learned), (LONG, {})]
            medians = {}
            for sampling, warmup in ways if number % 2 else reversed(ways):
                medians[bool(warmup)] = {
                    name: record["median_s"] for name, record in visited(pair, names, sampling, warmup, ranks)
                }
            for name in medians[True].keys() & medians[False].keys():
                ratios[f"{name}, {ranks} ranks"].append(medians[True][name] / medians[False][name])
    return told(ratios)


def visited(
    pair: Pair, names: list[str], sampling: dict[str, Any], warmup: dict[str, int], ranks: int
) -> list[tuple[str, dict[str, Any]]]:
    """Return the records of one launch that visits the cases."""
    words = " ".join(f"sampling.{key}={value}" for key, value in sampling.items())
    lines = [f"{name} {words}" + (f" sampling.warmup={warmup[name]}" if name in warmup else "") for name in names]
    found = zip(names, pair.measured(lines, ranks), strict=True)
    return [(name, record) for name, record in found if record.get("median_s")]


def told(ratios: dict[str, list[float]]) -> int:
    """Print the cases that move for certain, and how many are undecided."""
    moved, wide, middles = 0, 0, []
    for name, values in sorted(ratios.items(), key=lambda each: -abs(np.log(np.median(each[1])))):
        interval = median_interval(np.array(values))
        assert interval is not None
        middles.append(float(np.median(values)))
        if interval.low > 1 + MOVED or interval.high < 1 - MOVED:
            moved += 1
            print(f"{middles[-1]:.3f} [{interval.low:.3f}, {interval.high:.3f}]  {name}")
        elif interval.high - interval.low > 2 * MOVED:
            wide += 1
    print(f"{moved} of {len(ratios)} cases move by more than {MOVED:.0%}, {wide} are undecided;", end=" ")
    print(f"median ratio {np.median(middles):.3f}")
    return int(moved > 0)


if __name__ == "__main__":
    sys.exit(main())
