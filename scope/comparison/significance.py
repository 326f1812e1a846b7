"""Whether a difference is more than chance: rank sums, and permutations pooled over the cases of a comparison."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from scope.samples.samples import Floats

_EXACT_SPLITS = 13_000
"""All splits are enumerated up to 8 against 8 launches; above, the normal approximation is good."""

_POOLED_SPLITS = 1000
"""Splits of one case that enter the pool."""

_SMALLEST_ERROR = 1e-3
"""Smaller relative standard errors are rounded up to this: smaller differences are of no interest."""


@dataclass(frozen=True)
class Significance:
    """The result of a test of one case."""

    test: str
    p: float
    smallest_p: float
    """The smallest p that the rank-sum test can reach with this number of values."""


def rank_sum(a: Floats, b: Floats) -> float:
    """Return the two-sided p of the rank-sum test (Wilcoxon 1945; Mann & Whitney 1947), exact where small."""
    if comb(a.size + b.size, a.size) > _EXACT_SPLITS:
        if np.all(np.concatenate([a, b]) == a[0]):
            return 1.0
        return float(stats.mannwhitneyu(a, b, alternative="two-sided").pvalue)
    ranks = stats.rankdata(np.concatenate([a, b]))
    sums = ranks[_splits(a.size, b.size)].sum(axis=1)
    expected = a.size * ranks.mean()
    return float(np.mean(np.abs(sums - expected) >= abs(ranks[: a.size].sum() - expected) - 1e-9))


def smallest_rank_sum(a: int, b: int) -> float:
    """Return the smallest two-sided p that the rank-sum test can reach with `a` and `b` values."""
    return min(1.0, 2 / comb(a + b, a))


def of_launches(pairs: Sequence[tuple[Floats, Floats]], tests: int, level: float) -> list[Significance]:
    """Test launch medians, one pair for each case; shapes (launches of A,) and (launches of B,), positive.

    The rank-sum test is used where it can reject after correction for `tests` tests. With few launches it cannot:
    6 against 6 reach no less than 2/924. Then the p of a case is the share of studentised differences at least
    as large among all relabellings of launches of all cases with as many launches: the pooled permutation of
    Tusher, Tibshirani & Chu (2001, PNAS 98, 5116-5121) and Storey & Tibshirani (2003, PNAS 100, 9440-9445).
    """
    shapes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, (a, b) in enumerate(pairs):
        shapes[a.size, b.size].append(index)
    answers: dict[int, Significance] = {}
    for (n_a, n_b), members in shapes.items():
        smallest = smallest_rank_sum(n_a, n_b)
        if smallest * tests <= level:
            found = [rank_sum(*pairs[index]) for index in members]
            test = "rank sum of launch medians"
        else:
            found = _pooled([pairs[index] for index in members])
            test = "pooled permutation of launch medians"
        answers |= {index: Significance(test, p, smallest) for index, p in zip(members, found, strict=True)}
    return [answers[index] for index in range(len(pairs))]


def of_samples(a: Floats, b: Floats) -> Significance:
    """Test the samples of single launches, which do not show differences between launches."""
    return Significance("rank sum of samples", rank_sum(a, b), smallest_rank_sum(a.size, b.size))


def corrected(p: Sequence[float]) -> Floats:
    """Return p adjusted so that the false-discovery rate is controlled (Benjamini & Hochberg 1995)."""
    return np.asarray(stats.false_discovery_control(p)) if len(p) else np.array([])


def _pooled(pairs: Sequence[tuple[Floats, Floats]]) -> list[float]:
    """Compare each case's difference with those of all relabellings of all cases; all of one shape."""
    n_a, n_b = pairs[0][0].size, pairs[0][1].size
    values = np.log(np.array([np.concatenate(pair) for pair in pairs]))
    first = _splits(n_a, n_b)
    if len(first) > _POOLED_SPLITS:
        chosen = np.random.default_rng(len(first)).choice(len(first), _POOLED_SPLITS, replace=False)
        first = first[np.concatenate([[0], chosen[chosen != 0]])]
    inside = np.zeros((len(first), n_a + n_b), dtype=np.bool_)
    np.put_along_axis(inside, first, True, axis=1)
    every = np.abs(np.stack([_studentised(row, inside) for row in values]))
    # The first split is the one that was made: the first n_a values are A's.
    pool = np.sort(every.ravel())
    larger = pool.size - np.searchsorted(pool, every[:, 0] * (1 - 1e-12), side="left")
    return [float(count / pool.size) for count in larger]


def _studentised(row: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Return the difference of means over its standard error for every split; shape (splits,)."""
    n_a = int(inside[0].sum())
    n_b = row.size - n_a
    mean_a = np.where(inside, row, 0).sum(axis=1) / n_a
    mean_b = np.where(inside, 0, row).sum(axis=1) / n_b
    squares_a = np.where(inside, (row - mean_a[:, None]) ** 2, 0).sum(axis=1)
    squares_b = np.where(inside, 0, (row - mean_b[:, None]) ** 2).sum(axis=1)
    error = np.sqrt(squares_a / (n_a * (n_a - 1)) + squares_b / (n_b * (n_b - 1)))
    return np.asarray((mean_b - mean_a) / np.maximum(error, _SMALLEST_ERROR))


def _splits(n_a: int, n_b: int) -> NDArray[np.int64]:
    """Return which values are A's in every way to label them, the given way first; shape (splits, n_a)."""
    if comb(n_a + n_b, n_a) <= _EXACT_SPLITS:
        return np.array(list(combinations(range(n_a + n_b), n_a)), dtype=np.int64)
    random = np.random.default_rng(n_a * 1000 + n_b)
    drawn = [random.permutation(n_a + n_b)[:n_a] for _ in range(_POOLED_SPLITS - 1)]
    return np.array([np.arange(n_a), *drawn], dtype=np.int64)
