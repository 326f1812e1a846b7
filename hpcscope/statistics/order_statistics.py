"""Medians and quantiles with intervals that assume nothing about the distribution."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from hpcscope.samples.samples import Floats, Integers
from hpcscope.statistics.distributions import (
    binomial_cdf,
    binomial_quantile,
    normal_quantile,
    student_cdf,
    student_quantile,
)
from hpcscope.statistics.estimate import Estimate

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """An interval for the median between two order statistics."""

    low: float
    high: float
    coverage: float
    """The confidence that it reaches; exact for independent values."""


@cache
def median_ranks(n: int, confidence: float = CONFIDENCE) -> tuple[int, float]:
    """Return (r, coverage): the r-th smallest and the r-th largest of n samples enclose the median.

    P(X_(r) < median < X_(n+1-r)) = 1 - 2 P(Binomial(n, 1/2) <= r - 1) for any continuous distribution, and at
    least that for a discrete one; r is the largest for which this reaches `confidence`. If even the extremes do
    not (n < 6 at 95 %), r is 1. Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3rd ed. 2014, sec.
    3.6; David & Nagaraja, Order Statistics, 3rd ed. 2003, sec. 7.1.
    """
    rank = max(binomial_quantile((1 - confidence) / 2, n, 0.5), 1)
    return rank, 1 - 2 * binomial_cdf(rank - 1, n, 0.5)


def median_interval(values: Floats, confidence: float = CONFIDENCE, inflation: float = 1.0) -> Interval | None:
    """Return the order-statistics interval of the median; None for fewer than two values.

    Of dependent values, `inflation` are worth one independent value: the ranks are further from the middle by its
    square root, and by the ratio of Student's t for this few independent values to the normal quantile.
    """
    if values.size < 2:
        return None
    count = int(values.size)
    rank, coverage = median_ranks(count, confidence)
    if inflation > 1.0:
        middle, freedom = (count + 1) / 2, max(count / inflation - 1, 1.0)
        few = student_quantile((1 + confidence) / 2, freedom) / normal_quantile((1 + confidence) / 2)
        rank = max(int(middle - (middle - rank) * inflation**0.5 * few), 1)
        reached = 2 * student_cdf((middle - rank) / (count * inflation / 4) ** 0.5, freedom) - 1
        coverage = max(reached, confidence) if rank > 1 else reached
    ordered = np.sort(values)
    return Interval(float(ordered[rank - 1]), float(ordered[-rank]), coverage)


def median_estimate(values: Floats) -> Estimate:
    """Return the median of at least one value, with its interval if it reaches 95 %: with six or more values."""
    interval = median_interval(values)
    ends = {"low": interval.low, "high": interval.high} if interval and interval.coverage >= CONFIDENCE else {}
    return Estimate(value=float(np.median(values)), **ends)


def group_medians(values: Floats, group: Integers, count: int = 0, without: float = 0.0) -> Floats:
    """Return the median of each of at least `count` groups; `without` for a group without values.

    `group`: the number of each value's group, from 0.
    """
    sizes = np.bincount(group, minlength=count)
    ordered = values[np.lexsort((values, group))]
    begins = (np.cumsum(sizes) - sizes)[sizes > 0]
    counts = sizes[sizes > 0]
    medians = np.full(sizes.size, without)
    medians[sizes > 0] = (ordered[begins + (counts - 1) // 2] + ordered[begins + counts // 2]) / 2
    return medians


def quantiles(values: Floats, probabilities: list[float]) -> list[float]:
    """Return approximately median-unbiased sample quantiles (type 8 of Hyndman & Fan 1996)."""
    return [float(q) for q in np.quantile(values, probabilities, method="median_unbiased")]


def sanitized(values: Floats) -> Floats:
    """Return the values up to their 99th percentile: NetFinity's view without outliers, alongside the raw data.

    At most one in a hundred is left out; of fewer than a hundred values, none.
    """
    return values[values <= np.quantile(values, 0.99, method="inverted_cdf")]
