"""Bootstrap draws of values from a few runs, which carry the uncertainty through any computation."""

from collections.abc import Callable

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics import bootstrap
from hpcscope.statistics.distributions import normal_quantile, student_quantile
from hpcscope.statistics.estimate import Estimate

FEWEST = 4
"""Minimum number of runs per group for an interval; with three, its coverage is too low."""


def medians(values: Floats, random: np.random.Generator, count: int = bootstrap.DRAWS) -> Floats:
    """Return the median of some runs followed by `count` draws of the median, with shape (1 + count,).

    The standard error of the median of few runs is 1.2533 s / sqrt(n) x Student's t / normal quantile.
    """
    median = float(np.median(values))
    error = 0.0
    if values.size > 1 and median > 0:
        wider = student_quantile(0.975, values.size - 1) / normal_quantile(0.975)
        error = min(1.2533 * float(values.std(ddof=1)) / values.size**0.5 / median * wider, 1.0)
    return bootstrap.medians(values, median, error, random, count)


def interval(samples: list[Floats], figure: Callable[[list[Floats]], Floats], name: str) -> Estimate:
    """Return a function of the means of several groups of runs, with its 95 % interval.

    `samples` are groups of shape (runs, k); `figure` takes an array (draws, k) of means for each group and returns
    (draws,). Runs of a group are drawn with replacement (Efron & Tibshirani 1993, ch. 8) as whole rows, so that
    values measured in one run stay together. The percentiles are Hesterberg's "expanded" ones (2015, The American
    Statistician 69 (4), sec. 4.3), which few runs need. `name` seeds the draws. Without four runs in each group
    there is no interval.
    """
    value = float(figure([group.mean(axis=0)[None, :] for group in samples])[0])
    fewest = min(len(group) for group in samples)
    if fewest < FEWEST:
        return Estimate(value=value, low=None, high=None)
    random = bootstrap.seeded(name)
    drawn = figure(
        [
            group[random.integers(len(group), size=(bootstrap.RESAMPLES, len(group)))].mean(axis=1)
            for group in samples
        ]
    )
    return bootstrap.estimate(np.concatenate([[value], drawn]), bootstrap.expanded_tail(fewest))
