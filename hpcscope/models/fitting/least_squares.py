"""Weighted least squares for models that are linear in their parameters, with intervals based on launches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hpcscope.models.fitting.curve import Curve
from hpcscope.models.fitting.fit import FittedParameter
from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import student_quantile
from hpcscope.statistics.order_statistics import median_interval

Derive = Callable[[Floats], float]
"""Derives a parameter of the model from the coefficients, for example 1 / coefficients[1]."""


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Coefficients of a model that is linear in them."""

    coefficients: Floats
    """Shape (k,)."""
    covariance: Floats
    """Shape (k, k), scaled up if the residuals are larger than the noise explains."""
    launches: Floats | None
    """The coefficients that each launch alone would give, shape (launches, k)."""
    fitted_s: Floats
    chi_square: float
    """Sum of squared residuals, each divided by its noise."""
    relative_error: float
    """Median absolute relative residual."""
    degrees_of_freedom: int

    @property
    def bic(self) -> float:
        """Schwarz's criterion for errors of known variance: chi square + k ln n; smaller is better."""
        return self.chi_square + self.coefficients.size * float(np.log(self.fitted_s.size))

    def interval(self, derive: Derive) -> tuple[float, float, float]:
        """Return (value, low, high) of a derived parameter, 95 %.

        With six or more launches the model is fitted to each, and the interval is the order-statistics interval of
        the results: it covers all that differs between launches and assumes no distribution. With fewer launches,
        it comes from the delta method with Student's t. A bound may be infinite.
        """
        value = derive(self.coefficients)
        if self.launches is not None:
            each = np.array([derive(row) for row in self.launches])
            interval = median_interval(each)
            if interval is not None:
                return value, min(interval.low, value), max(interval.high, value)
        gradient = _gradient(derive, self.coefficients)
        error = max(float(gradient @ self.covariance @ gradient), 0.0) ** 0.5
        half = student_quantile(0.975, max(self.degrees_of_freedom, 1)) * error
        return value, value - half, value + half

    def parameter(self, name: str, unit: str, derive: Derive) -> FittedParameter | None:
        """Return a derived parameter with its interval; None if the parameter or a bound is not finite."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value, low, high = self.interval(derive)
        if not np.isfinite([value, low, high]).all():
            return None
        return FittedParameter(name=name, value=float(value), low=float(low), high=float(high), unit=unit)


def fit_linear(design: Floats, curve: Curve) -> LinearFit:
    """Fit time = design @ coefficients by least squares weighted by the curve's noise.

    `design` has the shape (points, k) and independent columns; a column of zeros has the coefficient 0. The times
    of each launch are fitted with the same weights.
    """
    weighted = design / curve.sigma_s[:, None]
    scale = np.linalg.norm(weighted, axis=0)
    freedom = int(curve.time_s.size - np.count_nonzero(scale))
    scale[scale == 0] = 1.0
    solve = np.linalg.pinv(weighted / scale) / scale[:, None] / curve.sigma_s
    coefficients = solve @ curve.time_s
    fitted = design @ coefficients
    chi_square = float((((curve.time_s - fitted) / curve.sigma_s) ** 2).sum())
    inverse = np.linalg.pinv((weighted / scale).T @ (weighted / scale)) / np.outer(scale, scale)
    return LinearFit(
        coefficients=coefficients,
        covariance=inverse * max(1.0, chi_square / max(freedom, 1)),
        launches=None if curve.launches_s is None else (solve @ curve.launches_s).T,
        fitted_s=fitted,
        chi_square=chi_square,
        relative_error=float(np.median(np.abs(fitted / curve.time_s - 1))),
        degrees_of_freedom=freedom,
    )


def distinguishable(design: Floats) -> bool:
    """Return whether the data can distinguish the columns of a design (condition number, scaled, below 100)."""
    if design.shape[0] < design.shape[1]:
        return False
    return bool(np.linalg.cond(design / np.linalg.norm(design, axis=0)) < 100)


def _gradient(derive: Derive, at: Floats) -> Floats:
    gradient = np.empty_like(at)
    for i in range(at.size):
        step = np.zeros_like(at)
        step[i] = 1e-4 * abs(at[i]) or 1e-12
        gradient[i] = (derive(at + step) - derive(at - step)) / (2 * step[i])
    return gradient
