"""How often states of the machine are found where there are none, and where there are.

Runs of 30 cases in 12 launches are simulated, 3 visits of 8 repetitions each, with a sentinel every 0.2 s of which
one in twenty-five is interrupted. Prints the values of docs/validation/statistics.md in tables.
usage: python benchmarks/machine_states.py [--runs N]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.samples.samples import Samples
from hpcscope.statistics.course import course_of
from tests.statistics.test_course import BEGIN_S, LENGTH_S, Machine, between, run, steady, with_sentinel

BEGIN = 0.1
"""Of the run, before the slow state."""
FACTORS = (1.2, 1.3, 1.5, 2.0, 3.0)
SHARES = (0.1, 0.3, 0.5)


def healthy(random: np.random.Generator) -> Iterator[tuple[str, Samples]]:
    """Yield a run of each kind of healthy machine."""
    yield "launches scatter by 2 %", with_sentinel(random, run(random, steady), steady)
    yield "launches scatter by 5 %", with_sentinel(random, run(random, steady, 0.05), steady)
    alike = run(random, steady, 0.02, correlation=0.9)
    yield "launches resemble the ones before (AR(1), 0.9)", with_sentinel(random, alike, steady)
    busy = with_sentinel(random, run(random, steady), steady, outliers=0.2)
    yield "one sentinel in five is interrupted", busy
    slope: Machine = lambda now_s: float(np.exp(0.3 * now_s / LENGTH_S))  # noqa: E731
    yield "the machine drifts by 35 %", with_sentinel(random, run(random, slope), slope)


def false_alarms(random: np.random.Generator, runs: int) -> None:
    """Print how often healthy runs show several states."""
    alarms: dict[str, int] = {}
    for _ in range(runs):
        for name, samples in healthy(random):
            alarms[name] = alarms.get(name, 0) + (len(course_of(samples).states) > 1)
    print("| healthy runs | states found |\n|---|---|")
    for name, count in alarms.items():
        bound = float(stats.beta.ppf(0.95, count + 1, runs - count))
        print(f"| {name} | {100 * count / runs:.1f} % (below {100 * bound:.1f} %) |")


def found(random: np.random.Generator, runs: int) -> None:
    """Print how often a slow state is found, and which share of the visits is attributed to the right state."""
    print("\n| slow state | all cases | a fifth of the cases, and the sentinel | visits attributed right |")
    print("|---|---|---|---|")
    for factor in FACTORS:
        for share in SHARES:
            machine = between(BEGIN * LENGTH_S, (BEGIN + share) * LENGTH_S, factor)
            hits, right = [0, 0], []
            for _ in range(runs):
                for column, concerned in enumerate((1.0, 0.2)):
                    samples = run(random, machine, concerned=concerned)
                    if column == 1:
                        samples = with_sentinel(random, samples, machine)
                    course = course_of(samples)
                    if len(course.states) < 2:
                        continue
                    hits[column] += 1
                    right += [
                        course.state_during(visit) == (machine(visit.started_unix_s - BEGIN_S) > 1)
                        for visit in samples.cases
                    ]
            shares = " | ".join(f"{100 * hit / runs:.0f} %" for hit in hits)
            rights = f"{100 * np.mean(right):.1f} %" if right else "–"
            print(f"| {factor} times as long for {share:.0%} of the run | {shares} | {rights} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    random = np.random.default_rng(1)
    false_alarms(random, runs)
    found(random, max(runs // 5, 1))


if __name__ == "__main__":
    main()
