"""Trends from run to run."""

import numpy as np

from hpcscope import units
from hpcscope.samples.samples import Floats
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict

FEWEST = 6
MOST = 1000
"""Maximum number of points; more are merged with neighbors, as all pairs of a day's runs would fill the memory."""
CONFIDENCE = 0.95
HOUR_S = 3600.0


class Trend(Strict):
    """The slope of a series over time with its 95 % interval."""

    what: str
    unit: str
    """Unit of the series; the slope is in this unit per hour."""
    points: int
    span_s: float
    typical: float
    """Median of the series."""
    per_hour: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def over_span(self) -> float:
        """Change of the series from its beginning to its end, in its unit."""
        return self.per_hour * self.span_s / HOUR_S

    @property
    def shown(self) -> tuple[str, Estimate]:
        """The change per hour, or over the span of a series shorter than an hour."""
        if self.span_s >= HOUR_S:
            return "per hour", Estimate(value=self.per_hour, low=self.low, high=self.high)
        part = self.span_s / HOUR_S
        change = Estimate(value=self.per_hour * part, low=self.low * part, high=self.high * part)
        return f"over {units.quantity(self.span_s, 's')}", change


def trend(what: str, unit: str, time_s: Floats, values: Floats) -> Trend | None:
    """Return the median of all pairwise slopes with its interval; None for fewer than six points or no time span.

    Theil 1950 and Sen 1968 (JASA 63, 1379-1389): no distribution of errors is assumed, and outliers do not matter.
    The interval assumes independent runs. For autocorrelated values it is widened by sqrt((1 + r) / (1 - r)),
    where r is the positive lag-one autocorrelation of the residuals (Zwiers & von Storch 1995, J. Climate 8).
    """
    from scipy.stats import theilslopes  # takes a second to load

    if values.size < FEWEST or np.ptp(time_s) <= 0:
        return None
    points, span_s, typical = int(values.size), float(np.ptp(time_s)), float(np.median(values))
    time_s, values = _together(time_s), _together(values)
    fit = theilslopes(values, time_s, CONFIDENCE)
    rest = values - fit.intercept - fit.slope * time_s
    rest = rest - rest.mean()
    spread = float((rest**2).sum())
    follows = float((rest[1:] * rest[:-1]).sum()) / spread if spread > 0 else 0.0
    follows = min(max(follows, 0.0), 0.95)
    wider = ((1 + follows) / (1 - follows)) ** 0.5
    slope = float(fit.slope)
    return Trend(
        what=what,
        unit=unit,
        points=points,
        span_s=span_s,
        typical=typical,
        per_hour=slope * 3600,
        low=(slope - (slope - float(fit.low_slope)) * wider) * 3600,
        high=(slope + (float(fit.high_slope) - slope) * wider) * 3600,
    )


def _together(values: Floats) -> Floats:
    """Return at most `MOST` medians of groups of neighbors."""
    each = -(-values.size // MOST)
    return np.array([np.median(values[begin : begin + each]) for begin in range(0, values.size, each)])
