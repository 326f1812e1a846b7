"""Are the NAS kernels over active messages as fast as over TCP? Launches in turn over the links of a lab.

Ranks of several hosts share the processors of this machine: with more ranks than processors, what a transport does
in the kernel takes time from the computation.
usage: python benchmarks/npb_transports.py [--launches N] [--kernels bt,cg] [--classes S,W] [--ranks 2,4]
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from quartiles import quartiles

LAB = "gamma"
KERNELS = "bt,cg,ft,is,lu,mg,sp"
TRANSPORTS = ("tcp", "active-messages")
BUDGET_S = 1.5
PATIENCE_S = 200


def main() -> None:
    """Print one row per class, number of ranks and kernel."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--mpi", default="openmpi")
    arguments.add_argument("--launches", type=int, default=3)
    arguments.add_argument("--kernels", default=KERNELS)
    arguments.add_argument("--classes", default="S,W")
    arguments.add_argument("--ranks", default="2,4")
    asked = arguments.parse_args()
    print(f"{asked.mpi}, lab {LAB}, {asked.launches} launches in turn; medians in ms")
    print(f"{'class':<7}{'ranks':>5}  {'kernel':<8}{'TCP':>10}{'active':>10}{'ratio':>8}   quartiles of pairs")
    points = itertools.product(
        asked.classes.split(","), map(int, asked.ranks.split(",")), asked.kernels.split(",")
    )
    for size, ranks, kernel in points:
        case = f"application.npb_{kernel} class={size}"
        found: dict[str, list[float]] = {transport: [] for transport in TRANSPORTS}
        for launch in range(asked.launches):
            for transport in TRANSPORTS[:: -1 if launch % 2 else 1]:
                found[transport].append(median_s(case, ranks, transport, asked.mpi))
        tcp, active = (statistics.median(found[transport]) for transport in TRANSPORTS)
        pairs = [ours / theirs for theirs, ours in zip(*found.values(), strict=True)]
        low, _, high = quartiles(pairs)
        figures = f"{tcp * 1e3:>10.1f}{active * 1e3:>10.1f}{active / tcp:>8.2f}"
        print(f"{size:<7}{ranks:>5}  {kernel.upper():<8}{figures}   {low:.2f} to {high:.2f}", flush=True)


def median_s(case: str, ranks: int, transport: str, mpi: str) -> float:
    """Return the median time of one launch."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        what = ["--case", case, "--ranks", str(ranks), "--transport", transport, "--mpi", mpi]
        how = ["--launches", "1", "--budget", str(BUDGET_S), "--output", str(run)]
        command = [sys.executable, "-m", "hpcscope", "--lab", LAB, "run", *what, *how]
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S)
        if ended.returncode != 0:
            raise SystemExit(ended.stderr)
        summaries = json.loads((run / "statistics.json").read_text("utf-8"))["summaries"]
        return float(next(one["median"] for one in summaries if one["primary"]))


if __name__ == "__main__":
    main()
