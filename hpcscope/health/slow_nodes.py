"""Nodes that are slower than their peers in one check: named only after two independent stages.

A table has a row for each node of one group of equal hardware, and a column for each visit. Its values are
logarithms of costs (seconds, or the reciprocal of a rate). A difference of 0.105 means a rate 10 % lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, log, pi, sqrt

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import normal_quantile, student_quantile

LEVEL = 0.01
"""Fraction of healthy clusters in which any node is named, over all nodes and checks."""
SMALLEST = 0.05
"""Smallest reduction of a rate that is named, however certain smaller ones are: equal parts differ, too."""
SMALLEST_LOG = -log(1 - SMALLEST)
PARTNERS = 8
"""Number of nodes that did not stand out and are visited again with the suspects."""
POWER_MARGIN = 2.58
"""Normal quantile of 99.5 %: a slowness 2.58 standard deviations above the threshold exceeds it in both stages
with 99 % probability."""
FEWEST = 5
"""Fewest nodes of a group: with fewer, the scatter of equal nodes is unknown and outliers cannot be identified."""
FEWEST_REST = 3
FEWEST_FAST = 1 / 3
"""Fraction of a group that must agree at the fast end to be the reference for the others."""
MOST_NAMED = 0.4
"""Largest fraction of a group that is named as slow; above it, the group counts as two clusters of values."""


@dataclass(frozen=True)
class Screening:
    """The first stage: which nodes of a group stand out."""

    typical: Floats
    """Median over the visits of each node."""
    center: float
    """Mean of the nodes that do not stand out."""
    spread: float
    """Standard deviation of the nodes that do not stand out."""
    rest: tuple[int, ...]
    """Rows of the nodes that do not stand out."""
    slow: tuple[int, ...]
    """Rows of the nodes that stand out and are slower by at least `SMALLEST`, the slowest first."""
    two_clusters: bool
    """Whether more than `MOST_NAMED` stand out: the values alone do not say which cluster is sound."""
    visible: float | None
    """The smallest reduction of a rate that both stages detect with 99 % probability; None with too few nodes."""

    def slowness(self, row: int) -> float:
        """Return the fraction by which a node's rate is below its peers'."""
        return slowness(float(self.typical[row]) - self.center)


def slowness(excess: float) -> float:
    """Return the fraction by which a rate is reduced, from the excess of the logarithm of its cost."""
    return -expm1(-excess)


def screen(costs: Floats, level: float) -> Screening:
    """Find nodes that are slower than the rest of their group; `level`: probability of any in a healthy group.

    The generalized extreme studentized deviate test of Rosner (1983, Technometrics 25, 165-172), one-sided: with
    the i slowest nodes set aside, the i-th is compared with mean and deviation of the rest by Student's t with
    n - i - 1 degrees of freedom at level / (n - i + 1). The largest i that exceeds its bound counts, so that
    several slow nodes do not hide one another. Slow nodes may be the majority: i goes up to two thirds of n.
    """
    typical = np.median(costs, axis=1)
    n = typical.size
    if n < FEWEST:
        center = float(np.min(typical))
        slow = [row for row in np.argsort(-typical).tolist() if typical[row] - center >= SMALLEST_LOG]
        rest = tuple(row for row in range(n) if row not in slow)
        return Screening(typical, center, 0.0, rest, tuple(slow), two_clusters=False, visible=None)
    order = np.argsort(-typical)
    most = n - max(FEWEST_REST, int(np.ceil(FEWEST_FAST * n)))
    outside = _outside(typical[order], most, level)
    rest_rows = order[outside:]
    center, spread = _center(typical[rest_rows])
    slow = [row for row in order[:outside].tolist() if typical[row] - center >= SMALLEST_LOG]
    bound = student_quantile(1 - level / n, rest_rows.size - 1) * _largest_deviation(rest_rows.size - 1)
    error = spread * (1 + 1 / min(rest_rows.size, PARTNERS)) ** 0.5
    return Screening(
        typical,
        center,
        spread,
        tuple(rest_rows.tolist()),
        tuple(slow),
        two_clusters=len(slow) > MOST_NAMED * n,
        visible=slowness(max(bound * error, SMALLEST_LOG) + POWER_MARGIN * error),
    )


def confirm(
    first: Screening, again: Floats, rows: Sequence[int], suspects: int, level: float
) -> dict[int, tuple[float, bool]]:
    """Return for each suspect its excess in values measured again, and whether that confirms it.

    `again`: visits of the nodes `rows` at one later time; the first `suspects` of them stood out, the others are
    partners that did not. Partners take part because a machine may change its state for minutes: a suspect is
    compared with their values now, not with earlier ones. The standard deviation is the larger of two: of all
    sound nodes in the first stage, and of the partners now. `level` is divided among the suspects (Bonferroni).
    With fewer than `FEWEST` nodes, every visit of a suspect must be slower than all visits of partners: with v
    visits of each, this happens to equal nodes with probability 1 / C(2v, v).
    """
    typical = np.median(again, axis=1)
    partners = typical[suspects:]
    if first.visible is None:
        slowest_partner = float(again[suspects:].max())
        apart = again.min(axis=1) > slowest_partner + SMALLEST_LOG
        return {row: (float(typical[i] - partners.min()), bool(apart[i])) for i, row in enumerate(rows[:suspects])}
    center, spread_now = _center(partners)
    spread = max(first.spread, spread_now)
    freedom = max(len(first.rest), partners.size) - 1
    bound = student_quantile(1 - level / max(suspects, 1), freedom) * spread * (1 + 1 / partners.size) ** 0.5
    excess = {row: float(value) - center for row, value in zip(rows[:suspects], typical, strict=False)}
    return {row: (over, over > max(bound, SMALLEST_LOG)) for row, over in excess.items()}


def below_reference(costs: Floats, reference: float, level: float) -> dict[int, float]:
    """Return the excess of each node that is slower than a reference by more than `SMALLEST`, at `level`.

    For a site that knows what its nodes can do; works even if all of them are slow. One-sided t test of a node's
    own median, whose standard error is sqrt(pi / 2) times the standard error of the mean, as for normal values
    (Kenney & Keeping 1951, sec. 8.4). The variance is the median over nodes, or the node's own if that is larger.
    """
    nodes, visits = costs.shape
    if visits < FEWEST_REST:
        return {}
    own = costs.var(axis=1, ddof=1)
    error = np.sqrt(np.maximum(own, np.median(own)) * pi / 2 / visits)
    bound = student_quantile(1 - level / nodes, visits - 1)
    excess = np.median(costs, axis=1) - reference
    return {
        row: float(excess[row]) for row in range(nodes) if excess[row] - bound * float(error[row]) > SMALLEST_LOG
    }


def below_past(now: Sequence[float], before: Sequence[Sequence[float]], level: float) -> dict[int, float]:
    """Return the excess of each node whose median exceeds its earlier ones by more than `SMALLEST`, at `level`.

    `now` is NaN for a node that has no value. A node is compared only with its own past, so that nodes may differ
    permanently. One-sided t test of a single new value; the variance is pooled over the nodes, or the node's own
    if that is larger.
    """
    if not now:
        return {}
    freedom = sum(len(values) - 1 for values in before)
    own = np.array([np.var(values, ddof=1) for values in before])
    pooled = float(sum((len(each) - 1) * variance for each, variance in zip(before, own, strict=True))) / freedom
    error = np.sqrt(np.maximum(own, pooled) * [1 + 1 / len(values) for values in before])
    bound = student_quantile(1 - level / len(now), freedom)
    excess = np.array(now) - [float(np.median(values)) for values in before]
    over = np.flatnonzero(excess > np.maximum(bound * error, SMALLEST_LOG))
    return {row: float(excess[row]) for row in over.tolist()}


def _outside(descending: Floats, most: int, level: float) -> int:
    """Return the largest i for which the i-th slowest value stands out from the values without the i slowest.

    Mean and deviation of the remaining values come from cumulative sums, so the time is linear in their number.
    """
    n = descending.size
    values = descending - np.median(descending)
    i = np.arange(1, most + 1)
    sizes = n - i
    sums, squares = (np.cumsum(terms[::-1])[::-1][i] for terms in (values, values**2))
    spread = np.sqrt(np.maximum(squares - sums**2 / sizes, 0) / (sizes - 1) * (1 + 1 / sizes))
    apart = values[i - 1] - sums / sizes
    # Student's quantile is larger than the normal quantile at the same level, and more expensive.
    far = i[apart > normal_quantile(1 - level / (n - most + 1)) * spread]
    for index in far[::-1].tolist():
        if apart[index - 1] > student_quantile(1 - level / (n - index + 1), n - index - 1) * spread[index - 1]:
            return int(index)
    return 0


def _largest_deviation(freedom: int) -> float:
    """Return the 99.5 % quantile of an estimated standard deviation relative to the true one.

    Wilson & Hilferty (1931, PNAS 17, 684-688): the cube root of chi squared over its degrees of freedom is nearly
    normal.
    """
    part = 2 / (9 * freedom)
    return sqrt((1 - part + POWER_MARGIN * sqrt(part)) ** 3)


def _center(values: Floats) -> tuple[float, float]:
    """Return mean and standard deviation; the latter is 0 for a single value."""
    return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else 0.0
