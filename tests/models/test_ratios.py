import numpy as np
import pytest

from scope.models.fitting.ratios import ratio
from scope.statistics.estimate import Estimate
from scope.statistics.figures import describe
from tests.models.curves import noisy


def test_an_exact_denominator_only_scales() -> None:
    found = ratio(Estimate(value=4, low=3, high=6), Estimate.exact(2))
    assert (found.value, found.low, found.high) == (pytest.approx(2), pytest.approx(1.5), pytest.approx(3))


def test_without_an_interval_there_is_none() -> None:
    assert ratio(Estimate(value=4), Estimate(value=2, low=1, high=3)) == Estimate(value=2.0, low=None, high=None)


def test_the_interval_covers_the_true_share() -> None:
    random = np.random.default_rng(41)
    trials, hits = 600, 0
    for _ in range(trials):
        figures = [describe(noisy(random, truth)) for truth in (3.0, 5.0)]
        above, below = (Estimate(value=f.median or 0, low=f.ci_low, high=f.ci_high) for f in figures)
        share = ratio(above, below)
        assert share.low is not None
        assert share.high is not None
        hits += share.low <= 0.6 <= share.high
    assert 0.95 < hits / trials < 1
