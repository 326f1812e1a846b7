"""Clusters in the order of one figure; those whose intervals overlap share their places."""

from collections.abc import Iterable
from dataclasses import dataclass

from hpcscope.archive.index import SeriesPoint


@dataclass(frozen=True)
class RankedCluster:
    """A cluster's place."""

    cluster: str
    point: SeriesPoint
    """Its newest figure."""
    best: int
    """One more than the clusters that are certainly better."""
    worst: int
    """The number of clusters that are not certainly worse; equal to `best` where the place is certain."""


def ranking(newest: Iterable[tuple[str, SeriesPoint]], better: str) -> list[RankedCluster]:
    """Return the places of clusters by their newest figures, best first; `better` is `lower` or `higher`.

    One figure is certainly better than another when their intervals do not overlap; one without an interval is
    certainly neither.
    """
    known = sorted(newest, key=lambda one: one[1].median, reverse=better == "higher")

    def certainly(series_point: SeriesPoint, other: SeriesPoint) -> bool:
        """Return whether the first is certainly better."""
        if None in (series_point.low, series_point.high, other.low, other.high):
            return False
        low, high = (series_point, other) if better == "lower" else (other, series_point)
        return (low.high or 0.0) < (high.low or 0.0)

    points = [point for _, point in known]
    return [
        RankedCluster(
            cluster,
            mine,
            1 + sum(certainly(other, mine) for other in points),
            len(points) - sum(certainly(mine, other) for other in points),
        )
        for cluster, mine in known
    ]
