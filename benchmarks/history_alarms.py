"""How often `scope history` says that something changed, and calls a drift a drift (simulated).

Series of nightly runs scatter by 2 %, independently or like the night before (AR(1)). Every night of a series
looks for changes, as a nightly job does. Prints a Markdown table.
usage: python benchmarks/history_alarms.py [--series N]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hpcscope.statistics.change_points import change_points

Floats = NDArray[np.float64]
NOISE = 0.02
YEAR = 365


def nights(random: np.random.Generator, series: int, count: int, correlation: float) -> Floats:
    """Return logarithms of nights that scatter by 2 %, shape (series, count)."""
    shocks = random.normal(size=(series, count)) * (1 - correlation**2) ** 0.5
    start = correlation * random.normal(size=(series, 1))
    found: Floats = NOISE * lfilter([1.0], [1.0, -correlation], shocks, axis=1, zi=start)[0]
    return found


def worlds(random: np.random.Generator, series: int) -> Iterator[tuple[str, Floats, int | None]]:
    """Yield what happens, the series, and the first run after a step."""
    for correlation in (0.0, 0.3, 0.6):
        yield (
            f"nothing changes in 365 nights, AR(1) {correlation}",
            nights(random, series, YEAR, correlation),
            None,
        )
    for correlation in (0.0, 0.3, 0.6):
        for bad in (4, 6):
            found = nights(random, series, 26 + bad, correlation)
            found[:, 26:] += np.log(1.1)
            yield f"10 % slower in the last {bad} of {26 + bad} runs, AR(1) {correlation}", found, 26
    time = np.linspace(0, 1, YEAR)
    shapes = {
        "a drift of 5 % in a year": 0.05 * time,
        "a drift of 20 % in a year": 0.2 * time,
        "a drift that levels off at 10 %": 0.1 * (1 - np.exp(-5 * time)),
    }
    for words, shape in shapes.items():
        yield words, nights(random, series, YEAR, 0.0) + shape, None
    late = np.where(np.arange(YEAR) < 200, 0.0, np.log(1.15))
    yield "a drift of 20 %, and a step of 15 % in it", nights(random, series, YEAR, 0.0) + 0.2 * time + late, 200


def main() -> None:
    """Print a row for each world."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--series", type=int, default=300)
    asked = arguments.parse_args()
    print("| what happens | any change | a step | in its place | a drift |\n|---|---|---|---|---|")
    for words, logs, place in worlds(np.random.default_rng(1), asked.series):
        found = [change_points(np.exp(one).tolist()) for one in logs]
        steps = [[one.first_after for one in each if one.kind == "step"] for each in found]
        rows = [
            np.mean([bool(each) for each in found]),
            np.mean([bool(each) for each in steps]),
            None if place is None else np.mean([any(abs(one - place) <= 1 for one in each) for each in steps]),
            np.mean([any(one.kind == "drift" for one in each) for each in found]),
        ]
        shares = ["–" if share is None else f"{100 * share:.1f} %" for share in rows]
        print(f"| {words} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
