"""Decomposition of a matrix of pairs into effects of hosts, of single pairs and of paths between groups.

The logarithm of a pair's time is modeled as m + a_i + a_j + c [i and j in different groups] + e_ij (Tukey 1977,
Exploratory Data Analysis, ch. 11: median polish). Due to the medians, a slow host does not distort other pairs.
"""

from dataclasses import dataclass

import numpy as np

from hpcscope.samples.samples import Floats, Integers
from hpcscope.statistics.distributions import student_quantile
from hpcscope.statistics.estimate import Estimate

FEWEST = 4
"""With fewer ranks, a slow rank cannot be distinguished from slow pairs."""
FEWEST_LAUNCHES = 4
SMALLEST_EXCESS = 0.05
FALSE_ALARMS = 0.01
"""Probability of any false alarm of one kind on a matrix of equals, if noise were normal (Bonferroni)."""
THRESHOLD = 3.5
"""Robust z score of an outlier (Iglewicz & Hoaglin 1993, How to Detect and Handle Outliers, sec. 3)."""
LEAST_SPREAD = 0.01
"""Lower bound on the relative spread among peers."""
ROUNDS = 20


@dataclass(frozen=True)
class Outlier:
    """Something that is slower than its peers: `members` are one rank, a pair, or one of two groups."""

    members: tuple[int, ...]
    excess: Estimate
    """Relative excess of its time (0.1 is 10 %), with its interval over the launches."""


@dataclass(frozen=True)
class Decomposition:
    """Slow hosts, pairs and paths of a matrix; all empty if the pairs are equal."""

    hosts: list[Outlier]
    pairs: list[Outlier]
    groups: Outlier | None
    """The smaller of two groups between which messages are slower than inside them."""


def decompose(times_s: Floats) -> Decomposition:
    """Decompose one-way latencies, shape (launches, ranks, ranks), symmetric; the diagonal is ignored.

    Nothing is found if there are too few launches or ranks.
    """
    launches, count, _ = times_s.shape
    if launches < FEWEST_LAUNCHES or count < FEWEST:
        return Decomposition([], [], None)
    logs = np.log(times_s + np.eye(count))
    groups, logs = _without_cut(logs)
    whole = _polish(np.median(logs, axis=0))
    each = [_polish(log) for log in logs]
    upper = [(i, j) for i in range(count) for j in range(i)]
    hosts = _slow([((i,), whole[0][i], [a[i] for a, _ in each]) for i in range(count)])
    pairs = _slow([((j, i), whole[1][i, j], [e[i, j] for _, e in each]) for i, j in upper])
    return Decomposition(hosts, pairs, groups)


def _slow(candidates: list[tuple[tuple[int, ...], float, list[float]]]) -> list[Outlier]:
    """Return the candidates that stand out among their peers, confirmed over the launches; slowest first."""
    values = np.array([value for _, value, _ in candidates])
    deviation = values - np.median(values)
    spread = max(1.4826 * float(np.median(np.abs(deviation))), LEAST_SPREAD)
    middles = np.median([repeated for _, _, repeated in candidates], axis=0)
    outliers = [
        _outlier(members, np.array(repeated) - middles)
        for (members, _, repeated), excess in zip(candidates, deviation, strict=True)
        if excess > THRESHOLD * spread and _certain(np.array(repeated) - middles, len(candidates))
    ]
    large = [effect for effect in outliers if effect.excess.value > SMALLEST_EXCESS]
    return sorted(large, key=lambda effect: -effect.excess.value)


def _certain(excess: Floats, tests: int) -> bool:
    """Return whether a one-sided t test over the launches, corrected for all tests, confirms an excess."""
    error = max(float(excess.std(ddof=1)), 1e-12) / np.sqrt(excess.size)
    return bool(excess.mean() / error > -student_quantile(FALSE_ALARMS / tests, excess.size - 1))


def _outlier(members: tuple[int, ...], excess: Floats) -> Outlier:
    return Outlier(members, excess_estimate(float(excess.mean()), excess))


def excess_estimate(excess: float, each: Floats) -> Estimate:
    """Return a relative excess with its interval, from its logarithm over all launches and in each."""
    margin = student_quantile(0.975, each.size - 1) * float(each.std(ddof=1)) / np.sqrt(each.size)
    low, typical, high = (float(np.expm1(value)) for value in (excess - margin, excess, excess + margin))
    return Estimate(value=typical, low=low, high=high)


def _polish(logs: Floats) -> tuple[Floats, Floats]:
    """Return each rank's effect and each pair's residual, by median polish of a symmetric matrix."""
    count = len(logs)
    off = ~np.eye(count, dtype=bool)
    residual = logs - np.median(logs[off])
    effects = np.zeros(count)
    for _ in range(ROUNDS):
        # Take half of a row's median: the other half appears in its columns.
        step = np.median(residual[off].reshape(count, count - 1), axis=1) / 2
        effects += step
        residual = residual - step[:, None] - step[None, :]
    return effects, residual


def _without_cut(logs: Floats) -> tuple[Outlier | None, Floats]:
    """Find two groups with slower messages between them; return them, and the matrix without the difference.

    One half of the launches suggests the groups and the other half must confirm them, because a choice among many
    splits finds something in any noise.
    """
    suggested = _two_groups(np.median(logs[::2], axis=0))
    if suggested is None:
        return None, logs
    across = suggested[:, None] != suggested[None, :]
    inside = ~across & ~np.eye(len(suggested), dtype=bool)
    excess = np.array([np.median(log[across]) - np.median(log[inside]) for log in logs[1::2]])
    middle = np.median(logs[1::2], axis=0)
    apart = np.quantile(middle[across], 0.1) > np.quantile(middle[inside], 0.9)
    if not apart or not _certain(excess, 1) or np.expm1(excess.mean()) < SMALLEST_EXCESS:
        return None, logs
    smaller = suggested == (1 if (suggested == 1).sum() * 2 <= len(suggested) else 2)
    effect = _outlier(tuple(np.flatnonzero(smaller).tolist()), excess)
    return effect, logs - across * float(excess.mean())


def _two_groups(logs: Floats) -> Integers | None:
    """Return 1 or 2 for each rank, by average linkage (Sokal & Michener 1958); None if a rank would be alone."""
    from scipy.cluster.hierarchy import fcluster, linkage  # takes some time to load
    from scipy.spatial.distance import squareform

    distance = logs - logs[~np.eye(len(logs), dtype=bool)].min()
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    labels: Integers = fcluster(tree, 2, "maxclust").astype(np.int64)
    sizes = [int((labels == label).sum()) for label in (1, 2)]
    return labels if min(sizes) >= 2 else None
