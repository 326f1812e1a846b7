"""The normal, Student's and the binomial distribution, and mid-ranks, in names that say what they return.

`scipy.stats` has all of these, but takes about a second to load, for which every command would wait;
`scipy.special` computes the same, and is loaded by its first use.
"""

from typing import Any

import numpy as np
import scipy

from hpcscope.samples.samples import Floats


def normal_cdf(x: float) -> float:
    """Return P(Z <= x) of a standard normal Z."""
    return float(scipy.special.ndtr(x))


def normal_quantile(p: float) -> float:
    """Return the x with P(Z <= x) = p of a standard normal Z."""
    return float(scipy.special.ndtri(p))


def student_cdf(x: float, freedom: float) -> float:
    """Return P(T <= x) of Student's T with so many degrees of freedom."""
    return float(scipy.special.stdtr(freedom, x))


def student_quantile(p: float, freedom: Any) -> Any:
    """Return the x with P(T <= x) = p of Student's T; `freedom` may be an array of degrees of freedom."""
    return scipy.special.stdtrit(freedom, p)


def binomial_cdf(k: int, n: int, p: float) -> float:
    """Return the probability of at most k successes in n trials."""
    return float(scipy.special.bdtr(k, n, p)) if k >= 0 else 0.0


def binomial_quantile(q: float, n: int, p: float) -> int:
    """Return the smallest k with P(at most k successes in n trials) >= q."""
    # The inverse for real k is exact but for rounding, which may be off by one success.
    near = int(np.ceil(scipy.special.bdtrik(q, n, p)))
    return next(k for k in range(max(near - 1, 0), n + 1) if binomial_cdf(k, n, p) >= q)


def mid_ranks(values: Floats) -> Floats:
    """Return the ranks of values from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray(last - (counts - 1) / 2)[place]
