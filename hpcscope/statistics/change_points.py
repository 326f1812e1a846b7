"""Changes of level in a series of runs: steps from one run to the next, or drifts.

Runs are examined in their order, as every night does: a change is found at the first run after which the levels
before and after some run differ by many standard errors. Successive runs are alike on most machines, so their
means are less certain than the means of independent runs. The standard error is for a first-order autoregression
(Box, Jenkins, Reinsel & Ljung 2015, Time Series Analysis, sec. 3.2). Its correlation is estimated together with
the change, without the bias of short series (Kendall 1954, Biometrika 41, 403-404).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hpcscope.samples.samples import Floats, Integers
from hpcscope.statistics.dependence import variance_of_mean

FALSE_ALARMS = 0.02
"""Fraction of series without a change that may show one within a year of nights (benchmarks/history_alarms.py)."""
CLEAR = 4.7
"""Least difference of two levels, in standard errors."""
CAUTION = 1.5
"""Standard errors that are added to the estimated correlation."""
FEWEST = 4
"""Fewest runs on each side of a change."""
FEWEST_RUNS = 20
"""Fewest runs from which the correlation is known."""
LATEST = 90
"""Most runs after a change when it is found: earlier nights have examined changes further back."""
ABRUPT = 1.4
"""A step must improve a smooth curve's fit to n runs by this many variances times log n; else it is drift."""
LARGEST_CORRELATION = 0.95
LEAST_SPREAD = 1e-4
"""Runs that agree within this fraction are equal."""
RELEVANT = 0.02
"""Smaller changes of the median are not reported."""


@dataclass(frozen=True)
class ChangePoint:
    """A change of level: a step between two runs that follow one another, or a drift over many."""

    kind: Literal["step", "drift"]
    begin: int
    """Index of the first value at the level before the change, from 0."""
    first_after: int
    """Index of the first value after the change, from 0; for a drift, an index in its middle."""
    before: float
    """The median since the previous change; for a drift, the level where it began."""
    after: float
    """The median until the next change; for a drift, the level where it ended."""
    standard_errors: float
    """Number of standard errors by which the levels differ."""

    @property
    def factor(self) -> float:
        """The level after the change over the level before it."""
        return self.after / self.before


def change_points(values: Sequence[float]) -> list[ChangePoint]:
    """Return the changes of values, in order; none if there are too few, or if any is not above zero."""
    if min(values, default=0.0) <= 0:
        return []
    logs = np.log(np.asarray(values, dtype=float))
    places = [0]
    while (place := _next(logs[places[-1] :])) is not None:
        places.append(places[-1] + place)
    places.append(len(logs))
    # The runs that followed locate each change better.
    for i in range(1, len(places) - 1):
        places[i] = places[i - 1] + _clearest(logs[places[i - 1] : places[i + 1]])[0]
    points: list[ChangePoint] = []
    for begin, place, end in zip(places, places[1:], places[2:], strict=False):
        drifts = bool(points) and points[-1].kind == "drift"
        point = _described(logs, points[-1].begin if drifts else begin, place, end)
        if drifts and point.kind == "drift":
            point = replace(point, first_after=points.pop().first_after)
        points.append(point)
    return [point for point in points if abs(point.factor - 1) > RELEVANT]


def _next(logs: Floats) -> int | None:
    """Return the place of the first change that a night finds; None if no night finds one."""
    if len(logs) < FEWEST_RUNS:
        return None
    ends = np.arange(FEWEST_RUNS, len(logs) + 1)[:, None]
    places = ends - np.arange(FEWEST, LATEST + 1)
    errors = np.where(places >= FEWEST, _standard_errors(logs, np.maximum(places, FEWEST), ends)[0], 0.0)
    found = np.flatnonzero(errors.max(axis=1) > CLEAR)
    return int(places[found[0], errors[found[0]].argmax()]) if found.size else None


def _clearest(logs: Floats) -> tuple[int, float, float]:
    """Return the place of the clearest change, its standard errors, and the long-run variance of a run."""
    places = np.arange(FEWEST, len(logs) - FEWEST + 1)
    errors, variance = _standard_errors(logs, places, np.array(len(logs)))
    best = int(errors.argmax())
    return int(places[best]), float(errors[best]), float(variance[best])


def _standard_errors(logs: Floats, places: Integers, ends: Integers) -> tuple[Floats, Floats]:
    """Return by how many standard errors the means on both sides of a place differ, for the runs before an end.

    Also return the long-run variance of a run: the variance of the mean of many runs, times their number.
    """
    centered = logs - logs.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (centered, centered**2))
    products = np.concatenate([[0.0, 0.0], np.cumsum(centered[:-1] * centered[1:])])

    def part(begin: Integers, end: Integers) -> tuple[Floats, Floats, Floats]:
        """Return the mean, the sum of squares about it, and the sum of products of neighbors."""
        count, total = end - begin, sums[end] - sums[begin]
        mean = total / count
        beside = products[end] - products[begin + 1] - mean * (2 * total - centered[begin] - centered[end - 1])
        return mean, squares[end] - squares[begin] - count * mean**2, beside + (count - 1) * mean**2

    before, after, count = places, ends - places, ends
    mean, about, beside = part(np.zeros_like(places), places)
    mean_after, about_after, beside_after = part(places, np.broadcast_to(ends, places.shape))
    scatter = np.maximum(about + about_after, count * LEAST_SPREAD**2)
    correlation = ((beside + beside_after) / scatter + 2 / count) / (1 - 3 / count)
    correlation = np.clip(correlation, 0.0, LARGEST_CORRELATION)
    correlation = correlation + CAUTION * np.sqrt((1 - correlation**2) / count)
    correlation = np.minimum(correlation, LARGEST_CORRELATION)
    of_before, of_after = variance_of_mean(before, correlation), variance_of_mean(after, correlation)
    variance = scatter / np.maximum(count - before * of_before - after * of_after, 1.0)
    errors = np.abs(mean_after - mean) / np.sqrt(variance * (of_before + of_after))
    return errors, variance * (1 + correlation) / (1 - correlation)


def _described(logs: Floats, begin: int, place: int, end: int) -> ChangePoint:
    """Return the change at a place between two others: a drift, unless a step describes the runs better."""
    runs = logs[begin:end]
    _, errors, variance = _clearest(runs)
    left, right = logs[begin:place], logs[place:end]
    time = np.linspace(-1.0, 1.0, runs.size)
    curve = np.vander(time, 3)
    smooth, with_step = (
        np.asarray(terms @ np.linalg.lstsq(terms, runs)[0])
        for terms in (curve, np.column_stack([curve, time >= time[place - begin]]))
    )
    if float(((runs - smooth) ** 2).sum() - ((runs - with_step) ** 2).sum()) > ABRUPT * variance * np.log(
        runs.size
    ):
        levels = float(np.exp(np.median(left))), float(np.exp(np.median(right)))
        return ChangePoint("step", begin, place, *levels, errors)
    return ChangePoint("drift", begin, place, float(np.exp(smooth[0])), float(np.exp(smooth[-1])), errors)
