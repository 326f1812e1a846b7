import numpy as np
import pytest

from scope.models.fitting.ratios import Figure, ratio
from scope.statistics.figures import describe
from tests.models.curves import noisy


def test_an_exact_denominator_only_scales() -> None:
    assert ratio(Figure(4, 3, 6), Figure(2, 2, 2)) == Figure(
        pytest.approx(2), pytest.approx(1.5), pytest.approx(3)
    )  # type: ignore[arg-type]


def test_without_an_interval_there_is_none() -> None:
    assert ratio(Figure(4), Figure(2, 1, 3)) == Figure(2.0, None, None)


def test_the_interval_covers_the_true_share() -> None:
    random = np.random.default_rng(41)
    trials, hits = 600, 0
    for _ in range(trials):
        figures = [describe(noisy(random, truth)) for truth in (3.0, 5.0)]
        above, below = (Figure(f.median or 0, f.ci_low, f.ci_high) for f in figures)
        share = ratio(above, below)
        assert share.low is not None
        assert share.high is not None
        hits += share.low <= 0.6 <= share.high
    assert 0.95 < hits / trials < 1
