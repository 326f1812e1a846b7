import numpy as np
import pytest

from hpcscope.statistics.dependence import between_launch_share, lag_one

CERTAIN = 2.326
"""The standard normal score that independent series exceed in 1 % of cases."""


def autoregressive(random: np.random.Generator, n: int, coefficient: float) -> np.ndarray:
    values = np.empty(n)
    values[0] = random.normal()
    for i in range(1, n):
        values[i] = coefficient * values[i - 1] + random.normal() * (1 - coefficient**2) ** 0.5
    return values


@pytest.mark.parametrize("law", ["normal", "lognormal", "cauchy", "timer ticks"])
def test_independent_samples_are_seldom_suspected(law: str) -> None:
    random = np.random.default_rng(1)
    draw = {
        "normal": lambda: random.normal(size=40),
        "lognormal": lambda: np.exp(2 * random.normal(size=40)),
        "cauchy": lambda: random.standard_cauchy(40),
        "timer ticks": lambda: np.round(random.normal(10, 2, size=40)),
    }[law]
    trials = 800
    alarms = 0
    for _ in range(trials):
        result = lag_one(draw())
        assert result is not None
        alarms += result[1] > CERTAIN
    assert alarms / trials < 0.025, "1 % is promised"


def test_dependent_samples_are_found() -> None:
    random = np.random.default_rng(2)
    found = 0
    for _ in range(100):
        result = lag_one(np.exp(autoregressive(random, 180, 0.5)))
        assert result is not None
        found += result[1] > CERTAIN
    assert found >= 99


def test_the_coefficient_is_that_of_the_process() -> None:
    random = np.random.default_rng(3)
    result = lag_one(autoregressive(random, 20000, 0.6))
    assert result is not None
    assert result[0] == pytest.approx(0.58, abs=0.03), "the rank correlation is a little below Pearson's"


def test_equal_or_few_values_say_nothing() -> None:
    assert lag_one(np.ones(50)) is None
    assert lag_one(np.arange(5.0)) is None


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_the_share_between_launches_is_found(share: float) -> None:
    random = np.random.default_rng(4)
    estimates = []
    for _ in range(200):
        levels = random.normal(0, share**0.5, 30)
        launches = [level + random.normal(0, (1 - share) ** 0.5, 30) for level in levels]
        estimate = between_launch_share(launches)
        assert estimate is not None
        estimates.append(estimate)
    assert np.mean(estimates) == pytest.approx(share, abs=0.06)


def test_one_interrupt_does_not_hide_a_difference_between_launches() -> None:
    random = np.random.default_rng(5)
    launches = [level + random.normal(0, 0.1, 50) for level in (1.0, 2.0, 3.0)]
    launches[1][7] = 1e6
    share = between_launch_share(launches)
    assert share is not None
    assert share > 0.9


def test_one_launch_has_no_share() -> None:
    assert between_launch_share([np.arange(9.0)]) is None
