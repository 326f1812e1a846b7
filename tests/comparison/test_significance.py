"""The tests keep their level on healthy data and find what is there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scope.comparison import effect, significance


def test_small_rank_sums_agree_with_scipy():
    random = np.random.default_rng(1)
    for size in (4, 6, 8):
        a, b = random.normal(0, 1, size), random.normal(0.8, 1, size)
        expected = stats.mannwhitneyu(a, b, alternative="two-sided", method="exact").pvalue
        assert significance.rank_sum(a, b) == pytest.approx(expected)


def test_ties_do_not_make_a_difference_out_of_nothing():
    assert significance.rank_sum(np.full(6, 2.0), np.full(6, 2.0)) == 1.0
    assert significance.rank_sum(np.full(400, 2.0), np.full(400, 2.0)) == 1.0


def test_the_smallest_p_is_the_one_of_a_complete_separation():
    a, b = np.arange(6.0) + 1, np.arange(6.0) + 10
    assert significance.rank_sum(a, b) == pytest.approx(significance.smallest_rank_sum(6, 6))
    assert significance.smallest_rank_sum(6, 6) == pytest.approx(2 / 924)


def test_the_rank_sum_is_used_where_it_can_reject_and_the_pool_where_it_cannot():
    random = np.random.default_rng(2)
    few = [(np.exp(random.normal(0, 0.01, 6)), np.exp(random.normal(0, 0.01, 6))) for _ in range(5)]
    many = few * 10
    assert {one.test for one in significance.of_launches(few, len(few), 0.05)} == {"rank sum of launch medians"}
    assert {one.test for one in significance.of_launches(many, len(many), 0.05)} == {
        "pooled permutation of launch medians"
    }


def test_pooled_p_of_healthy_cases_are_uniform():
    random = np.random.default_rng(3)
    p = []
    for _ in range(12):
        noise = 0.01 * np.exp(random.normal(0, 0.7, 60))
        pairs = [(np.exp(random.normal(0, s, 6)), np.exp(random.normal(0, s, 6))) for s in noise]
        p += [one.p for one in significance.of_launches(pairs, 60, 0.05)]
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.025)


def test_the_interval_of_a_ratio_covers_the_truth():
    random = np.random.default_rng(4)
    covered = 0
    for index in range(300):
        a, b = np.exp(random.normal(0, 0.02, 6)), 1.05 * np.exp(random.normal(0, 0.02, 6))
        found = effect.of_launches(a, b, str(index))
        covered += found.low <= 1.05 <= found.high
    assert covered >= 0.93 * 300


def test_the_interval_of_samples_covers_the_truth():
    random = np.random.default_rng(5)
    covered = 0
    for index in range(300):
        a, b = random.lognormal(0, 0.3, 200), 1.1 * random.lognormal(0, 0.3, 301)
        found = effect.of_samples(a, b, str(index))
        covered += found.low <= 1.1 <= found.high
    assert 0.91 * 300 <= covered <= 0.985 * 300


def test_the_same_data_give_the_same_interval():
    a, b = np.array([1.0, 1.1, 1.2, 1.3]), np.array([1.2, 1.3, 1.4, 1.1])
    assert effect.of_launches(a, b, "case") == effect.of_launches(a, b, "case")
