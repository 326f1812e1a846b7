"""The normal, Student's and the binomial distribution, and mid-ranks, under names that say what they return.

SciPy has all of these, but every command would wait for it to load: 0.2 s for `scipy.special`, about a second for
`scipy.stats` (docs/decisions/0032). Tests compare each function with SciPy's.
"""

from bisect import bisect_left
from math import erfc, exp, lgamma, log, log1p, nan, pi, sqrt
from statistics import NormalDist

import numpy as np

from hpcscope.samples.samples import Floats

_NORMAL = NormalDist()
_PRECISION = 1e-14
_MOST_STEPS = 50
_NEARLY_NORMAL = 1e7
"""Above this number of degrees of freedom, Student's quantiles equal normal quantiles to seven digits."""


def normal_cdf(x: float) -> float:
    """Return P(Z <= x) of a standard normal Z."""
    return erfc(-x / sqrt(2)) / 2


def normal_quantile(p: float) -> float:
    """Return the x with P(Z <= x) = p of a standard normal Z, 0 < p < 1."""
    return _NORMAL.inv_cdf(p)


def student_cdf(x: float, freedom: float) -> float:
    """Return P(T <= x) of Student's T with this many degrees of freedom (DLMF 8.17.1)."""
    if freedom > _NEARLY_NORMAL:
        return normal_cdf(x)
    if x > 0:
        return 1 - student_cdf(-x, freedom)
    return _beta_cdf(freedom / (freedom + x * x), freedom / 2, 0.5) / 2


def student_quantile(p: float, freedom: float) -> float:
    """Return the x with P(T <= x) = p of Student's T, 0 < p < 1; NaN without a degree of freedom.

    Newton's method for the logarithm of the probability, which is nearly linear in both kinds of tails.
    """
    if not freedom > 0:
        return nan
    if p > 0.5:
        return -student_quantile(1 - p, freedom)
    x = normal_quantile(p)
    if freedom > _NEARLY_NORMAL:
        return x
    scale = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * pi) / 2
    for _ in range(_MOST_STEPS):
        below = student_cdf(x, freedom)
        density = exp(scale - (freedom + 1) / 2 * log1p(x * x / freedom))
        step = below * log(below / p) / density
        x -= step
        if abs(step) <= 1e-11 * (abs(x) + 1e-3):
            break
    return x


def binomial_cdf(k: int, n: int, p: float) -> float:
    """Return the probability of at most k successes in n trials, each with probability p (DLMF 8.17.24)."""
    if k < 0:
        return 0.0
    return _beta_cdf(1 - p, n - k, k + 1) if k < n else 1.0


def binomial_quantile(q: float, n: int, p: float) -> int:
    """Return the smallest k with P(at most k successes in n trials) >= q, 0 < q <= 1."""
    return bisect_left(range(n), q, key=lambda k: binomial_cdf(k, n, p))


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b) by its continued fraction (DLMF 8.17.22)."""
    if x > (a + 1) / (a + b + 2):  # the other fraction converges sooner here
        return 1 - _beta_cdf(1 - x, b, a)
    if x <= 0:
        return 0.0
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    m = 0
    while abs(c * d - 1) > _PRECISION or m == 0:
        m += 1
        for term in (m * (b - m) / (a + 2 * m - 1), -(a + m) * (a + b + m) / (a + 2 * m + 1)):
            d = 1 / (1 + term * x / (a + 2 * m) * d)
            c = 1 + term * x / (a + 2 * m) / c
            value *= c * d
    return value * exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a


def mid_ranks(values: Floats) -> Floats:
    """Return the ranks of values from 1; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray(last - (counts - 1) / 2)[place]
