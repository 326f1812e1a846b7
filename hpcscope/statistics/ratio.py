"""Ratios of two values of one run, launch by launch if both were measured in the same launches.

What two cases of a launch share (the state of the machine, memory, placement) cancels in their ratio, and does not
widen its interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, hypot, log

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import student_cdf
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.figures import LAUNCHES_FOR_INTERVAL
from hpcscope.statistics.order_statistics import median_interval

LEAST_SPREAD = 0.005
"""Least assumed scatter of log ratios: a clock that repeats its readings proves nothing."""


class Ratio(Estimate):
    """One value over another, with its 95 % interval."""

    paired_launches: int = 0
    """Number of launches whose ratios were taken; 0: values of different launches, taken as independent."""


@dataclass(frozen=True)
class PerLaunch:
    """A value, and its value in each launch alone."""

    estimate: Estimate
    launches: Mapping[int, float] = field(default_factory=dict)
    """Values by launch number in the run; empty if nothing was measured, or if the launches are not known."""
    resolution: float = 0.0
    """Relative error of each launch's value that is due to the clock."""

    def scaled(self, factor: float) -> PerLaunch:
        """Return the value times a positive factor."""
        launches = {launch: value * factor for launch, value in self.launches.items()}
        return PerLaunch(self.estimate.scaled(factor), launches, self.resolution)

    def as_rate(self, amount: float) -> PerLaunch:
        """Return an amount over this time."""
        launches = {launch: amount / value for launch, value in self.launches.items() if value > 0}
        return PerLaunch(self.estimate.as_rate(amount), launches, self.resolution)


def ratio(numerator: PerLaunch, denominator: PerLaunch) -> Ratio:
    """Return numerator / denominator of positive values, with its interval.

    With six or more common launches, it is the median of their ratios, with its order-statistics interval, which
    is exact for any distribution. Otherwise it is the ratio of the values, taken as independent.
    """
    each = of_launches(numerator, denominator)
    interval = median_interval(each) if each.size >= LAUNCHES_FOR_INTERVAL else None
    if interval is None or not np.isfinite(each).all():
        return _independent(numerator.estimate, denominator.estimate)
    error = exp(hypot(numerator.resolution, denominator.resolution))
    return Ratio(
        value=float(np.median(each)),
        low=interval.low / error,
        high=interval.high * error,
        paired_launches=each.size,
    )


def of_launches(numerator: PerLaunch, denominator: PerLaunch) -> Floats:
    """Return the ratio in each launch that measured both, shape (common launches,)."""
    shared = sorted(numerator.launches.keys() & denominator.launches.keys())
    return np.array([_over(numerator.launches[launch], denominator.launches[launch]) for launch in shared])


def chance(each: Floats) -> float:
    """Return the one-sided p of Student's paired test that the ratios of at least two launches exceed 1.

    No rank test of six pairs gives less than 1/64, which is too much for one comparison of many.
    """
    logs = np.log(each)
    error = max(float(logs.std(ddof=1)), LEAST_SPREAD) / each.size**0.5
    return student_cdf(-float(logs.mean()) / error, each.size - 1)


def _over(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else float("nan")


def _independent(numerator: Estimate, denominator: Estimate) -> Ratio:
    """Return the ratio with an interval recovered from the intervals of two independent positive values.

    On the logarithmic scale the distances of the bounds add in squares (MOVER: Zou & Donner 2008, Statistics in
    Medicine 27 (10), 1693-1702). No distribution is assumed beyond what the two intervals assume, and they may be
    asymmetric.
    """
    value = numerator.value / denominator.value
    n_low, n_high, d_low, d_high = numerator.low, numerator.high, denominator.low, denominator.high
    if n_low is None or n_high is None or d_low is None or d_high is None or min(n_low, d_low) <= 0:
        return Ratio(value=value)
    down = hypot(log(numerator.value / n_low), log(d_high / denominator.value))
    up = hypot(log(n_high / numerator.value), log(denominator.value / d_low))
    return Ratio(value=value, low=value * exp(-down), high=value * exp(up))
