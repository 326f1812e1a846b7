"""Whether competitors on a rank's processor, for a known time, are found as another state of the machine.

On a machine that should be quiet. Prints for each run how much of that time and of the slow state are the same,
and how long the rank waited for its processor, in visits beside competitors and alone. Exit code 1: fewer than
nine runs of ten have two states, an overlap above a half, a longer wait, and the finding `processor-taken`.
usage: python benchmarks/competitor.py [--runs N] [--mpi NAME]
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.build import installations, native
from hpcscope.findings.results import Run
from hpcscope.findings.run.measurement import processor_taken
from hpcscope.machine.machine import NativeBuild
from tests.launch.test_competitor import measuring, run, stopped
from tests.patience import until

BEFORE, BESIDE, AFTER = 10, 12, 10
"""Measurements of the sentinel before, while and after others compete: about 8 s on a quiet machine."""
COMPETITORS = 8


def main() -> int:
    """Print one row per run; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=10)
    arguments.add_argument("--mpi", default="embedded")
    asked = arguments.parse_args()
    build = native.build(installations.find(asked.mpi))
    good = 0
    print("| states | overlap | waited beside | waited alone | processor-taken |\n|---|---|---|---|---|")
    for _ in range(asked.runs):
        with tempfile.TemporaryDirectory() as folder:
            begin, end = measured_beside(build, Path(folder))
            measured = run(Path(folder))
            overlap = overlap_with_another_state(measured, begin, end)
            beside, alone = waits(measured, begin, end)
            named = any(finding.code == "processor-taken" for finding in processor_taken.find(measured))
            good += overlap > 0.5 and beside > alone and named
            print(
                f"| {len(measured.course.states)} | {overlap:.2f} | {beside:.2f} | {alone:.2f} | {named} |",
                flush=True,
            )
    return int(good < 0.9 * asked.runs)


def measured_beside(build: NativeBuild, folder: Path) -> tuple[float, float]:
    """Measure, for a while with competitors; return when they competed."""
    samples = folder / "samples.jsonl"

    def until_sentinels(count: int) -> None:
        until(
            lambda: samples.exists() and samples.read_text().count('"record":"sentinel"') >= count,
            f"the sentinel is measured {count} times",
        )

    with stopped(COMPETITORS) as competitors, measuring(build, folder, 3000):
        until_sentinels(BEFORE)
        begin = time.time()
        for competitor in competitors:
            competitor.send_signal(signal.SIGCONT)
        until_sentinels(BEFORE + BESIDE)
        for competitor in competitors:
            competitor.send_signal(signal.SIGSTOP)
        end = time.time()
        until_sentinels(BEFORE + BESIDE + AFTER)
    return begin, end


def overlap_with_another_state(measured: Run, begin: float, end: float) -> float:
    """Return the time in both the second of two states and begin ... end, as a share of that in either of them."""
    course = measured.course
    if len(course.states) != 2:
        return 0.0
    slow = [(period.begin_unix_s, period.end_unix_s) for period in course.periods if period.state == 1]
    both = sum(max(0.0, min(to, end) - max(since, begin)) for since, to in slow)
    return both / (end - begin + sum(to - since for since, to in slow) - both)


def waits(measured: Run, begin: float, end: float) -> tuple[float, float]:
    """Return the median share of a visit that the rank waited for its processor: beside competitors, and alone."""
    beside, alone = [], []
    for case in measured.raw_samples.cases:
        assert case.disturbances is not None
        waited = (case.disturbances.waited_s or 0.0) / case.duration_s
        (beside if begin <= case.started_unix_s <= end - case.duration_s else alone).append(waited)
    return median(beside), median(alone)


if __name__ == "__main__":
    sys.exit(main())
