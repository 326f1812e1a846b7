"""How large a difference is: the ratio of two medians with its bootstrap interval."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from scipy import stats

from scope.samples.samples import Floats

_RESAMPLES = 4000


@dataclass(frozen=True)
class Effect:
    """Median of B over median of A, with its interval."""

    ratio: float
    low: float
    high: float


def of_launches(a: Floats, b: Floats, name: str, confidence: float = 0.95) -> Effect:
    """Compare launch medians, at least two on each side; shapes (launches of A,) and (launches of B,), positive.

    Launches are drawn with replacement on each side (Efron & Tibshirani 1993, ch. 8). With few launches the
    percentile interval is too narrow; it is taken at the wider percentiles of Hesterberg (2015, The American
    Statistician 69 (4), 371-386, sec. 4.3, "expanded percentile interval"), with the smaller side's launches.
    `name` seeds the drawing, so that the same data give the same interval.
    """
    random = _random(name)
    medians_a = np.median(a[random.integers(a.size, size=(_RESAMPLES, a.size))], axis=1)
    medians_b = np.median(b[random.integers(b.size, size=(_RESAMPLES, b.size))], axis=1)
    fewest = min(a.size, b.size)
    tail = float(stats.norm.cdf(np.sqrt(fewest / (fewest - 1)) * stats.t.ppf((1 - confidence) / 2, fewest - 1)))
    return _effect(a, b, medians_b / medians_a, tail)


def of_samples(a: Floats, b: Floats, name: str, confidence: float = 0.95) -> Effect:
    """Compare the samples of single launches, which say nothing of how launches differ.

    The median of a resample of n values is the value at the median of n uniform numbers, which is distributed as
    Beta((n+1)/2, (n+1)/2); drawing that place is drawing the resample (David & Nagaraja 2003, sec. 2.1).
    """
    random = _random(name)
    return _effect(a, b, _resampled(b, random) / _resampled(a, random), (1 - confidence) / 2)


def _resampled(values: Floats, random: np.random.Generator) -> Floats:
    shape = (values.size + 1) / 2
    places = (random.beta(shape, shape, _RESAMPLES) * values.size).astype(int)
    return np.asarray(np.sort(values)[np.minimum(places, values.size - 1)])


def _effect(a: Floats, b: Floats, ratios: Floats, tail: float) -> Effect:
    ratio = float(np.median(b) / np.median(a))
    low, high = np.quantile(ratios, [tail, 1 - tail])
    return Effect(ratio, min(float(low), ratio), max(float(high), ratio))


def _random(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))
