"""False alarms of `scope compare`, how often it finds a change of 10 %, and what its intervals cover.

Runs are simulated as they are sampled: visits in 8 to 12 launches, dear cases in 6, of cases that scatter by 0.3
to 15 %. Each kind of machine is one that was seen. Prints Markdown tables: of two runs one after the other, of
these with `--confirm`, and of rounds in turn that end when they decide.
usage: python benchmarks/compare_alarms.py [--pairs N] [--cases N]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.comparison import confirm, paired
from hpcscope.comparison.compare import LEVEL, RESOLUTION, Pair, _run_effect, decide, differences
from hpcscope.comparison.effect import Effect, of_launches
from hpcscope.comparison.run_effect import RunEffect
from hpcscope.comparison.significance import Difference
from hpcscope.statistics.false_discoveries import adjusted
from hpcscope.statistics.order_statistics import median_interval
from hpcscope.statistics.summary import Summary
from tests.comparison.runs import summary

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Random = np.random.Generator
CHANGE = 0.1
THRESHOLD = 0.02
MATTERS = 1 + RESOLUTION * THRESHOLD
TIGHT = 0.024
"""Half width of the interval of a case that a pair of runs must decide."""
QUIET = 0.05
"""Scatter of a side up to which few rounds decide."""
LAUNCHES = 12
SLOWER = 2.5
"""Of the slow state."""
CASES_IN_TURN = 12


@dataclass(frozen=True)
class Visits:
    """Logarithms of what visits take, shape (cases, launches), and the state of the machine in each."""

    logs: Floats
    states: Integers | None = None
    """Where the run tells it."""


Machines = Callable[[Random, Floats, int], tuple[Visits, ...]]


def noise(random: Random, scatter: Floats, launches: int) -> Floats:
    """Return independent visits to cases of these scatters."""
    return scatter[:, None] * random.normal(size=(scatter.size, launches))


def independent(random: Random, scatter: Floats, launches: int) -> tuple[Visits, ...]:
    """Draw launches that scatter independently."""
    return tuple(Visits(noise(random, scatter, launches)) for _ in range(2))


def heavy(random: Random, scatter: Floats, launches: int) -> tuple[Visits, ...]:
    """Draw launches with heavy tails (t with 3 degrees of freedom)."""
    draws = (random.standard_t(3, (scatter.size, launches)) / 3**0.5 for _ in range(2))
    return tuple(Visits(scatter[:, None] * each) for each in draws)


def common(random: Random, scatter: Floats, launches: int) -> tuple[Visits, ...]:
    """Draw launches that share a scatter of 2 % among all cases."""
    return tuple(
        Visits(noise(random, scatter, launches) + random.normal(0, 0.02, (1, launches))) for _ in range(2)
    )


def modes(random: Random, scatter: Floats, launches: int) -> tuple[Visits, ...]:
    """Draw launches in which a fifth of the cases find one of two modes, each for itself, 1.3 times apart."""
    two = random.random((scatter.size, 1)) < 0.2
    share = random.random((scatter.size, 1))
    found = ((random.random((scatter.size, launches)) < share) & two for _ in range(2))
    return tuple(Visits(noise(random, scatter, launches) + np.log(1.3) * each) for each in found)


def states(random: Random, scatter: Floats, launches: int) -> tuple[Visits, ...]:
    """Draw launches in two states, 2.5 times apart for two thirds of the cases, which the run tells."""
    felt = np.log(SLOWER) * (random.random((scatter.size, 1)) < 2 / 3)
    sides = []
    for share in random.choice([0.2, 0.4, 0.6], 2):
        slow = (random.random(launches) < share).astype(np.int64)
        sides.append(Visits(noise(random, scatter, launches) + felt * slow, slow))
    return tuple(sides)


def persisting(random: Random, scatter: Floats, launches: int) -> tuple[Visits, ...]:
    """Draw launches in a state that lasts for the whole run: one factor for all, each case 3 % more or less."""
    return tuple(
        Visits(
            noise(random, scatter, launches) + random.normal(0, 0.3) + random.normal(0, 0.03, (scatter.size, 1))
        )
        for _ in range(2)
    )


def alike(random: Random, scatter: Floats, launches: int) -> tuple[Visits, ...]:
    """Draw launches that resemble the ones before (AR(1), 0.6), each case for itself."""
    sides = []
    for _ in range(2):
        logs = noise(random, scatter, launches)
        for launch in range(1, launches):
            logs[:, launch] = 0.6 * logs[:, launch - 1] + 0.8 * logs[:, launch]
        sides.append(Visits(logs))
    return tuple(sides)


MACHINES: list[Machines] = [independent, heavy, common, modes, states, persisting, alike]


class Runs:
    """Pairs of runs of cases of known scatter."""

    def __init__(self, random: Random, cases: int) -> None:
        self.scatter = np.exp(random.uniform(np.log(0.003), np.log(0.15), cases))
        self.dear = random.random(cases) < 0.15
        self.blank = [summary(number, [1e-5] * 6) for number in range(cases)]

    def judged(self, pair: tuple[Visits, ...]) -> Judged:
        """Compare two runs case by case, as `scope compare` does."""
        sides = [[self._summary(number, visits) for number in range(self.scatter.size)] for visits in pair]
        pairs = [Pair(a, b) for a, b in zip(*sides, strict=True)]
        found = differences(pairs)
        run = _run_effect(found, alike=True)
        p = np.array([one.p(run) for one in found])
        widths = [[one.relative_interval or 1.0 for one in side] for side in sides]
        return Judged(pairs, found, run, p, adjusted(p), np.max(widths, axis=0))

    def _summary(self, number: int, visits: Visits) -> Summary:
        """Return a case of these visits: a dear one has 6, others 8, or 12 where 8 leave it wide."""
        logs = visits.logs[number]
        few = 6 if self.dear[number] else 8 if np.ptp(logs[:8]) / 2 < 0.02 else LAUNCHES
        values, told = 1e-5 * np.exp(logs[:few]), [] if visits.states is None else visits.states[:few].tolist()
        interval = median_interval(values)
        assert interval is not None
        by_state = [float(np.median(values[np.array(told) == state])) for state in sorted(set(told))]
        figures = {
            "median": float(np.median(values)),
            "mean": float(values.mean()),
            "launches": few,
            "launch_medians": values.tolist(),
            "launch_states": told,
            "state_medians": by_state if len(by_state) > 1 else [],
            "relative_interval": (interval.high - interval.low) / 2 / float(np.median(values)),
        }
        return self.blank[number].model_copy(update=figures)


@dataclass(frozen=True)
class Judged:
    """What two runs say of all cases."""

    pairs: list[Pair]
    found: list[Difference]
    run: RunEffect
    p: Floats
    q: Floats
    width: Floats
    """Half width of the wider interval of a case in the two runs, as `scope run` prints it."""

    def effect(self, number: int) -> Effect:
        """Return the printed effect on a case."""
        return of_launches(*self.pairs[number].medians, str(number))

    def verdict(self, number: int) -> str:
        """Return the verdict on a case."""
        beside = self.effect(number).over(float(np.exp(self.run.shift)))
        return decide("lower", beside, float(self.q[number]), THRESHOLD, LEVEL)[0]

    def alarms(self) -> bool:
        """Return whether any case is said to differ."""
        return any(self.verdict(number) in ("worse", "better") for number in np.flatnonzero(self.q <= LEVEL))

    def measured_again(self) -> Booleans:
        """Return which cases `--confirm` measures, if they are not worse already."""
        slower = np.array([one.log_ratio for one in self.found]) > self.run.shift
        found: Booleans = slower & (self.p <= confirm.SUSPICIOUS)
        return found


def changed(visits: Visits, number: int) -> Visits:
    """Return a run in which one case takes longer by the change."""
    logs = visits.logs.copy()
    logs[number] += np.log1p(CHANGE)
    return replace(visits, logs=logs)


def rounds(random: Random, scatter: Floats, changes: Floats) -> Floats:
    """Return log ratios of rounds, shape (cases, rounds); in one of twenty a side met another state."""
    logs = 2**0.5 * noise(random, scatter, paired.MOST_ROUNDS) + np.log1p(changes)[:, None]
    ended = random.random(paired.MOST_ROUNDS) < 0.05
    found: Floats = logs + ended * random.normal(0, 0.5, paired.MOST_ROUNDS)
    return found


def in_turn(logs: Floats, level: float, first: int) -> tuple[list[str], int, list[paired.Ratio]]:
    """Judge rounds as they come; return the verdicts, after how many rounds, and the ratios."""
    for count in [*range(first, 16), *range(16, paired.MOST_ROUNDS + 1, 4)]:
        found = [
            paired.together(dict(enumerate(np.exp(each))), len(logs), MATTERS, level) for each in logs[:, :count]
        ]
        said = [verdict for verdict, _ in paired.judged(found, ["lower"] * len(found), THRESHOLD, level)]
        if "inconclusive" not in said:
            break
    return said, count, found


def two_runs(machine: Machines, pairs: int, cases: int) -> str:
    """Return a row: alarms of equal runs, changes found with and without `--confirm`, and coverage."""
    random = np.random.default_rng(1)
    alarms, covered, told = 0, [], []
    hits: dict[str, list[bool]] = {"tight": [], "wide": [], "quiet": [], "noisy": []}
    for _ in range(pairs):
        runs = Runs(random, cases)
        pair = machine(random, runs.scatter, LAUNCHES)
        equal = runs.judged(pair)
        alarms += equal.alarms()
        number = int(random.integers(cases))
        found = equal.effect(number)
        covered.append(found.low <= 1 <= found.high)
        told.append(equal.found[number].detectable(equal.run, cases, LEVEL) > 0)
        other = runs.judged((pair[0], changed(pair[1], number)))
        is_found = other.verdict(number) == "worse"
        is_tight = other.width[number] <= TIGHT
        hits["tight" if is_tight else "wide"].append(is_found)
        if not is_tight:
            again = other.measured_again()
            confirmed = bool(again[number]) and confirm_finds(random, runs.scatter[number], int(again.sum()))
            hits["quiet" if runs.scatter[number] <= QUIET else "noisy"].append(confirmed)
    shares = [share(each) for each in hits.values()]
    described = (machine.__doc__ or "").removeprefix("Draw ").rstrip(".")
    return (
        f"| {described} | {100 * alarms / pairs:.1f} % | {' | '.join(shares)} | {100 * np.mean(covered):.1f} % "
        f"| {100 * np.mean(told):.0f} % |"
    )


def confirm_finds(random: Random, scatter: float, wanted: int) -> bool:
    """Return whether measuring the case again in turn, beside others, finds its change."""
    logs = rounds(random, np.full(1, scatter), np.array([CHANGE]))
    for count in range(paired.fewest_rounds(LEVEL), paired.MOST_ROUNDS + 1, 4):
        found = paired.together(dict(enumerate(np.exp(logs[0, :count]))), wanted, MATTERS, LEVEL)
        # Of the cases that are measured again, this one alone changed: the hardest for the correction.
        if found.change >= wanted / LEVEL and found.ratio > 1 + THRESHOLD:
            return True
    return False


def share(found: list[bool]) -> str:
    """Return a share in percent with its number."""
    return f"{100 * np.mean(found):.0f} % of {len(found)}" if found else "none"


def turns(scatter: float, change: float, changed_cases: int, trials: int) -> str:
    """Return a row: false verdicts, found changes, coverage at the end, and the rounds that were needed."""
    random = np.random.default_rng(2)
    false, found, covered, all_covered, needed = 0, 0, [], 0, []
    changes = np.where(np.arange(CASES_IN_TURN) < changed_cases, change, 0.0)
    for _ in range(trials):
        logs = rounds(random, np.full(CASES_IN_TURN, scatter), changes)
        said, count, ratios = in_turn(logs, paired.LEVEL, paired.fewest_rounds())
        wrong = [
            (one in ("worse", "better") and not truth) or (one == "no difference" and bool(truth))
            for one, truth in zip(said, changes, strict=True)
        ]
        false += any(wrong)
        found += all(one == "worse" for one in said[:changed_cases])
        needed.append(count)
        inside = [one.low <= 1 + truth <= one.high for one, truth in zip(ratios, changes, strict=True)]
        covered += inside
        all_covered += all(truth <= one.most for one, truth in zip(ratios, changes, strict=True))
    low, middle, high = np.quantile(needed, [0.1, 0.5, 0.9])
    return (
        f"| {100 * scatter:g} % | {changed_cases} by {100 * change:g} % | {100 * false / trials:.1f} % "
        f"| {100 * found / trials:.0f} % | {middle:.0f} [{low:.0f}, {high:.0f}] | {100 * np.mean(covered):.1f} % "
        f"| {100 * all_covered / trials:.1f} % |"
    )


def main() -> None:
    """Print one row for each kind of machine, and one for each measurement in turn."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pairs", type=int, default=300)
    arguments.add_argument("--cases", type=int, default=60)
    asked = arguments.parse_args()
    columns = ("two runs", "false alarms", "10 % found, within ±2.4 %", "others")
    columns += ("others with `--confirm`, scatter up to 5 %", "above", "coverage", "tell what they would find")
    print(f"| {' | '.join(columns)} |\n{len(columns) * '|---'}|")
    for machine in MACHINES:
        print(two_runs(machine, asked.pairs, asked.cases), flush=True)
    columns = (f"in turn, {CASES_IN_TURN} cases: scatter of a side", "changed", "false verdicts", "found")
    columns += ("rounds [10 %, 90 %]", "coverage", "of all together")
    print(f"\n| {' | '.join(columns)} |\n{len(columns) * '|---'}|")
    for row in ((0.02, 0, 0), (0.1, 0, 0), (0.02, 0.1, 1), (0.05, 0.1, 1), (0.1, 0.8, 1), (0.1, 0.8, 12)):
        print(turns(*row, trials=asked.pairs // 3), flush=True)


if __name__ == "__main__":
    main()
