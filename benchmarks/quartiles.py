"""How ratios of interleaved launches scatter."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def quartiles(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile; a single ratio is all three."""
    if len(ratios) == 1:
        return ratios[0], ratios[0], ratios[0]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return low, middle, high
