import numpy as np
import pytest

from hpcscope.statistics.figures import as_rate, describe
from hpcscope.statistics.order_statistics import median_interval


def test_six_launches_are_the_unit() -> None:
    random = np.random.default_rng(1)
    launches = [np.full(15, level) + random.normal(0, 1e-9, 15) for level in (5.0, 1.0, 3.0, 2.0, 4.0, 6.0)]
    figures = describe(launches)
    assert figures.interval_basis == "launches"
    assert figures.median == pytest.approx(3.5, abs=1e-6)
    assert (figures.ci_low, figures.ci_high) == (pytest.approx(1, abs=1e-6), pytest.approx(6, abs=1e-6))
    assert figures.coverage == pytest.approx(0.96875)
    assert figures.launch_medians == pytest.approx((5, 1, 3, 2, 4, 6), abs=1e-6)


def test_a_visit_with_more_repetitions_counts_no_more_than_another() -> None:
    figures = describe([*(np.full(10, 1.0 + 0.01 * number) for number in range(6)), np.full(200, 2.0)])
    assert figures.median == 1.03


def test_where_states_matter_the_interval_reaches_over_all_of_them() -> None:
    times = [np.array([1.0 + 0.01 * number]) for number in range(8)]
    alone = describe(times, states=[0] * 8)
    assert (alone.ci_low, alone.ci_high) == (1.0, 1.07)
    mixed = describe([*times, np.array([2.0])], states=[0] * 8 + [1])
    assert mixed.ci_low is not None
    assert mixed.ci_high is not None
    assert mixed.ci_low <= 1.0
    assert 2.0 < mixed.ci_high < 2.2
    assert mixed.state_medians == (pytest.approx(1.035), 2.0)
    alike = describe([*times, np.array([1.08])], states=[0] * 8 + [1])
    assert alike.ci_high == 1.07


def test_fewer_launches_are_pooled_and_say_so() -> None:
    figures = describe([np.arange(10.0), np.arange(10.0, 20.0)])
    assert figures.interval_basis == "samples"
    assert figures.median == 9.5
    assert figures.n == 20


def test_nothing_gives_nothing() -> None:
    figures = describe([np.array([])])
    assert figures.n == 0
    assert figures.median is None
    assert figures.interval_basis == "none"


def test_launches_cover_where_pooled_samples_would_not() -> None:
    """With a launch effect, the launch interval keeps its promise; taking samples for independent breaks it."""
    random = np.random.default_rng(2)
    trials, kept, pooled_kept, dependent_kept = 600, 0, 0, 0
    for _ in range(trials):
        launches = [np.exp(level + random.normal(0, 0.05, 40)) for level in random.normal(0, 0.05, 8)]
        figures = describe(launches)
        assert figures.ci_low is not None
        assert figures.ci_high is not None
        kept += figures.ci_low <= 1.0 <= figures.ci_high
        pooled = median_interval(np.concatenate(launches))
        assert pooled is not None
        pooled_kept += pooled.low <= 1.0 <= pooled.high
        dependent = describe([np.concatenate(launches)])
        assert dependent.ci_low is not None
        assert dependent.ci_high is not None
        dependent_kept += dependent.ci_low <= 1.0 <= dependent.ci_high
    assert kept / trials > 0.95
    assert pooled_kept / trials < 0.75
    assert dependent_kept / trials > 0.9, "the samples of a launch depend on each other"


def test_a_rate_is_the_work_over_the_cost_never_a_mean_of_ratios() -> None:
    times = np.array([1.0, 2.0, 4.0])
    rate = as_rate(describe([times]), 8.0)
    assert rate.median == 4.0
    assert rate.mean == pytest.approx(8.0 / times.mean())
    assert rate.mean != pytest.approx((8.0 / times).mean())
    assert (rate.minimum, rate.maximum) == (2.0, 8.0)
    assert rate.ci_low is not None
    assert rate.ci_high is not None
    assert rate.ci_low < rate.ci_high
    assert rate.p05 is not None
    assert rate.p95 is not None
    assert rate.p05 < rate.p95


def test_a_time_of_zero_gives_no_rate() -> None:
    assert as_rate(describe([np.zeros(5)]), 8.0).median is None


def test_rounded_values_are_known_to_half_a_step_at_best() -> None:
    launches = [np.full(50, 120e-9) for _ in range(6)]
    figures = describe(launches, grain=10e-9)
    assert figures.ci_low == pytest.approx(115e-9)
    assert figures.ci_high == pytest.approx(125e-9)
    # The true time of what a coarse clock reads lies inside, whatever it is.
    rng = np.random.default_rng(5)
    for true in np.linspace(100.0, 110.0, 21):
        starts = rng.uniform(0, 10, size=(6, 400))
        read = [np.floor((row + true) / 10) * 10 - np.floor(row / 10) * 10 for row in starts]
        figures = describe(read, grain=10.0)
        assert figures.ci_low is not None
        assert figures.ci_high is not None
        assert figures.ci_low - 1e-9 <= true <= figures.ci_high + 1e-9
