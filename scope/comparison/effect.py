"""How large a difference is: the ratio of two medians with its bootstrap interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scope.samples.samples import Floats
from scope.statistics.bootstrap import RESAMPLES, expanded_tail, seeded


@dataclass(frozen=True)
class Effect:
    """Median of B over median of A, with its interval."""

    ratio: float
    low: float
    high: float


def of_launches(a: Floats, b: Floats, name: str, confidence: float = 0.95) -> Effect:
    """Compare launch medians, at least two on each side; shapes (launches of A,) and (launches of B,), positive.

    Launches are drawn with replacement on each side; the percentiles are the expanded ones for the side with fewer
    launches. `name` seeds the drawing, so that the same data give the same interval.
    """
    random = seeded(name)
    medians_a = np.median(a[random.integers(a.size, size=(RESAMPLES, a.size))], axis=1)
    medians_b = np.median(b[random.integers(b.size, size=(RESAMPLES, b.size))], axis=1)
    return _effect(a, b, medians_b / medians_a, expanded_tail(min(a.size, b.size), confidence))


def of_samples(a: Floats, b: Floats, name: str, confidence: float = 0.95) -> Effect:
    """Compare the samples of single launches, which say nothing of how launches differ.

    The median of a resample of n values is the value at the median of n uniform numbers, which is distributed as
    Beta((n+1)/2, (n+1)/2); drawing that place is drawing the resample (David & Nagaraja 2003, sec. 2.1).
    """
    random = seeded(name)
    return _effect(a, b, _resampled(b, random) / _resampled(a, random), (1 - confidence) / 2)


def _resampled(values: Floats, random: np.random.Generator) -> Floats:
    shape = (values.size + 1) / 2
    places = (random.beta(shape, shape, RESAMPLES) * values.size).astype(int)
    return np.asarray(np.sort(values)[np.minimum(places, values.size - 1)])


def _effect(a: Floats, b: Floats, ratios: Floats, tail: float) -> Effect:
    ratio = float(np.median(b) / np.median(a))
    low, high = np.quantile(ratios, [tail, 1 - tail])
    return Effect(ratio, min(float(low), ratio), max(float(high), ratio))
