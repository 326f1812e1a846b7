"""The tests keep their level on healthy data and find what is there."""

from __future__ import annotations

import numpy as np
import pytest
import scipy  # its modules load when they are first asked for

from hpcscope.comparison import effect
from hpcscope.comparison.run_effect import RunEffect, estimated
from hpcscope.comparison.significance import Difference, Launches, correlation, levelled


def launches(medians, states=None):
    return Launches(np.asarray(medians), np.zeros(len(medians), int) if states is None else np.asarray(states))


def healthy(random, noise, sizes=(6, 6)):
    return [tuple(launches(np.exp(random.normal(0, s, size))) for size in sizes) for s in noise]


def test_the_p_of_a_case_is_that_of_welch():
    random = np.random.default_rng(1)
    a, b = random.normal(0, 0.01, 6), random.normal(0.01, 0.03, 9)
    expected = scipy.stats.ttest_ind(a, b, equal_var=False)
    found = Difference.of(launches(np.exp(a)), launches(np.exp(b)))
    assert found.p(RunEffect()) == pytest.approx(expected.pvalue)
    assert found.freedom == pytest.approx(expected.df)


@pytest.mark.parametrize("sizes", [(6, 6), (8, 12)])
def test_p_of_healthy_cases_are_uniform(sizes):
    random = np.random.default_rng(3)
    pairs = healthy(random, 0.01 * np.exp(random.normal(0, 0.7, 800)), sizes)
    p = [Difference.of(*pair).p(RunEffect()) for pair in pairs]
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.001
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.025)


def test_states_that_the_run_tells_neither_make_nor_hide_a_change():
    """A was 2.5 times as slow in 2 launches of 12, B in 8: no change; 10 % more in both states are one."""
    random = np.random.default_rng(8)
    in_a, in_b = np.repeat([0, 1], [10, 2]), np.repeat([0, 1], [4, 8])
    p = {0.0: [], 0.1: []}
    for change, each in p.items():
        for _ in range(200):
            a, b = (random.normal(0, 0.02, 12) + np.log(2.5) * states for states in (in_a, in_b))
            sides = launches(np.exp(a), in_a), launches((1 + change) * np.exp(b), in_b)
            each.append(Difference.of(*sides).p(RunEffect()))
            left, right = levelled(*sides)
            assert np.median(right) / np.median(left) == pytest.approx(1 + change, abs=0.06)
    assert scipy.stats.kstest(p[0.0], "uniform").pvalue > 0.001
    assert np.mean(np.array(p[0.1]) < 1e-4) > 0.9


def test_the_common_factor_is_no_difference_of_a_case():
    random = np.random.default_rng(6)
    found = [Difference.of(a, launches(1.3 * b.medians)) for a, b in healthy(random, np.full(40, 0.01))]
    assert min(one.p(RunEffect(shift=np.log(1.3))) for one in found) > 1e-4
    assert max(one.p(RunEffect()) for one in found) < 1e-6


def test_the_run_effect_has_the_factor_and_the_scatter_that_were_put_in():
    random = np.random.default_rng(7)
    found = [Difference.of(*pair) for pair in healthy(random, np.full(200, 0.01))]
    truth = np.log(1.1) + random.normal(0, 0.02, 200)
    ratios = np.array([one.log_ratio for one in found]) + truth
    errors, freedom = np.array([one.error for one in found]), [one.freedom for one in found]
    effect_of_runs = estimated(ratios, errors, freedom, alike=True)
    assert np.exp(effect_of_runs.shift) == pytest.approx(1.1, abs=0.01)
    assert effect_of_runs.spread == pytest.approx(0.02, rel=0.3)
    assert estimated(ratios, errors, freedom, alike=False).spread == 0
    assert estimated(ratios[:5], errors[:5], freedom[:5], alike=True) == RunEffect()


def test_the_interval_of_a_ratio_covers_the_truth():
    random = np.random.default_rng(4)
    covered = 0
    for index in range(300):
        a, b = np.exp(random.normal(0, 0.02, 6)), 1.05 * np.exp(random.normal(0, 0.02, 6))
        found = effect.of_launches(a, b, str(index))
        covered += found.low <= 1.05 <= found.high
    assert covered >= 0.93 * 300


def test_the_same_data_give_the_same_interval():
    a, b = np.array([1.0, 1.1, 1.2, 1.3]), np.array([1.2, 1.3, 1.4, 1.1])
    assert effect.of_launches(a, b, "case") == effect.of_launches(a, b, "case")


@pytest.mark.parametrize("truth", [0.0, 0.6])
def test_launches_that_resemble_the_ones_before_count_as_fewer(truth):
    """The correlation is that of all cases together; with it, equal runs keep the level."""
    random = np.random.default_rng(10)
    sides = []
    for _ in range(800):
        logs = random.normal(size=10)
        for i in range(1, 10):
            logs[i] = truth * logs[i - 1] + (1 - truth**2) ** 0.5 * logs[i]
        sides.append(np.exp(0.02 * logs))
    found = correlation(sides)
    assert found == pytest.approx(truth, abs=0.06)
    pairs = zip(sides[::2], sides[1::2], strict=True)
    p = np.array([Difference.of(launches(a), launches(b), found).p(RunEffect()) for a, b in pairs])
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.035)
    assert correlation([]) == correlation([np.ones(6)]) == 0.0
