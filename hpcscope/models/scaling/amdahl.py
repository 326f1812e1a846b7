"""Amdahl's law with communication: the serial part, the parallel part, and the cost of each further rank.

T(n) = T_ser + T_par / n + alpha (n - 1), after Melas 2000, eq. 7.2. Its alpha n is taken as the cost of the other
ranks, because one rank has no partner. The speedup is T(1) / T(n) with T(1) = T_ser + T_par.
"""

from itertools import combinations

import numpy as np

from hpcscope import units
from hpcscope.models.fitting.curve import TOLERANCE
from hpcscope.models.fitting.fit import FitPoint
from hpcscope.models.fitting.misfit import WORST_ERROR, quarter_miss
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import estimate
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict

FEWEST_COUNTS = 3


class Amdahl(Strict):
    """T(n) = T_ser + T_par / n + alpha (n - 1), fitted to the times of one size."""

    serial_s: Estimate
    parallel_s: Estimate
    per_process_s: Estimate
    """alpha: the cost of each further rank."""
    serial_share: Estimate
    """T_ser / (T_ser + T_par)."""
    critical_ranks: Estimate | None
    """The number of ranks with the shortest time, sqrt(T_par / alpha); None if unknown, for the `reason` given."""
    reason: str
    relative_error: float | None
    """Median absolute relative residual; None without more points than costs: nothing tests the law."""
    points: list[FitPoint]


def fit(ranks: Floats, drawn_s: Floats) -> Amdahl | str:
    """Return the law fitted to times, or why it cannot be fitted.

    `ranks` has the shape (points,), `drawn_s` (points, 1 + draws): medians in s, then draws of them. The law is
    fitted to each draw; these fits give the interval.
    """
    if ranks.size < FEWEST_COUNTS:
        known = "1 rank count" if ranks.size == 1 else f"{ranks.size} rank counts"
        return f"{known} with a processor for each rank; at least {FEWEST_COUNTS} are needed"
    noise = drawn_s[:, 1:].std(axis=1) / drawn_s[:, 0]
    sigma_s = drawn_s[:, 0] * np.hypot(noise, TOLERANCE)
    design = np.column_stack([np.ones_like(ranks), 1 / ranks, ranks - 1])
    costs = nonnegative(design / sigma_s[:, None], drawn_s / sigma_s[:, None])
    fitted_s = design @ costs[:, 0]
    errors = np.abs(fitted_s / drawn_s[:, 0] - 1)
    if (miss := quarter_miss(errors)) > WORST_ERROR:
        return f"the law does not describe the times: a quarter of them are off by {units.percent(miss)} or more"
    serial, parallel, each = costs
    critical, reason = critical_count(parallel, each)
    return Amdahl(
        serial_s=estimate(serial),
        parallel_s=estimate(parallel),
        per_process_s=estimate(each),
        serial_share=estimate(serial / np.maximum(serial + parallel, np.finfo(float).tiny)),
        critical_ranks=critical,
        reason=reason,
        relative_error=float(np.median(errors)) if ranks.size > design.shape[1] else None,
        points=[_point(*arguments) for arguments in zip(ranks, drawn_s, fitted_s, strict=True)],
    )


def inverse(ranks: Floats, drawn_s: Floats) -> Estimate:
    """Fit a0 of t(n) = a0 / n, the law of work that divides completely; shapes as in `fit`."""
    sigma_s = drawn_s[:, 0] * np.hypot(drawn_s[:, 1:].std(axis=1) / drawn_s[:, 0], TOLERANCE)
    (cost,) = nonnegative((1 / ranks / sigma_s)[:, None], drawn_s / sigma_s[:, None])
    return estimate(cost)


def nonnegative(design: Floats, times: Floats) -> Floats:
    """Return the nonnegative least-squares coefficients, shape (k, draws), for times (points, draws).

    The optimum is the best nonnegative one of the free solutions in all selections of columns (Lawson & Hanson
    1974, Solving Least Squares Problems, ch. 23).
    """
    columns = design.shape[1]
    best = np.zeros((columns, times.shape[1]))
    least = (times**2).sum(axis=0)
    for count in range(1, columns + 1):
        for some in map(list, combinations(range(columns), count)):
            solution = np.linalg.pinv(design[:, some]) @ times
            rest = ((times - design[:, some] @ solution) ** 2).sum(axis=0)
            better = (solution >= 0).all(axis=0) & (rest < least * (1 - 1e-9))
            least = np.where(better, rest, least)
            best[:, better] = 0.0
            best[np.ix_(some, better)] = solution[:, better]
    return best


def critical_count(parallel: Floats, each: Floats) -> tuple[Estimate | None, str]:
    """Return n = sqrt(T_par / alpha), where dT/dn = 0, or why it is unknown; costs of the shape (1 + draws,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        counts = np.maximum(np.sqrt(np.where(each > 0, parallel / each, np.inf)), 1.0)
    low, high = np.quantile(counts[1:], [0.025, 0.975], method="inverted_cdf")
    if np.isfinite(counts[0]) and np.isfinite(high):
        value = float(counts[0])
        return Estimate(value=value, low=min(float(low), value), high=max(float(high), value)), ""
    known = f"; the number is above {low:.0f}" if np.isfinite(low) else ""
    return None, f"not within reach: the cost of a further rank cannot be distinguished from 0{known}"


def _point(ranks: float, drawn_s: Floats, fitted_s: float) -> FitPoint:
    time_s = estimate(drawn_s)
    return FitPoint(
        x=float(ranks),
        measured=time_s.value,
        measured_low=time_s.low or time_s.value,
        measured_high=time_s.high or time_s.value,
        fitted=float(fitted_s),
    )
