from collections.abc import Callable

import numpy as np
import pytest
import scipy  # its modules load when they are first asked for

from hpcscope.statistics.order_statistics import median_interval, median_ranks, quantiles, sanitized

Draw = Callable[[np.random.Generator, int], np.ndarray]

LAWS: dict[str, tuple[Draw, float]] = {
    "lognormal": (lambda random, n: np.exp(random.normal(0, 1, n)), 1.0),
    "bimodal": (
        lambda random, n: np.where(random.random(n) < 0.7, 1 + 0.01 * random.random(n), 5 + random.random(n)),
        1 + 0.01 * 0.5 / 0.7,
    ),
    "cauchy": (lambda random, n: random.standard_cauchy(n), 0.0),
    "exponential": (lambda random, n: random.exponential(1, n), float(np.log(2))),
}


@pytest.mark.parametrize("n", [2, 5, 6, 7, 20, 101, 5000])
def test_ranks_are_the_tightest_that_reach_the_confidence(n: int) -> None:
    rank, coverage = median_ranks(n)
    assert coverage == pytest.approx(1 - 2 * scipy.stats.binom.cdf(rank - 1, n, 0.5))
    if n >= 6:
        assert coverage >= 0.95
        assert 1 - 2 * scipy.stats.binom.cdf(rank, n, 0.5) < 0.95
    else:
        assert rank == 1


def test_known_table_values() -> None:
    # Hollander & Wolfe, table of the sign test: n = 10 gives (x2, x9) with 97.85 %, n = 20 gives (x6, x15).
    assert median_ranks(10)[0] == 2
    assert median_ranks(10)[1] == pytest.approx(0.978516, abs=1e-6)
    assert median_ranks(20)[0] == 6
    assert median_ranks(6) == (1, pytest.approx(0.96875))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [6, 25, 200])
def test_the_interval_covers_as_often_as_it_says(law: str, n: int) -> None:
    draw, truth = LAWS[law]
    random = np.random.default_rng(7)
    trials = 3000
    samples = draw(random, n * trials).reshape(trials, n)
    hits = 0
    for row in samples:
        interval = median_interval(row)
        assert interval is not None
        hits += interval.low <= truth <= interval.high
    promised = median_ranks(n)[1]
    error = 4 * (promised * (1 - promised) / trials) ** 0.5
    assert abs(hits / trials - promised) < error


def test_ties_only_make_it_safer() -> None:
    random = np.random.default_rng(8)
    hits = 0
    for _ in range(2000):
        interval = median_interval(random.integers(0, 5, 30).astype(float))
        assert interval is not None
        hits += interval.low <= 2 <= interval.high
    assert hits / 2000 > 0.95


def test_one_value_has_no_interval() -> None:
    assert median_interval(np.array([1.0])) is None


def test_quantiles_are_nearly_median_unbiased() -> None:
    random = np.random.default_rng(9)
    samples = random.exponential(1, (4000, 20))
    truth = -np.log(0.1)
    bias = np.median([quantiles(row, [0.9])[0] for row in samples]) / truth - 1
    default = np.median(np.quantile(samples, 0.9, axis=1)) / truth - 1
    assert abs(bias) < 0.03
    assert abs(bias) < abs(default)


def test_sanitizing_drops_the_highest_hundredth_only() -> None:
    values = np.concatenate([np.linspace(1, 2, 990), np.full(10, 1000.0)])
    clean = sanitized(values)
    assert clean.size == 990
    assert clean.max() == 2.0


def test_sanitizing_leaves_few_values_alone() -> None:
    values = np.arange(20.0)
    assert sanitized(values).size == 20
