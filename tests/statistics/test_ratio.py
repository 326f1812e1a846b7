"""Ratios: paired where both sides were measured in the same launches, else independent; both cover the truth."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.figures import describe
from hpcscope.statistics.ratio import PerLaunch, Ratio, chance, ratio
from tests.models.curves import noisy

TRUTH = 0.6


def figure(launches: list[np.ndarray], numbers: range | None = None, grain: float = 0.0) -> PerLaunch:
    found = describe(launches, grain)
    estimate = Estimate(value=found.median or 0, low=found.ci_low, high=found.ci_high)
    return PerLaunch(estimate, dict(zip(numbers or [], found.launch_medians, strict=False)), found.resolution)


def in_one_machine(random: np.random.Generator, launches: int) -> tuple[PerLaunch, PerLaunch]:
    """Two cases in launches of a machine that is faster or slower by a factor of 3."""
    factors = np.exp(random.choice([0.0, np.log(3)], launches))
    sides = (
        [factor * one for factor, one in zip(factors, noisy(random, truth, launches), strict=True)]
        for truth in (3.0, 5.0)
    )
    above, below = (figure(side, range(1, launches + 1)) for side in sides)
    return above, below


def width(found: Ratio) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high / found.low


def covers(found: Ratio) -> bool:
    return found.low is not None and found.high is not None and found.low <= TRUTH <= found.high


def test_an_exact_denominator_only_scales() -> None:
    found = ratio(PerLaunch(Estimate(value=4, low=3, high=6)), PerLaunch(Estimate.exact(2)))
    assert (found.value, found.low, found.high) == (pytest.approx(2), pytest.approx(1.5), pytest.approx(3))


def test_without_an_interval_there_is_none() -> None:
    found = ratio(PerLaunch(Estimate(value=4)), PerLaunch(Estimate(value=2, low=1, high=3)))
    assert found == Ratio(value=2.0, low=None, high=None)


def test_the_interval_of_different_launches_covers_the_true_share() -> None:
    random = np.random.default_rng(41)
    found = [ratio(*(figure(noisy(random, truth)) for truth in (3.0, 5.0))) for _ in range(600)]
    assert {one.paired_launches for one in found} == {0}
    assert 0.95 < np.mean([covers(one) for one in found]) < 1


@pytest.mark.parametrize("launches", [6, 12])
def test_what_launches_share_cancels(launches: int) -> None:
    """Nominally 96.9 % and 96.1 % of the intervals hold the truth."""
    random = np.random.default_rng(42)
    sides = [in_one_machine(random, launches) for _ in range(600)]
    paired = [ratio(*each) for each in sides]
    apart = [ratio(PerLaunch(above.estimate), PerLaunch(below.estimate)) for above, below in sides]
    assert {one.paired_launches for one in paired} == {launches}
    assert 0.94 < np.mean([covers(one) for one in paired]) < 0.985
    assert np.median([width(one) for one in paired]) < 1.1
    assert np.median([width(one) for one in apart]) > 3


def test_only_common_launches_are_paired_and_five_are_too_few() -> None:
    random = np.random.default_rng(43)
    above, below = (figure(noisy(random, truth, 9), range(1, 10)) for truth in (3.0, 5.0))
    later = PerLaunch(below.estimate, {launch + 3: value for launch, value in below.launches.items()})
    assert ratio(above, later).paired_launches == 6
    later = PerLaunch(below.estimate, {launch + 4: value for launch, value in below.launches.items()})
    assert ratio(above, later).paired_launches == 0


def test_scaling_and_rates_keep_the_launches() -> None:
    above, below = in_one_machine(np.random.default_rng(44), 6)
    found = ratio(above.scaled(2).as_rate(8.0), below.as_rate(8.0))
    assert found.paired_launches == 6
    assert found.value == pytest.approx(1 / (2 * ratio(above, below).value), rel=1e-3)


def test_a_clock_that_repeats_itself_leaves_its_step_open() -> None:
    above, below = (figure([np.full(15, time)] * 6, range(6), grain=0.1) for time in (3.0, 5.0))
    found = ratio(above, below)
    assert found.low is not None
    assert found.low == pytest.approx(TRUTH * np.exp(-np.hypot(0.05 / 3, 0.05 / 5)))


@pytest.mark.parametrize("spread", [0.02, 0.2])
def test_equal_cases_exceed_each_other_as_often_as_the_chance_says(spread: float) -> None:
    random = np.random.default_rng(45)
    found = [chance(np.exp(random.normal(0, spread, 6))) for _ in range(2000)]
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.015)
    assert np.mean(np.array(found) < 1 / 924) < 0.005


def test_a_certain_excess_is_no_chance() -> None:
    random = np.random.default_rng(46)
    assert all(chance(1.2 * np.exp(random.normal(0, 0.02, 6))) < 1 / 924 for _ in range(50))
    assert chance(np.full(6, 1.001)) > 1 / 924, "the step of a clock is no difference"
