"""How large a difference is: the ratio of two medians with its bootstrap interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import RESAMPLES, expanded_tail, seeded


@dataclass(frozen=True)
class Effect:
    """Median of B over median of A, with its interval."""

    ratio: float
    low: float
    high: float

    def over(self, factor: float) -> Effect:
        """Return the effect relative to a factor that all cases share."""
        return Effect(self.ratio / factor, self.low / factor, self.high / factor)


def of_launches(a: Floats, b: Floats, name: str, confidence: float = 0.95) -> Effect:
    """Compare launch medians, at least two on each side; shapes (launches of A,) and (launches of B,), positive.

    Launches are drawn with replacement on each side; the percentiles are the expanded ones for the side with fewer
    launches. `name` seeds the drawing, so that the same data give the same interval.
    """
    random = seeded(name)
    medians_a = np.median(a[random.integers(a.size, size=(RESAMPLES, a.size))], axis=1)
    medians_b = np.median(b[random.integers(b.size, size=(RESAMPLES, b.size))], axis=1)
    tail = expanded_tail(min(a.size, b.size), confidence)
    ratio = float(np.median(b) / np.median(a))
    low, high = np.quantile(medians_b / medians_a, [tail, 1 - tail])
    return Effect(ratio, min(float(low), ratio), max(float(high), ratio))
