"""The tests keep their level on healthy data and find what is there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hpcscope.comparison import effect, significance
from hpcscope.comparison.run_effect import RunEffect, estimated
from hpcscope.comparison.significance import Difference


def healthy(random, noise):
    return [(np.exp(random.normal(0, s, 6)), np.exp(random.normal(0, s, 6))) for s in noise]


def test_the_p_of_a_single_case_is_the_share_of_its_relabellings():
    a, b = np.exp(np.arange(6.0) / 100), np.exp(1 + np.arange(6.0) / 100)
    assert significance.p_values([(a, b)], RunEffect()) == [pytest.approx(2 / 924)]


def test_pooled_p_of_healthy_cases_are_uniform():
    random = np.random.default_rng(3)
    p = []
    for _ in range(12):
        p += significance.p_values(healthy(random, 0.01 * np.exp(random.normal(0, 0.7, 60))), RunEffect())
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.025)


def test_the_common_factor_is_no_difference_of_a_case():
    random = np.random.default_rng(6)
    pairs = [(a, 1.3 * b) for a, b in healthy(random, np.full(40, 0.01))]
    assert min(significance.p_values(pairs, RunEffect(shift=np.log(1.3)))) > 1e-4
    assert max(significance.p_values(pairs, RunEffect())) < 0.2


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
