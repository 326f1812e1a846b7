"""Where a series of figures changes its level, and how often a series without a change is said to.

The scan of rank sums after Pettitt (A non-parametric approach to the change-point problem, Applied Statistics 28
(1979) 126-135), with each split's sum divided by its standard deviation, so that changes near the ends are found
too. The probability of the greatest of them without a change comes from random orders of as many figures, which
needs no distribution of the figures. It holds where runs are independent: a slow drift is reported as changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from hpcscope.samples.samples import Floats

LEVEL = 0.001
"""Probability that a series without a change is reported to have one."""
FEWEST = 4
"""Runs on each side of a change."""
ORDERS = 9999
RELEVANT = 0.02
"""Smaller changes of the median are not reported."""


@dataclass(frozen=True)
class ChangePoint:
    """A change of level between two runs that follow one another."""

    begin: int
    """The number of the first figure of the level before, from 0."""
    first_after: int
    """The number of the first figure after the change, from 0."""
    before: float
    """The median since the change before."""
    after: float
    """The median until the next change."""
    probability: float
    """Of a statistic as great without a change."""

    @property
    def factor(self) -> float:
        """The level after over the one before."""
        return self.after / self.before


def change_points(values: Sequence[float], level: float = LEVEL) -> list[ChangePoint]:
    """Return the changes of positive figures, in order; none where there are too few figures.

    The greatest change splits the series; each part is looked at again.
    """
    if len(values) < 2 * FEWEST:
        return []
    found: dict[int, float] = {}
    _split(np.asarray(values, dtype=float), 0, level, found)
    places = [0, *sorted(found), len(values)]
    medians = [float(np.median(values[begin:end])) for begin, end in pairwise(places)]
    changes = [
        ChangePoint(begin, place, before, after, found[place])
        for (begin, place), (before, after) in zip(pairwise(places[:-1]), pairwise(medians), strict=True)
    ]
    return [one for one in changes if abs(one.factor - 1) > RELEVANT]


def fewest_runs(level: float = LEVEL) -> int:
    """Return the number of runs from which a change can be found at all."""
    number = 2 * FEWEST
    while float(_probability(np.arange(number, dtype=float))[1]) >= level:
        number += 1
    return number


def _split(values: Floats, offset: int, level: float, found: dict[int, float]) -> None:
    if len(values) < 2 * FEWEST:
        return
    place, probability = _probability(values)
    if probability >= level:
        return
    found[offset + place] = probability
    _split(values[:place], offset, level, found)
    _split(values[place:], offset + place, level, found)


def _probability(values: Floats) -> tuple[int, float]:
    """Return the likeliest place of a change, and the probability of its statistic without one."""
    scan = _scan(_ranks(values)[None, :])[0]
    null = _without_change(len(values))
    greater = len(null) - int(np.searchsorted(null, scan.max() - 1e-9))
    return FEWEST + int(scan.argmax()), (1 + greater) / (1 + len(null))


def _ranks(values: Floats) -> Floats:
    """Return the ranks from 1; equal values share the mean of theirs."""
    order = np.sort(values)
    low = np.searchsorted(order, values, "left")
    high = np.searchsorted(order, values, "right")
    return np.asarray((low + high + 1) / 2)


def _scan(ranks: Floats) -> Floats:
    """Return for each split the rank sum of its first part in standard deviations.

    `ranks`: shape (series, n); returns shape (series, n + 1 - 2 FEWEST).
    """
    n = ranks.shape[1]
    sizes = np.arange(FEWEST, n - FEWEST + 1)
    sums = np.cumsum(ranks, axis=1)[:, sizes - 1]
    deviations = np.sqrt(sizes * (n - sizes) * (n + 1) / 12)
    return np.asarray(np.abs(sums - sizes * (n + 1) / 2) / deviations)


@cache
def _without_change(n: int) -> Floats:
    """Return the greatest statistic of each random order of n ranks, sorted."""
    chance = np.random.default_rng(n)
    orders = chance.permuted(np.broadcast_to(np.arange(1.0, n + 1), (ORDERS, n)), axis=1)
    return np.sort(_scan(orders).max(axis=1))
