"""Places of clusters: certain where intervals are apart, shared where they overlap."""

from __future__ import annotations

import pytest

from hpcscope.archive.index import SeriesPoint
from hpcscope.archive.ranking import ranking


def point(median: float, low: float | None, high: float | None) -> SeriesPoint:
    return SeriesPoint("0" * 16, 0.0, median, low, high)


def places(better: str, **figures: tuple[float, float | None, float | None]) -> dict[str, tuple[int, int]]:
    found = ranking([(name, point(*values)) for name, values in figures.items()], better)
    return {one.cluster: (one.best, one.worst) for one in found}


@pytest.mark.parametrize(("better", "order"), [("lower", ["a", "b", "c"]), ("higher", ["c", "b", "a"])])
def test_places_are_certain_where_intervals_are_apart(better: str, order: list[str]) -> None:
    found = places(better, b=(2.0, 1.9, 2.1), a=(1.0, 0.9, 1.1), c=(3.0, 2.9, 3.1))
    assert list(found) == order
    assert list(found.values()) == [(1, 1), (2, 2), (3, 3)]


def test_clusters_whose_intervals_overlap_share_their_places() -> None:
    found = places("lower", a=(1.0, 0.9, 1.2), b=(1.1, 1.0, 1.3), c=(1.25, 1.22, 1.4), d=(2.0, 1.9, 2.1))
    # `a` and `b` overlap, `b` and `c` too, `a` and `c` do not.
    assert found == {"a": (1, 2), "b": (1, 3), "c": (2, 3), "d": (4, 4)}


def test_without_an_interval_nothing_is_certain() -> None:
    assert places("lower", a=(1.0, None, None), b=(9.0, 8.0, 10.0)) == {"a": (1, 2), "b": (1, 2)}
