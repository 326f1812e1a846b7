"""What the monitor finds that only a clock shows: a process that comes late, naps, churns memory, or sends late.

A program with the fault runs under the monitor, on a machine that should be quiet. Prints how many runs had the
expected findings, and which others there were. Exit code 1 where a fault was missed in more than one run of ten.
usage: python benchmarks/timed_faults.py [--runs N] [--mpi NAME]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.build import installations
from hpcscope.findings.profile import ProfileFacts, find_all
from tests.profiles.faulty import Faulty

ROUNDS = 30
EXPECTED = {
    "nothing": {"off-cpu-time"},
    "late": {"late-process", "load-imbalance", "waiting-not-transferring"},
    "kernel": {"kernel-time"},
    "sender": {"late-sender"},
}
"""The program naps, even without a fault."""


def main() -> int:
    """Print one row per fault; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=10)
    arguments.add_argument("--mpi", default="embedded")
    asked = arguments.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        faulty = Faulty.compiled(installations.find(asked.mpi), Path(folder))
        for fault, expected in EXPECTED.items():
            found: Counter[str] = Counter()
            whole = 0
            for number in range(asked.runs):
                merged = faulty.profile(fault, ROUNDS, trace="0:60", number=number)
                codes = {one.code for one in find_all(ProfileFacts(merged))}
                whole += expected <= codes
                found.update(codes - expected)
            others = ", ".join(f"{code} {count}" for code, count in found.most_common())
            print(f"{fault:<10}{whole} of {asked.runs} found; others: {others or 'none'}", flush=True)
            missed |= whole < 0.9 * asked.runs
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
