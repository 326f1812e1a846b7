"""Whether differences are more than chance: permutations of launches, pooled over the cases of a comparison."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hpcscope.comparison.run_effect import RunEffect
from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import student_quantile

TEST = "pooled permutation of launch medians"

_EXACT_SPLITS = 13_000
"""All splits are enumerated up to 8 against 8 launches."""

_POOLED_SPLITS = 1000
"""Splits of one case that enter the pool."""

_SMALLEST_ERROR = 1e-3
"""Smaller relative standard errors are rounded up to this: smaller differences are of no interest."""

_POWER = 0.9


@dataclass(frozen=True)
class Difference:
    """The difference of two sides' mean logarithms, from launch medians."""

    log_ratio: float
    error: float
    """Its standard error from the scatter of the launches."""
    freedom: int
    """Degrees of freedom of that error."""

    @classmethod
    def of(cls, a: Floats, b: Floats) -> Difference:
        """Return the difference of launch medians, at least two on each side and positive."""
        row = np.log(np.concatenate([a, b]))
        inside = np.arange(row.size)[None, :] < a.size
        mean, error = _differences(row, inside)
        return cls(float(mean[0]), float(error[0]), row.size - 2)


def p_values(pairs: Sequence[tuple[Floats, Floats]], run: RunEffect) -> list[float]:
    """Test launch medians, one pair for each case; shapes (launches of A,) and (launches of B,), positive.

    The p of a case is the share of studentised differences at least as large among all relabellings of launches of
    all cases with as many launches: the pooled permutation of Tusher, Tibshirani & Chu (2001, PNAS 98, 5116-5121)
    and Storey & Tibshirani (2003, PNAS 100, 9440-9445). The effect that the runs have on all their cases is not a
    difference of a case: its factor is taken out, and its scatter is added to the case's standard error.
    """
    shapes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, (a, b) in enumerate(pairs):
        shapes[a.size, b.size].append(index)
    answers: dict[int, float] = {}
    for members in shapes.values():
        found = _pooled([pairs[index] for index in members], run)
        answers |= dict(zip(members, found, strict=True))
    return [answers[index] for index in range(len(pairs))]


def detectable(found: Difference, run: RunEffect, tests: int, level: float) -> float:
    """Return the smallest relative change of one case that nine of ten such comparisons would find."""
    error = float(np.hypot(max(found.error, _SMALLEST_ERROR), run.spread))
    return float(np.expm1(standard_errors_seen(found.freedom, level / tests) * error))


def standard_errors_seen(freedom: int, level: float) -> float:
    """Return the difference that a t test at this level finds nine times in ten, in standard errors."""
    return float(special.nctdtrinc(freedom, 1 - _POWER, -student_quantile(level / 2, freedom)))


def _pooled(pairs: Sequence[tuple[Floats, Floats]], run: RunEffect) -> list[float]:
    """Compare each case's difference with those of all relabellings of all cases; all of one shape."""
    n_a, n_b = pairs[0][0].size, pairs[0][1].size
    values = np.log(np.array([np.concatenate(pair) for pair in pairs]))
    values[:, n_a:] -= run.shift
    first = _splits(n_a, n_b)
    if len(first) > _POOLED_SPLITS:
        chosen = np.random.default_rng(len(first)).choice(len(first), _POOLED_SPLITS, replace=False)
        first = first[np.concatenate([[0], chosen[chosen != 0]])]
    inside = np.zeros((len(first), n_a + n_b), dtype=np.bool_)
    np.put_along_axis(inside, first, True, axis=1)
    every = np.empty((len(values), len(first)))
    for row, case in zip(every, values, strict=True):
        difference, error = _differences(case, inside)
        error = np.maximum(error, _SMALLEST_ERROR)
        row[:] = np.abs(difference / error)
        # The first split is the one that was made: the first n_a values are A's.
        row[0] = abs(difference[0]) / np.hypot(error[0], run.spread)
    pool = np.sort(every.ravel())
    larger = pool.size - np.searchsorted(pool, every[:, 0] * (1 - 1e-12), side="left")
    return [float(count / pool.size) for count in larger]


def _differences(row: Floats, inside: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the difference of means and its standard error for every split; each of shape (splits,)."""
    n_a = int(inside[0].sum())
    n_b = row.size - n_a
    mean_a = np.where(inside, row, 0).sum(axis=1) / n_a
    mean_b = np.where(inside, 0, row).sum(axis=1) / n_b
    squares_a = np.where(inside, (row - mean_a[:, None]) ** 2, 0).sum(axis=1)
    squares_b = np.where(inside, 0, (row - mean_b[:, None]) ** 2).sum(axis=1)
    error = np.sqrt(squares_a / (n_a * (n_a - 1)) + squares_b / (n_b * (n_b - 1)))
    return np.asarray(mean_b - mean_a), np.asarray(error)


def _splits(n_a: int, n_b: int) -> NDArray[np.int64]:
    """Return which values are A's in every way to label them, the given way first; shape (splits, n_a)."""
    if comb(n_a + n_b, n_a) <= _EXACT_SPLITS:
        return np.array(list(combinations(range(n_a + n_b), n_a)), dtype=np.int64)
    random = np.random.default_rng(n_a * 1000 + n_b)
    drawn = [random.permutation(n_a + n_b)[:n_a] for _ in range(_POOLED_SPLITS - 1)]
    return np.array([np.arange(n_a), *drawn], dtype=np.int64)
