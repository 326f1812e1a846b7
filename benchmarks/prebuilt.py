"""The times of a program that comes with Scope over those of one that is compiled for this MPI alone.

Interleaved, pinned launches of both with the same cases; for each case the ratio over the pairs of launches, with
its 95 % interval. Exit code 1 where an interval lies outside 0.98 to 1.02; a wider one than that is undecided.
usage: python benchmarks/prebuilt.py [--programs FOLDER] [--mpi NAME] [--standard] [--launches N] [--case LINE ...]
FOLDER is build/wheel/prebuilt of `make wheel`; --standard takes the program for the ABI of the MPI standard.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from launches import Pair, of_slowest
from verdict import TITLES, summary, verdict

from hpcscope.build import native, prebuilt

BAND = (0.98, 1.02)
CASES = (
    "mpi.latency message_bytes=8",
    "mpi.latency message_bytes=65536",
    "mpi.bandwidth message_bytes=1048576",
    "mpi.one_sided operation=put epoch=fence message_bytes=1024",
    "mpi.barrier",
    "mpi.allreduce message_bytes=8",
    "mpi.allreduce message_bytes=65536",
    "mpi.broadcast message_bytes=1024",
    "mpi.alltoall message_bytes=1024",
    "operation.broadcast n=360",
    "algorithm.sort_psrs n=20000",
    "node.stream",
    "node.livermore kernel=7",
)
SAMPLING = "sampling.budget_s=0.3 sampling.precision=0.002"


def main() -> int:
    """Print one row per case; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    built = Path(__file__).resolve().parents[1] / "build/wheel/prebuilt"
    arguments.add_argument("--programs", type=Path, default=built)
    arguments.add_argument("--mpi")
    arguments.add_argument("--standard", action="store_true")
    arguments.add_argument("--launches", type=int, default=11)
    arguments.add_argument("--case", nargs="+", default=CASES, metavar="LINE")
    asked = arguments.parse_args()
    pair = Pair(asked.mpi)
    abis = [prebuilt.STANDARD] if asked.standard else list(prebuilt.ABIS)
    ready = prebuilt.fitting(pair.mpi, [asked.programs / abi for abi in abis])
    if ready is None:
        sys.exit(f"{asked.programs}: no program fits {pair.mpi.name} {pair.mpi.version}")
    programs = (
        str(ready.placed({}) / native.PROGRAM),
        native.build(pair.mpi, compile_own=True).program,
    )
    print(
        f"{pair.mpi.name} {pair.mpi.version}, {ready.abi}, {asked.launches} interleaved launches of each, pinned"
    )
    lines = [f"{case} {SAMPLING}" for case in asked.case]
    times_s: dict[str, tuple[list[float], list[float]]] = {case: ([], []) for case in asked.case}
    for launch in range(asked.launches):
        for which in (0, 1) if launch % 2 else (1, 0):
            pair.native = programs[which]
            for case, record in zip(asked.case, pair.measured(lines), strict=True):
                times_s[case][which].append(of_slowest(record, None))
    print(f"{'case':<62}{TITLES.replace('Scope', 'ready').replace('other', '  own')}")
    verdicts = {case: verdict(*both, BAND) for case, both in times_s.items()}
    for case, found in verdicts.items():
        print(f"{case:<62}{found.columns()}")
    return summary([found.word for found in verdicts.values()])


if __name__ == "__main__":
    sys.exit(main())
