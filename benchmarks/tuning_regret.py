"""How far from the best of all settings is what `scope tune linpack` chose, and were all well ordered.

Takes the folder of a tuning, runs every setting that it predicted at its last size in interleaved launches, and
prints how much slower the chosen one is than the best (the regret), where it stands among all, the rank
correlation of predicted and measured times, and the best ones. Wanted: a regret within the noise, 2 %.
usage: python benchmarks/tuning_regret.py RUN [--mpi NAME] [--launches N] [--n N]
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from launches import Pair, of_slowest
from scipy.stats import spearmanr

from hpcscope.rundirectory import read_json
from hpcscope.tune.record import FILE, Tuning, flops


def main() -> None:
    """Print the regret, and the best ten."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("run", type=Path)
    arguments.add_argument("--mpi")
    arguments.add_argument("--launches", type=int, default=5)
    arguments.add_argument("--n", type=int)
    asked = arguments.parse_args()
    tuning = read_json(asked.run / FILE, Tuning)
    if tuning.conclusion is None:
        raise SystemExit(f"{asked.run}: the tuning has no conclusion yet")
    chosen, n = tuning.conclusion.chosen, asked.n or tuning.conclusion.n
    pair = Pair(asked.mpi)
    lines = [
        " ".join(["algorithm.linpack", *(f"{k}={v}" for k, v in each.candidate.settings(n).items())])
        + " sampling.budget_s=0.2 sampling.synchronization=dissemination"
        for each in tuning.predicted
    ]
    taken: list[list[float]] = [[] for _ in lines]
    for launch in range(asked.launches):
        # Forth and back, so that drift meets all alike.
        order = range(len(lines)) if launch % 2 == 0 else range(len(lines) - 1, -1, -1)
        for place, record in zip(order, pair.measured([lines[i] for i in order], chosen.ranks), strict=True):
            assert record["status"] == "ok", record["reason"]
            taken[place].append(of_slowest(record, None))
    times = [statistics.median(each) for each in taken]
    ranked = sorted(range(len(times)), key=times.__getitem__)
    mine = next(i for i, each in enumerate(tuning.predicted) if each.candidate == chosen)
    tried = {each.candidate for part in tuning.rounds for each in part.tries}
    predicted = [each.seconds for each in tuning.predicted]
    print(
        f"n={n}, {chosen.ranks} ranks, {asked.launches} launches, {len(tried)} of {len(times)} settings were tried"
    )
    print(f"regret {times[mine] / times[ranked[0]] - 1:.1%}; place {ranked.index(mine) + 1} of {len(times)}")
    print(f"the worst takes {times[ranked[-1]] / times[ranked[0]]:.2f} times as long as the best")
    print(f"rank correlation of predicted and measured times {spearmanr(predicted, times).statistic:.2f}")
    for i in ranked[:10]:
        mark = "chosen" if i == mine else "tried" if tuning.predicted[i].candidate in tried else ""
        print(f"{flops(n) / times[i] / 1e9:9.2f} Gflop/s  {tuning.predicted[i].candidate.label:<40} {mark}")


if __name__ == "__main__":
    main()
