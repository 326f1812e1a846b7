"""Nodes that are slower than their peers in one check: named after two independent stages, never after one.

A table has a row for each node of one group of equal hardware, and a column for each visit. Its values are
logarithms of costs: of seconds, or of the reciprocal of a rate. A difference of 0.105 is a rate 10 % lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, log, pi, sqrt

import numpy as np

from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import normal_quantile, student_quantile

LEVEL = 0.01
"""Share of healthy clusters in which any node is named, over all nodes and checks."""
SMALLEST = 0.05
"""A rate that is lower by less is not named, however certain: equal parts differ by some percent."""
SMALLEST_LOG = -log(1 - SMALLEST)
PARTNERS = 8
"""Nodes that did not stand out and are visited again with the suspects."""
POWER_MARGIN = 2.58
"""Normal quantile of 99.5 %: a slowness 2.58 standard deviations above the threshold exceeds it in both stages
in 99 %."""
FEWEST = 5
"""Nodes of a group: among fewer, the scatter of equal nodes is not known, and an outlier cannot be identified."""
FEWEST_REST = 3
FEWEST_FAST = 1 / 3
"""Share of a group that must agree at the fast end to be what the others are compared with."""
MOST_NAMED = 0.4
"""Share of a group that is named as slow; above it the group is said to have two clusters of values."""


@dataclass(frozen=True)
class Screening:
    """The first stage: which nodes of a group stand out."""

    typical: Floats
    """Median over the visits of each node."""
    center: float
    """Mean of the nodes that do not stand out."""
    spread: float
    """Their standard deviation."""
    rest: tuple[int, ...]
    """Rows of the nodes that do not stand out."""
    slow: tuple[int, ...]
    """Rows of those that do and are slower by at least `SMALLEST`, the slowest first."""
    two_clusters: bool
    """More stand out than `MOST_NAMED`: which of the two is the sound one, the values alone do not say."""
    visible: float | None
    """The smallest reduction of a rate that both stages notice in 99 %; None among too few nodes."""

    def slowness(self, row: int) -> float:
        """Return by which share the rate of a node is below its peers'."""
        return slowness(float(self.typical[row]) - self.center)


def slowness(excess: float) -> float:
    """Return the reduction of a rate for an excess of the logarithm of its cost."""
    return -expm1(-excess)


def screen(costs: Floats, level: float) -> Screening:
    """Find nodes that are slower than the rest of their group; `level`: chance of any in a healthy group.

    The generalized extreme studentized deviate test of Rosner (1983, Technometrics 25, 165-172), one-sided: with
    the i slowest nodes set aside, the i-th is compared with mean and deviation of the rest by Student's t with
    n - i - 1 degrees of freedom at level / (n - i + 1). The largest i that exceeds its bound counts, so that
    several slow nodes do not hide one another. Nothing is assumed of the majority: i goes up to two thirds.
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
    partners that did not. Partners take part because a machine changes its state for minutes: a suspect is held
    against them, not against what they were before. The deviation is that of all sound nodes of the first stage,
    or that of the partners now, whichever is larger; `level` is shared among the suspects (Bonferroni). Among
    fewer than `FEWEST` nodes no visit of a suspect may be as fast as any of a partner: with v visits of both,
    equal nodes are so in 1 of C(2v, v) cases.
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

    For a site that knows what its nodes can do, also where all of them are slow. One-sided t test of a node's own
    median; its standard error is that of a median of normal values, sqrt(pi / 2) times that of the mean
    (Kenney & Keeping 1951, sec. 8.4), with the variance pooled over nodes, or the node's own where that is larger.
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
    """Return the excess of each node whose median is above its earlier ones by more than `SMALLEST`, at `level`.

    `now` is not a number for a node that has no value. A node is beside its own past alone, so that nodes may
    differ for good. One-sided t test of a single new value; the variance is pooled over the nodes, or the node's
    own where that is larger.
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
    """Return the largest i for which the i-th slowest value stands out of what remains without the i slowest.

    Mean and deviation of what remains come from sums, in time that grows with the number of values.
    """
    n = descending.size
    values = descending - np.median(descending)
    i = np.arange(1, most + 1)
    sizes = n - i
    sums, squares = (np.cumsum(terms[::-1])[::-1][i] for terms in (values, values**2))
    spread = np.sqrt(np.maximum(squares - sums**2 / sizes, 0) / (sizes - 1) * (1 + 1 / sizes))
    apart = values[i - 1] - sums / sizes
    # Student's quantile is larger than the normal one at the same level, and costs more.
    far = i[apart > normal_quantile(1 - level / (n - most + 1)) * spread]
    for index in far[::-1].tolist():
        if apart[index - 1] > student_quantile(1 - level / (n - index + 1), n - index - 1) * spread[index - 1]:
            return int(index)
    return 0


def _largest_deviation(freedom: int) -> float:
    """Return what an estimated standard deviation reaches in 99.5 %, over the true one.

    Wilson & Hilferty (1931, PNAS 17, 684-688): the cube root of chi squared over its degrees of freedom is nearly
    normal.
    """
    part = 2 / (9 * freedom)
    return sqrt((1 - part + POWER_MARGIN * sqrt(part)) ** 3)


def _center(values: Floats) -> tuple[float, float]:
    """Return mean and standard deviation; the latter is 0 for a single value."""
    return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else 0.0
