"""Shares of one figure in another, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, hypot, log


@dataclass(frozen=True)
class Figure:
    """A positive figure with its interval; the bounds are None where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


def ratio(numerator: Figure, denominator: Figure) -> Figure:
    """Return numerator / denominator with an interval recovered from those of two independent figures.

    On the logarithmic scale the distances of the bounds add in squares (MOVER: Zou & Donner 2008, Statistics in
    Medicine 27 (10), 1693-1702): no law is assumed beyond what the two intervals assume, and they may be lopsided.
    """
    value = numerator.value / denominator.value
    n_low, n_high, d_low, d_high = numerator.low, numerator.high, denominator.low, denominator.high
    if n_low is None or n_high is None or d_low is None or d_high is None or min(n_low, d_low) <= 0:
        return Figure(value)
    down = hypot(log(numerator.value / n_low), log(d_high / denominator.value))
    up = hypot(log(n_high / numerator.value), log(denominator.value / d_low))
    return Figure(value, value * exp(-down), value * exp(up))
