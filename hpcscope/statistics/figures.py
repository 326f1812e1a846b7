"""The values that describe one metric over all launches of a case."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics.dependence import between_launch_share, variance_inflation
from hpcscope.statistics.order_statistics import Interval, median_interval, quantiles, sanitized

LAUNCHES_FOR_INTERVAL = 6
"""With this many launch medians, their extremes enclose the median with at least 95 % confidence."""
STATES_DIFFER = 1.1
"""If the medians of two states differ by less than this factor, the states do not matter to the case."""
VALUES_FOR_PERCENTILES = 100
"""Fewest values for a 99th percentile; with fewer, it would be the largest value, or interpolated from it."""


@dataclass(frozen=True)
class Figures:
    """The fields of a `Summary` that are computed from values; None if there are too few values."""

    median: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    interval_basis: Literal["launches", "samples", "none"] = "none"
    coverage: float | None = None
    n: int = 0
    launches: int = 0
    launch_medians: tuple[float, ...] = ()
    launch_numbers: tuple[int, ...] = ()
    launch_states: tuple[int, ...] = ()
    mean: float | None = None
    coefficient_of_variation: float | None = None
    minimum: float | None = None
    p05: float | None = None
    p25: float | None = None
    p75: float | None = None
    p95: float | None = None
    p99: float | None = None
    maximum: float | None = None
    sanitized_mean: float | None = None
    sanitized_coefficient_of_variation: float | None = None
    between_launch_share: float | None = None
    relative_interval: float | None = None
    resolution: float = 0.0
    between_modes: bool = False
    state_medians: tuple[float | None, ...] = ()
    p01: float | None = None
    """Not a field of a summary: the 99th percentile of a rate is derived from it."""

    def as_dict(self) -> dict[str, object]:
        """Return the fields of a summary by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "p01"}


def describe(
    launches: list[Floats], grain: float = 0.0, states: Sequence[int] | None = None, numbers: Sequence[int] = ()
) -> Figures:
    """Describe the values of each launch, given in the order in which they were taken.

    Values come in steps of `grain`. A median of rounded values is only known to half a step, however often the
    same value was read: the interval is extended by half a step on both sides.

    With at least six launches, the launches are the unit: the median and its interval are computed from the launch
    medians, so that a launch with more repetitions does not count more. With fewer launches, both are computed
    from all samples together; the interval then allows for the dependence of successive samples, but says nothing
    about further launches.

    `states`: the state of the machine during each launch, from 0. The median of each state is then given, too. If
    these medians differ, the interval is a range over the intervals of the states, because it is chance which of
    them another run meets. `numbers`: the numbers of the launches in their run, if they are known.
    """
    in_state = [state for state, launch in zip(states or (), launches, strict=False) if launch.size]
    numbers = [number for number, launch in zip(numbers, launches, strict=False) if launch.size]
    launches = [launch for launch in launches if launch.size]
    if not launches:
        return Figures()
    values = np.concatenate(launches)
    medians = np.array([np.median(launch) for launch in launches])
    unit = medians if medians.size >= LAUNCHES_FOR_INTERVAL else values
    median = float(np.median(unit))
    inflation = 1.0 if unit is medians else variance_inflation(launches, median)
    interval = median_interval(unit, inflation=inflation)
    if interval is not None:
        interval = replace(interval, low=interval.low - grain / 2, high=interval.high + grain / 2)
    by_state = [medians[np.array(in_state) == number] for number in range(max(in_state, default=-1) + 1)]
    if interval is not None and _differ(by_state):
        interval = _range(interval, by_state)
    mean = float(values.mean())
    clean = sanitized(values)
    p05, p25, p75, p95 = quantiles(values, [0.05, 0.25, 0.75, 0.95])
    p01, p99 = quantiles(values, [0.01, 0.99]) if values.size >= VALUES_FOR_PERCENTILES else (None, None)
    return Figures(
        median=median,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        interval_basis="none" if interval is None else "launches" if unit is medians else "samples",
        coverage=interval.coverage if interval else None,
        n=int(values.size),
        launches=len(launches),
        launch_medians=tuple(medians.tolist()),
        launch_numbers=tuple(numbers),
        launch_states=tuple(in_state),
        mean=mean,
        coefficient_of_variation=_variation(values),
        minimum=float(values.min()),
        p05=p05,
        p25=p25,
        p75=p75,
        p95=p95,
        p99=p99,
        maximum=float(values.max()),
        sanitized_mean=float(clean.mean()),
        sanitized_coefficient_of_variation=_variation(clean),
        between_launch_share=between_launch_share(launches),
        relative_interval=(interval.high - interval.low) / 2 / median if interval and median > 0 else None,
        resolution=grain / 2 / median if median > 0 else 0.0,
        between_modes=between_modes(unit) or between_modes(values),
        state_medians=tuple(float(np.median(group)) if group.size else None for group in by_state),
        p01=p01,
    )


def as_rate(time: Figures, work: float) -> Figures:
    """Derive the values of a rate, work per second, from the values of the time in seconds.

    Costs are averaged and rates derived from them, never the other way round: median, interval, quantiles and mean
    are the work over the corresponding time. Variation, dependence and fractions are kept from the time.
    """

    def over(seconds: float | None) -> float | None:
        return work / seconds if seconds is not None and seconds > 0 else None

    def above_zero(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(n for n, seconds in zip(numbers, time.launch_medians, strict=False) if seconds > 0)

    return replace(
        time,
        median=over(time.median),
        ci_low=over(time.ci_high),
        ci_high=over(time.ci_low),
        state_medians=tuple(over(seconds) for seconds in time.state_medians),
        launch_medians=tuple(work / seconds for seconds in time.launch_medians if seconds > 0),
        launch_numbers=above_zero(time.launch_numbers),
        launch_states=above_zero(time.launch_states),
        mean=over(time.mean),
        minimum=over(time.maximum),
        p05=over(time.p95),
        p25=over(time.p75),
        p75=over(time.p25),
        p95=over(time.p05),
        p99=over(time.p01),
        p01=over(time.p99),
        maximum=over(time.minimum),
        sanitized_mean=over(time.sanitized_mean),
    )


def _differ(by_state: Sequence[Floats]) -> bool:
    """Return whether the launches were in several states of the machine, and the states matter to them."""
    levels = [float(np.median(group)) for group in by_state if group.size]
    smallest = min((float(group.min()) for group in by_state if group.size), default=0.0)
    return len(levels) > 1 and smallest > 0 and max(levels) / min(levels) > STATES_DIFFER


def _range(interval: Interval, by_state: Sequence[Floats]) -> Interval:
    """Return a range over the intervals of all states.

    A state with few launches has no interval. The range then extends beyond its median by the factor within which
    three quarters of all launches are from the median of their state. In simulations, the range contains the
    medians of both states in 94 to 96 % of the runs (benchmarks/interval_coverage.py).
    """
    levels = {float(np.median(group)): group for group in by_state if group.size}
    factors = np.concatenate([np.exp(np.abs(np.log(group / level))) for level, group in levels.items()])
    beyond = float(np.quantile(factors, 0.75))
    known = [median_interval(group) for group in levels.values() if group.size >= LAUNCHES_FOR_INTERVAL]
    own = [bound for bound in known if bound is not None]
    return replace(
        interval,
        low=min([interval.low, min(levels) / beyond, *(bounds.low for bounds in own)]),
        high=max([interval.high, max(levels) * beyond, *(bounds.high for bounds in own)]),
    )


def _variation(values: Floats) -> float | None:
    """Return the coefficient of variation; None for fewer than two values or a mean of zero."""
    mean = float(values.mean())
    return float(values.std(ddof=1)) / mean if values.size > 1 and mean > 0 else None


MANY = 40
"""Fewest values that show their distribution; fewer values only show how far apart they are."""
SMALLEST_GAP = 0.10
"""Least gap, as the logarithm of a factor: closer modes may as well be one."""
EMPTY = 0.04
"""Largest fraction of values in the middle third between the quartiles; a single mode has a sixth or more."""
WIDE = 3.0
"""Least ratio of a gap between few values to the width of the values on either side."""


def between_modes(values: Floats) -> bool:
    """Return whether the median of positive values is in a gap between two modes."""
    logs = np.sort(np.log(values[values > 0]))
    if logs.size >= MANY:
        low, high = np.quantile(logs, [0.25, 0.75])
        third = (high - low) / 3
        inside = np.count_nonzero((logs > low + third) & (logs < high - third)) / logs.size
        return bool(high - low > SMALLEST_GAP and inside < EMPTY and low + third < np.median(logs) < high - third)
    half = logs.size // 2
    if logs.size < 6 or logs.size % 2:
        return False
    gap = logs[half] - logs[half - 1]
    return bool(gap > max(SMALLEST_GAP, WIDE * (logs[half - 1] - logs[0]), WIDE * (logs[-1] - logs[half])))
