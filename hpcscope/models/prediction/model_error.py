"""The error of the formulas themselves, from the points at which predictions were held against measurements.

What the formulas omit shows in the errors of the measured points. An interval holds it beside the uncertainty of
the parameters: on the logarithmic scale it reaches at least Student's t times the root mean square of the errors
of *other* points (leave one out), so that no point widens its own interval.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log

import numpy as np

from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.statistics.distributions import student_quantile
from hpcscope.statistics.estimate import Estimate

FEWEST = 4
"""Errors that say how large others may be."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class _Errors:
    """Log errors of one point; None where a part was not measured."""

    compute: float | None
    communicate: float | None
    total: float | None


class ModelError:
    """The errors of all measured points of a run."""

    def __init__(self, points: Iterable[PredictedPoint]) -> None:
        self._errors = {id(point): _errors(point) for point in points if _counts(point)}

    def widened(self, point: PredictedPoint, alike: Iterable[PredictedPoint]) -> PredictedPoint:
        """Return the point with intervals that hold the error of the formulas, where enough points tell it.

        `alike`: the points of the same program; where they are too few, those of all programs count.
        """
        own = [self._errors[id(one)] for one in alike if one is not point and id(one) in self._errors]
        errors = own if len(own) >= FEWEST else [e for key, e in self._errors.items() if key != id(point)]
        if len(errors) < FEWEST or point.role == "input":
            return point
        total = [one.total for one in errors]
        return point.model_copy(
            update={
                "compute_s": _wider(point.compute_s, [one.compute for one in errors]),
                "communicate_s": _wider(point.communicate_s, [one.communicate for one in errors]),
                "total_s": _wider(point.total_s, total),
                "speedup": _wider(point.speedup, total),
                "interval_errors": len(errors),
            }
        )


def _counts(point: PredictedPoint) -> bool:
    return point.role == "validated" and not point.oversubscribed


def _errors(point: PredictedPoint) -> _Errors:
    total = point.measured_total_s.value if point.measured_total_s else None
    return _Errors(
        _error(point.compute_s, point.measured_compute_s),
        _error(point.communicate_s, point.measured_communicate_s),
        _error(point.total_s, total),
    )


def _error(predicted: Estimate, measured: float | None) -> float | None:
    return log(predicted.value / measured) if measured and measured > 0 and predicted.value > 0 else None


def _wider(predicted: Estimate, errors: Iterable[float | None]) -> Estimate:
    known = np.array([one for one in errors if one is not None])
    if known.size < FEWEST or predicted.low is None or predicted.high is None:
        return predicted
    half = float(student_quantile((1 + CONFIDENCE) / 2, known.size)) * float(np.sqrt((known**2).mean()))
    return Estimate(
        value=predicted.value,
        low=min(predicted.low, predicted.value * exp(-half)),
        high=max(predicted.high, predicted.value * exp(half)),
    )
