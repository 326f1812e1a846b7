"""The criterion by which a fitted law does not describe its points."""

from collections.abc import Iterable

WORST_ERROR = 0.3
"""A law is rejected if it misses a quarter of its points, at least one point, by more than this."""


def quarter_miss(errors: Iterable[float]) -> float:
    """Return the relative error that a quarter of the points reach; with up to seven points, the largest error.

    An interpolated quantile would not notice one wrong point among three or four.
    """
    ordered = sorted((abs(float(error)) for error in errors), reverse=True)
    return ordered[max(1, len(ordered) // 4) - 1]
