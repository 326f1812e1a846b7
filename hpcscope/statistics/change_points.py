"""Where a series of runs changes its level, and whether it does so from one run to the next or drifts.

Runs are looked at in the order in which they came, as every night does: a change is found at the first run where
the levels before and after some run differ by many standard errors. Runs that follow one another are alike on most
machines, so that their means are less certain than those of independent runs. The standard error is that of a
first-order autoregression (Box, Jenkins, Reinsel & Ljung 2015, Time Series Analysis, sec. 3.2). Its correlation is
estimated beside the change, without the bias of short series (Kendall 1954, Biometrika 41, 403-404).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hpcscope.samples.samples import Floats, Integers
from hpcscope.statistics.dependence import variance_of_mean

FALSE_ALARMS = 0.02
"""At most so many series without a change have one within a year of nights (benchmarks/history_alarms.py)."""
CLEAR = 4.7
"""Standard errors by which two levels differ."""
CAUTION = 1.5
"""The correlation is taken to be so many of its standard errors larger than estimated."""
FEWEST = 4
"""Runs on each side of a change."""
FEWEST_RUNS = 20
"""Fewest runs from which the correlation is known."""
LATEST = 90
"""Most runs after a change when it is found: earlier nights have looked at the others."""
ABRUPT = 1.4
"""A step improves what a smooth curve says of n runs by so many variances times log n; else it is drift."""
LARGEST_CORRELATION = 0.95
LEAST_SPREAD = 1e-4
"""Runs that agree to this share are equal."""
RELEVANT = 0.02
"""Smaller changes of the median are not reported."""


@dataclass(frozen=True)
class ChangePoint:
    """A change of level: a step between two runs that follow one another, or a drift over many."""

    kind: Literal["step", "drift"]
    begin: int
    """The number of the first figure of the level before, from 0."""
    first_after: int
    """The number of the first figure after the change, from 0; of a drift, of the first in its middle."""
    before: float
    """The median since the change before; of a drift, where it began."""
    after: float
    """The median until the next change; of a drift, where it ended."""
    standard_errors: float
    """By how many the levels differ."""

    @property
    def factor(self) -> float:
        """The level after over the one before."""
        return self.after / self.before


def change_points(values: Sequence[float]) -> list[ChangePoint]:
    """Return the changes of figures, in order; none where there are too few, or where any is not above zero."""
    if min(values, default=0.0) <= 0:
        return []
    logs = np.log(np.asarray(values, dtype=float))
    places = [0]
    while (place := _next(logs[places[-1] :])) is not None:
        places.append(places[-1] + place)
    places.append(len(logs))
    # With the runs that followed, the place of each change is known better.
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
    """Return the place of the first change that a night finds; None where none does."""
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
    """Return by how many standard errors the means on both sides of a place differ, of the runs before an end.

    Beside them the long-run variance of a run: what the variance of a mean is times the number of many runs.
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
    """Return the change at a place between two others: a drift, unless a step in it describes the runs better."""
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
