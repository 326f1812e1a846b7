"""The error of the formulas themselves, from the points at which predictions were compared with measurements.

The errors of the measured points show what the formulas omit. On the logarithmic scale, an interval extends to
both sides of the median error of *other* points (leave one out), so that no point widens its own interval. Errors
are biased and some are far off: the scale is the largest deviation from the median after leaving out a tenth of
the errors, at least one, relative to normal errors (median ranks, Benard & Bos-Levenbach 1953). Predictions with
hidden communication form their own class, because it is not known how much is hidden.
"""

from collections.abc import Iterable
from math import exp, log

import numpy as np

from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.statistics.distributions import normal_quantile, student_quantile
from hpcscope.statistics.estimate import Estimate

FEWEST = 6
"""Fewest errors that say how large other errors may be."""
CONFIDENCE = 0.95
LEFT_OUT = 0.1
EFFICIENCY = 0.5
"""Efficiency of this scale, compared with the standard deviation; checked by benchmarks/interval_coverage.py."""


class ModelError:
    """The errors of all measured points of a run."""

    def __init__(self, points: Iterable[PredictedPoint]) -> None:
        self._points = [point for point in points if point.is_counted]

    def widened(self, point: PredictedPoint, alike: Iterable[PredictedPoint]) -> PredictedPoint:
        """Return the point with intervals that include the formulas' error; without any if too few errors exist.

        `alike`: the points of the same program; if they are too few, points of all programs in its class count.
        """
        if point.ranks == 1:
            return point
        hides = bool(point.hidden_s)
        of_class = [other for other in self._points if other is not point and bool(other.hidden_s) == hides]
        same = {id(other) for other in alike}
        own = [other for other in of_class if id(other) in same]
        others = own if len(own) >= FEWEST else of_class
        total = _errors((p.total_s, p.measured_total_s.value if p.measured_total_s else None) for p in others)
        return point.model_copy(
            update={
                "compute_s": _wider(point.compute_s, _errors((p.compute_s, p.measured_compute_s) for p in others)),
                "communicate_s": _wider(
                    point.communicate_s, _errors((p.communicate_s, p.measured_communicate_s) for p in others)
                ),
                "total_s": _wider(point.total_s, total),
                "speedup": _wider(point.speedup, [-error for error in total]),
                "interval_errors": len(total) if len(total) >= FEWEST else 0,
            }
        )


def _errors(pairs: Iterable[tuple[Estimate, float | None]]) -> list[float]:
    """Return the logarithms of predicted over measured values, for pairs above zero."""
    return [log(estimate.value / other) for estimate, other in pairs if other and other > 0 and estimate.value > 0]


def error_range(errors: list[float]) -> tuple[float, float]:
    """Return the interval that contains the next error of the same kind with 95 % confidence."""
    middle = float(np.median(errors))
    count = len(errors)
    kept = count - max(1, int(LEFT_OUT * count))
    below = (kept - 0.3) / (count + 0.4)
    scale = np.sort(np.abs(np.array(errors) - middle))[kept - 1] / normal_quantile((1 + below) / 2)
    student = student_quantile((1 + CONFIDENCE) / 2, EFFICIENCY * (count - 1))
    half = float(student * scale * (1 + np.pi / 2 / count) ** 0.5)
    return middle - half, middle + half


def _wider(predicted: Estimate, errors: list[float]) -> Estimate:
    if len(errors) < FEWEST:
        return Estimate(value=predicted.value)
    low, value, high = predicted.bounds
    below, above = error_range(errors)
    return Estimate(value=value, low=min(low, value * exp(-above)), high=max(high, value * exp(-below)))
