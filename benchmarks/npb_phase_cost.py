"""What do the marks between the phases of the NAS kernels cost? Each with them against the same without, in turn.

The native program is compiled a second time with SCOPE_WITHOUT_PHASES, where a mark does nothing; messages are
counted in both. Each pair of launches gives a ratio; printed are the medians of the times, and the cost with the
interval of the ratios' median by order statistics. Wanted: below 1 %.
usage: python benchmarks/npb_phase_cost.py [--mpi NAME] [--class W] [--ranks 1,2] [--pairs N] [--kernels cg,mg]
"""

from __future__ import annotations

import argparse
import os
import statistics

import numpy as np
from launches import Pair, of_slowest
from npb_speed import KERNELS

from hpcscope.statistics.order_statistics import median_interval

BUDGET_S = 1.0
"""Of a kernel in a launch."""
SWITCH = "-DSCOPE_WITHOUT_PHASES"


def main() -> None:
    """Print one row for each kernel and number of processes."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mpi")
    arguments.add_argument("--class", dest="problem", default="W")
    arguments.add_argument("--ranks", default="1,2")
    arguments.add_argument("--pairs", type=int, default=9)
    arguments.add_argument("--kernels", default=",".join(KERNELS))
    asked = arguments.parse_args()
    kernels = asked.kernels.split(",")
    marked = Pair(asked.mpi)
    os.environ["CXXFLAGS"] = f"{os.environ.get('CXXFLAGS', '')} {SWITCH}".strip()
    unmarked = Pair(asked.mpi)
    assert marked.native != unmarked.native
    print(
        f"{marked.mpi.name} {marked.mpi.version}, class {asked.problem}, "
        f"{asked.pairs} interleaved pairs of launches"
    )
    print(f"{'kernel':<7}{'ranks':>6}{'with ms':>10}{'without ms':>12}{'cost':>9}   interval")
    lines = [f"application.npb_{each} class={asked.problem} sampling.budget_s={BUDGET_S}" for each in kernels]
    for ranks in map(int, asked.ranks.split(",")):
        taken: dict[Pair, list[list[float]]] = {marked: [], unmarked: []}
        for number in range(asked.pairs):
            for program in (marked, unmarked) if number % 2 == 0 else (unmarked, marked):
                taken[program].append(times_s(program, lines, ranks))
        for index, kernel in enumerate(kernels):
            own, bare = ([times[index] for times in taken[program]] for program in (marked, unmarked))
            ratios = np.array(own) / np.array(bare)
            interval = median_interval(ratios)
            words = f"[{interval.low - 1:+.2%}, {interval.high - 1:+.2%}]" if interval else ""
            print(
                f"{kernel:<7}{ranks:>6}{statistics.median(own) * 1e3:>10.2f}{statistics.median(bare) * 1e3:>12.2f}"
                f"{np.median(ratios) - 1:>+9.2%}   {words}",
                flush=True,
            )


def times_s(program: Pair, lines: list[str], ranks: int) -> list[float]:
    """Return the median time of each kernel in one launch, each of the slowest process."""
    records = program.measured(lines, ranks)
    for record in records:
        if record["status"] != "ok":
            raise SystemExit(f"{record['benchmark']} on {ranks}: {record['status']}: {record['reason']}")
    return [of_slowest(record, None) for record in records]


if __name__ == "__main__":
    main()
