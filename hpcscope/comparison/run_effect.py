"""What two runs differ in as a whole, beyond the scatter of their launches.

A machine that was in another state during one of the runs changes cases in which nothing changed: by one factor,
or each by a little. Launches of one run do not show that scatter, since they share the state; the cases do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import student_quantile

FEWEST_CASES = 8
"""Fewer cases say nothing of what they share."""
SHARE_THAT_AGREES = 0.75
"""A factor is common when so many cases agree with it."""
CERTAIN = 3.0
"""Standard errors within which a case agrees."""
CLOSE = 0.02
"""A case agrees, too, when it is so close to the factor, ..."""
CLOSE_TO_LARGE = 1 / 3
"""... or differs from it by so much of the factor's logarithm."""


@dataclass(frozen=True)
class RunEffect:
    """What the two runs have done to all cases."""

    shift: float = 0.0
    """Logarithm of the factor that the cases share; 0 where they share none."""
    low: float = 0.0
    high: float = 0.0
    """Half of the cases lie between these."""
    agreeing: int = 0
    """Cases that agree with the factor."""
    spread: float = 0.0
    """Standard deviation of unchanged cases between the runs, beyond what their launches explain."""


def estimated(log_ratios: Floats, errors: Floats, freedom: Sequence[float], alike: bool) -> RunEffect:
    """Return the effect of the runs, from one log ratio with its standard error for each case.

    The factor is the median of the cases, if three quarters of them agree with it. `alike`: nothing is known to
    differ between the runs. What most cases do is then no change that somebody made: the median is always the
    factor, and the scatter of the cases counts as chance.
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
    """Return the scatter at which three quarters of the cases stay below the quantile that they should.

    A quarter of the cases may have changed without being taken for scatter.
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
