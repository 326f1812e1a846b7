"""How two runs differ as a whole, beyond the scatter of their launches.

If the machine was in another state during one of the runs, cases differ in which nothing changed: by one factor,
or each by a little. Launches of one run share the state and cannot show this scatter; the cases can.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import student_quantile

FEWEST_CASES = 8
"""Fewest cases that show a common effect."""
SHARE_THAT_AGREES = 0.75
"""Fraction of the cases that must agree with a common factor."""
CERTAIN = 3.0
"""Standard errors within which a case agrees."""
CLOSE = 0.02
"""A case also agrees if it is this close to the factor, ..."""
CLOSE_TO_LARGE = 1 / 3
"""... or differs from it by at most this fraction of the factor's logarithm."""


@dataclass(frozen=True)
class RunEffect:
    """The effect of the two runs on all cases."""

    shift: float = 0.0
    """Logarithm of the factor that the cases share; 0 if they share none."""
    low: float = 0.0
    high: float = 0.0
    """Half of the cases are between `low` and `high`."""
    agreeing: int = 0
    """Number of cases that agree with the factor."""
    spread: float = 0.0
    """Standard deviation of unchanged cases between the runs, beyond what their launches explain."""


def estimated(log_ratios: Floats, errors: Floats, freedom: Sequence[float], alike: bool) -> RunEffect:
    """Return the effect of the runs, from one log ratio with its standard error for each case.

    The factor is the median of the cases, if three quarters of them agree with it. `alike`: no difference between
    the runs is known. Then nobody intended what most cases do: the median is always the factor, and the scatter of
    the cases counts as chance.
    """
    if log_ratios.size < FEWEST_CASES:
        return RunEffect()
    middle = float(np.median(log_ratios))
    low, high = (float(value) for value in np.quantile(log_ratios, [0.25, 0.75]))
    close = max(CLOSE, CLOSE_TO_LARGE * abs(middle))
    agreeing = np.abs(log_ratios - middle) <= np.maximum(close, CERTAIN * errors)
    shift = middle if alike or agreeing.mean() >= SHARE_THAT_AGREES else 0.0
    spread = _spread(log_ratios - middle, errors, freedom) if alike else 0.0
    return RunEffect(shift, low, high, int(agreeing.sum()), spread)


def _spread(differences: Floats, errors: Floats, freedom: Sequence[float]) -> float:
    """Return the scatter with which three quarters of the cases are below their expected quantile.

    Up to a quarter of the cases may have changed without counting as scatter.
    """
    expected = student_quantile(0.875, float(np.median(freedom)))

    def excess(spread: float) -> float:
        return (
            float(np.quantile(np.abs(differences) / np.hypot(np.maximum(errors, 1e-3), spread), 0.75)) - expected
        )

    widest = float(np.abs(differences).max())
    if excess(0.0) <= 0 or widest == 0:
        return 0.0
    from scipy.optimize import brentq  # takes some time to load

    return float(brentq(excess, 0.0, 2 * widest))
