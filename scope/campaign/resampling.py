"""What figures of a few runs might have been: draws that carry their uncertainty through any computation."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
from scipy import stats

from scope.samples.samples import Floats
from scope.statistics.estimate import Estimate
from scope.statistics.figures import LAUNCHES_FOR_INTERVAL

DRAWS = 400
"""For a fit in each of them."""
RESAMPLES = 4000
"""For a plain figure."""
CONFIDENCE = 0.95
FEWEST = 4
"""Runs of each group for an interval: the draws of three are too few to hold the truth."""


def medians(values: Floats, random: np.random.Generator, count: int = DRAWS) -> Floats:
    """Return the median of some runs, then `count` draws of it; shape (1 + count,).

    Runs are drawn with replacement; fewer than six tell too little of their spread: then lognormally with the
    standard error of the median, 1.2533 s / sqrt(n), times Student's t over the normal's quantile.
    """
    median = float(np.median(values))
    if values.size >= LAUNCHES_FOR_INTERVAL:
        drawn = np.median(random.choice(values, (count, values.size)), axis=1)
    elif values.size > 1 and median > 0:
        wider = stats.t.ppf(0.975, values.size - 1) / stats.norm.ppf(0.975)
        error = 1.2533 * float(values.std(ddof=1)) / values.size**0.5 / median * wider
        drawn = median * np.exp(random.normal(0.0, min(error, 1.0), count))
    else:
        drawn = np.full(count, median)
    return np.concatenate([[median], drawn])


def interval(samples: list[Floats], figure: Callable[[list[Floats]], Floats], name: str) -> Estimate:
    """Return a figure of the means of several groups of runs, with its 95 % interval.

    `samples` are groups of shape (runs, k); `figure` takes for each group an array (draws, k) of means and returns
    (draws,). Runs of a group are drawn with replacement (Efron & Tibshirani 1993, ch. 8), the rows whole, so that
    what was measured in one run stays together. The percentiles are those of Hesterberg (2015, The American
    Statistician 69 (4), sec. 4.3, "expanded"), which few runs need. `name` seeds the drawing. Without four runs of
    each group there is no interval.
    """
    value = float(figure([group.mean(axis=0)[None, :] for group in samples])[0])
    fewest = min(len(group) for group in samples)
    if fewest < FEWEST:
        return Estimate(value=value, low=None, high=None)
    random = np.random.default_rng(zlib.crc32(name.encode()))
    drawn = figure(
        [group[random.integers(len(group), size=(RESAMPLES, len(group)))].mean(axis=1) for group in samples]
    )
    tail = float(stats.norm.cdf((fewest / (fewest - 1)) ** 0.5 * stats.t.ppf((1 - CONFIDENCE) / 2, fewest - 1)))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(value=value, low=min(float(low), value), high=max(float(high), value))
