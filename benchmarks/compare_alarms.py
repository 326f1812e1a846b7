"""False alarms of `scope compare`, and how often a change of 10 % is found.

Runs are simulated: launch medians of known truth, from equal runs and from runs that differ in one case of fifty.
Each kind of machine is one that was seen. Prints a Markdown table: the share of comparisons of equal runs with an
alarm, and the share of changes that are found, in two runs one after the other and in rounds measured in turn.
usage: python benchmarks/compare_alarms.py [--comparisons N] [--cases N] [--launches N]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.comparison.compare import compare
from hpcscope.comparison.paired import LOOKS, decide, together
from tests.comparison.runs import drawn, summary, write

Floats = NDArray[np.float64]
Random = np.random.Generator
CHANGE = 0.1
NOISE = 0.02
THRESHOLD = 0.02


def independent(random: Random, cases: int, launches: int) -> Floats:
    """Draw launches that scatter by 2 %, independently."""
    return np.asarray(drawn(random, cases, launches, NOISE, {}))


def heavy(random: Random, cases: int, launches: int) -> Floats:
    """Draw launches that scatter by 2 %, with heavy tails (t with 3 degrees of freedom)."""
    return np.asarray(10e-6 * np.exp(NOISE * random.standard_t(3, (cases, launches))))


def together_in_launches(random: Random, cases: int, launches: int) -> Floats:
    """Draw launches of which half of the scatter is common to all cases."""
    common = random.normal(0, NOISE, (1, launches))
    return independent(random, cases, launches) * np.exp(common)


def two_states(random: Random, cases: int, launches: int) -> Floats:
    """Draw launches that each find the machine in one of two states, a factor of 3 apart."""
    return independent(random, cases, launches) * np.where(random.random((1, launches)) < 0.2, 3.0, 1.0)


def persisting(random: Random, cases: int, launches: int) -> Floats:
    """Draw launches in a state that lasts for the whole run: one factor for all, each case 3 % more or less."""
    factor = np.exp(random.normal(0, 0.3) + random.normal(0, 0.03, (cases, 1)))
    return np.asarray(independent(random, cases, launches) * factor)


def drifting(random: Random, cases: int, launches: int) -> Floats:
    """Draw launches that resemble the ones before (AR(1), 0.8), each case for itself."""
    values = random.normal(0, NOISE, (cases, launches))
    for launch in range(1, launches):
        values[:, launch] = 0.8 * values[:, launch - 1] + 0.6 * values[:, launch]
    return np.asarray(10e-6 * np.exp(values))


MACHINES: list[Callable[[Random, int, int], Floats]] = [
    independent,
    heavy,
    together_in_launches,
    two_states,
    persisting,
    drifting,
]


def verdicts(a: Floats, b: Floats, folder: Path) -> list[str]:
    """Return the verdict on each case, in order."""
    paths = [
        write(folder / name, [summary(number, each) for number, each in enumerate(side)])
        for name, side in (("a", a), ("b", b))
    ]
    by_size = {case.parameters["message_bytes"]: case.verdict for case in compare(*paths).cases}
    return [by_size[number] for number in range(len(a))]


def in_turn(random: Random, machine: Callable[[Random, int, int], Floats], cases: int, change: float) -> list[str]:
    """Return the verdicts of rounds A B B A, with looks; one state covers a round, unless it ends within."""
    state = np.repeat(machine(random, 1, LOOKS[-1]) / 10e-6, cases, axis=0)
    sides = [state * np.exp(random.normal(0, NOISE, state.shape)) for _ in range(2)]
    ended = random.random((1, LOOKS[-1])) < 0.05
    sides[0] = sides[0] * np.where(ended, np.exp(random.normal(0, 0.5, (1, LOOKS[-1]))), 1.0)
    sides[1][0] *= 1 + change
    found = ["inconclusive"] * cases
    for look in LOOKS:
        ratios = sides[1][:, :look] / sides[0][:, :look]
        judged = [together(dict(enumerate(each)), cases) for each in ratios]
        found = [decide(one, look, "lower", cases, THRESHOLD)[0] for one in judged]
        if "inconclusive" not in found:
            break
    return found


def main() -> None:
    """Print one row for each kind of machine."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--comparisons", type=int, default=200)
    arguments.add_argument("--cases", type=int, default=50)
    arguments.add_argument("--launches", type=int, default=6)
    asked = arguments.parse_args()
    print("| launches | false alarms, two runs | found, two runs | false alarms, in turn | found, in turn |")
    print("|---|---|---|---|---|")
    for machine in MACHINES:
        random = np.random.default_rng(1)
        alarms, found = np.zeros(2), np.zeros(2)
        for number in range(asked.comparisons):
            with tempfile.TemporaryDirectory() as name:
                a, b = (machine(random, asked.cases, asked.launches) for _ in range(2))
                equal = verdicts(a, b, Path(name) / "equal")
                b[0] *= 1 + CHANGE
                changed = verdicts(a, b, Path(name) / "changed")
            alarms[0] += any(one in ("worse", "better") for one in equal)
            found[0] += changed[0] == "worse"
            few = 5
            alarms[1] += any(one in ("worse", "better") for one in in_turn(random, machine, few, 0.0))
            found[1] += in_turn(random, machine, few, CHANGE)[0] == "worse"
            if sys.stderr.isatty():
                print(f"\r{machine.__name__} {number + 1}", end="", file=sys.stderr)
        described = (machine.__doc__ or "").removeprefix("Draw ").rstrip(".")
        shares = [
            f"{100 * count / asked.comparisons:.1f} %"
            for pair in zip(alarms, found, strict=True)
            for count in pair
        ]
        print(f"| {described} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
