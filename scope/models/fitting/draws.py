"""What a median might have been: draws that carry its uncertainty through any computation."""

from __future__ import annotations

import numpy as np

from scope.models.fit import Bounds
from scope.models.fitting.curve import relative_noise
from scope.samples.samples import Floats
from scope.statistics.figures import LAUNCHES_FOR_INTERVAL
from scope.statistics.summary import Summary

DRAWS = 400


def draw(summary: Summary, random: np.random.Generator, count: int = DRAWS) -> Floats:
    """Return the median itself, then `count` draws of it; shape (1 + count,).

    Launches are drawn with replacement (Efron & Tibshirani 1993, An Introduction to the Bootstrap, ch. 6); from
    fewer than six, which tell too little of their spread, lognormally with the standard error of the median.
    """
    median = float(summary.median or 0.0)
    launches = np.array(summary.launch_medians, dtype=np.float64)
    if launches.size >= LAUNCHES_FOR_INTERVAL:
        drawn = np.median(random.choice(launches, (count, launches.size)), axis=1)
    else:
        drawn = median * np.exp(random.normal(0.0, relative_noise(summary), count))
    return np.concatenate([[median], drawn])


def bounds(drawn: Floats) -> Bounds:
    """Return the first of the draws with the interval that holds 95 % of the others."""
    low, high = np.quantile(drawn[1:], [0.025, 0.975])
    value = float(drawn[0])
    return Bounds(value=value, low=min(float(low), value), high=max(float(high), value))
