"""The bootstrap: draws of a median or mean that carry its uncertainty through any computation.

Efron & Tibshirani 1993, An Introduction to the Bootstrap, ch. 6 and 8. Draws are arrays whose first element is the
value itself; element-wise computations keep this order.
"""

import zlib

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import normal_cdf, student_quantile
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.figures import LAUNCHES_FOR_INTERVAL

DRAWS = 400
"""Number of draws if each costs a fit."""
RESAMPLES = 4000
"""Number of draws if each costs next to nothing."""
CONFIDENCE = 0.95
LARGEST_ERROR = 10.0
"""A median with a larger relative error is not known at all, and its draws would overflow."""


def seeded(name: str) -> np.random.Generator:
    """Return a generator that depends on a name, so that the same data give the same interval."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def medians(
    values: Floats, median: float, error: float, random: np.random.Generator, count: int = DRAWS
) -> Floats:
    """Return a median, then `count` draws of it; shape (1 + count,).

    Values are drawn with replacement. Fewer than six say too little about their spread: the draws are then
    lognormal with the relative standard error `error`.
    """
    if values.size >= LAUNCHES_FOR_INTERVAL:
        drawn = np.median(random.choice(values, (count, values.size)), axis=1)
    else:
        drawn = median * np.exp(random.normal(0.0, min(error, LARGEST_ERROR), count))
    return np.concatenate([[median], drawn])


def estimate(drawn: Floats, tail: float = (1 - CONFIDENCE) / 2) -> Estimate:
    """Return the first of the draws with the interval that leaves out a fraction of the others at each end."""
    low, high = np.quantile(drawn[1:], [tail, 1 - tail])
    value = float(drawn[0])
    return Estimate(value=value, low=min(float(low), value), high=max(float(high), value))


def expanded_tail(count: int, confidence: float = CONFIDENCE) -> float:
    """Return the percentile at which the interval from this many values ends.

    Plain percentile intervals of small samples are too narrow; this is the expanded percentile of Hesterberg
    (2015, The American Statistician 69 (4), 371-386, sec. 4.3).
    """
    wider = (count / (count - 1)) ** 0.5 * student_quantile((1 - confidence) / 2, count - 1)
    return normal_cdf(wider)
