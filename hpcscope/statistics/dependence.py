"""Whether successive samples depend on each other, and what fraction of their variance is between launches."""

from typing import Any

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import mid_ranks

LEAST_SHARE = 0.25
"""Limit of the correction for a series whose dependence lasts as long as the series itself."""
FEWEST = 10
"""A series shorter than this says nothing about dependence."""


def lag_one(values: Floats) -> tuple[float, float] | None:
    """Return (autocorrelation of the ranks, standard normal score); None if values are all equal or too few.

    The rank version of von Neumann's ratio: with R the mid-ranks, RVN = sum (R_i - R_{i+1})^2 / sum (R_i -
    mean)^2 has mean 2 and variance 4 (n-2) (5n^2 - 2n - 9) / (5n (n+1) (n-1)^2) in independent samples of any
    distribution, so single interrupts do not spoil it. Bartels 1982, J. Am. Stat. Assoc. 77 (377), 40-46.
    The autocorrelation is 1 - RVN / 2.
    """
    n = values.size
    if n < FEWEST:
        return None
    ranks = mid_ranks(values)
    spread = float(((ranks - ranks.mean()) ** 2).sum())
    if spread == 0:
        return None
    ratio = float((np.diff(ranks) ** 2).sum()) / spread
    variance = 4 * (n - 2) * (5 * n**2 - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
    return 1 - ratio / 2, (2 - ratio) / variance**0.5


def variance_inflation(launches: list[Floats], median: float) -> float:
    """Return how many samples are worth one independent sample, for the median of all samples; at least 1.

    It is the inflation of the variance of the fraction of samples below the median, 1 + 2 sum rho_k, with rho_k
    the autocorrelation of the signs about the median, which no distribution or outlier distorts. The sum ends
    before the first pair of neighboring lags that is not positive (initial positive sequence; Geyer 1992,
    Statistical Science 7 (4), 473-483, sec. 3.3). Signs that add up to 0 have autocorrelations that are too low by
    about 1 / n each, which is corrected.
    """
    signs = [np.sign(launch - median) for launch in launches]
    count = sum(launch.size for launch in launches)
    shortest = max((launch.size for launch in launches), default=0)
    variance = sum(float(sign @ sign) for sign in signs)
    if variance <= 0:
        return 1.0
    products = sum((_lagged_products(sign, shortest) for sign in signs), np.zeros(shortest))
    inflation, lag = -1.0, 0
    while lag + 1 < shortest // 2:
        pair = float(products[lag] + products[lag + 1])
        if pair <= 0:
            break
        inflation += 2 * pair / variance
        lag += 2
    return max(1.0, inflation / max(1 - (2 * lag + 1) / count, LEAST_SHARE))


def _lagged_products(signs: Floats, lags: int) -> Floats:
    """Return the sums of products of signs that are 0, 1 ... lags - 1 apart: whole numbers, so they are exact.

    Fourier transforms are used because the signs of a machine with two states agree over most lags of a long
    series: summing lag by lag would take minutes.
    """
    length = 1 << (signs.size + lags).bit_length()  # enough zeros that no lag wraps around
    spectrum = np.fft.rfft(signs, length)
    return np.rint(np.fft.irfft(spectrum * spectrum.conj(), length)[:lags])


def variance_of_mean(count: Any, correlation: Any) -> Any:
    """Return the variance of the mean of this many values of a first-order autoregression of variance 1.

    Numbers or arrays; Box, Jenkins, Reinsel & Ljung 2015, Time Series Analysis, sec. 2.1.5 with 3.2.
    """
    sooner = 2 * correlation * (1 - correlation**count) / (count * (1 - correlation) ** 2)
    return ((1 + correlation) / (1 - correlation) - sooner) / count


def between_launch_share(launches: list[Floats]) -> float | None:
    """Return the fraction of the variance that is between launches, from 0 to 1; None with fewer than two.

    The one-way random-effects estimate (intraclass correlation, ANOVA estimator for unequal groups: Searle,
    Casella & McCulloch, Variance Components, 1992, sec. 3.6), on the ranks of all samples together: in raw times a
    single interrupt would outweigh any difference between launches.
    """
    sizes = np.array([launch.size for launch in launches], dtype=np.float64)
    if len(launches) < 2 or (sizes < 2).any():
        return None
    ranks = mid_ranks(np.concatenate(launches))
    groups = np.split(ranks, np.cumsum(sizes).astype(int)[:-1])
    total, count = float(sizes.sum()), len(launches)
    means = np.array([group.mean() for group in groups])
    between = float((sizes * (means - ranks.mean()) ** 2).sum()) / (count - 1)
    within = float(sum(((group - group.mean()) ** 2).sum() for group in groups)) / (total - count)
    typical = (total - float((sizes**2).sum()) / total) / (count - 1)
    whole = between + (typical - 1) * within
    return min(max((between - within) / whole, 0.0), 1.0) if whole > 0 else 0.0
