"""Whether a median says something: between two modes it is a time that was never measured."""

from __future__ import annotations

import numpy as np

from hpcscope.samples.samples import Floats

MANY = 40
"""So many values show how they are distributed; fewer show only how far they lie apart."""
SMALLEST_GAP = 0.10
"""Logarithm of a factor; modes that are closer may as well be one."""
EMPTY = 0.04
"""Share of the values in the middle third between the quartiles; of a single mode it is a sixth and more."""
WIDE = 3.0
"""A gap between few values exceeds the width of what lies on either side so many times."""


def between_modes(values: Floats) -> bool:
    """Return whether the median of positive values lies in a gap between two modes."""
    logs = np.sort(np.log(values[values > 0]))
    if logs.size >= MANY:
        low, high = np.quantile(logs, [0.25, 0.75])
        third = (high - low) / 3
        inside = np.count_nonzero((logs > low + third) & (logs < high - third)) / logs.size
        return bool(high - low > SMALLEST_GAP and inside < EMPTY and low + third < np.median(logs) < high - third)
    half = logs.size // 2
    if logs.size < 6 or logs.size % 2:
        return False
    gap = logs[half] - logs[half - 1]
    return bool(gap > max(SMALLEST_GAP, WIDE * (logs[half - 1] - logs[0]), WIDE * (logs[-1] - logs[half])))
