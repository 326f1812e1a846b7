"""Clusters ranked by one result; clusters whose intervals overlap share their ranks."""

from collections.abc import Iterable
from dataclasses import dataclass

from hpcscope.archive.index import SeriesPoint


@dataclass(frozen=True)
class RankedCluster:
    """The rank of a cluster."""

    cluster: str
    point: SeriesPoint
    """Newest result of the cluster."""
    best: int
    """One more than the number of clusters that are better at 95 % confidence."""
    worst: int
    """Number of clusters not worse at 95 % confidence, itself included; equal to `best` if the rank is unique."""


def ranking(newest: Iterable[tuple[str, SeriesPoint]], better: str) -> list[RankedCluster]:
    """Return the ranks of clusters by their newest results, best first; `better` is `lower` or `higher`.

    A result is better than another at 95 % confidence if their intervals do not overlap; a result without an
    interval is neither better nor worse.
    """
    known = sorted(newest, key=lambda one: one[1].median, reverse=better == "higher")

    def certainly(series_point: SeriesPoint, other: SeriesPoint) -> bool:
        """Return whether the first result is better at 95 % confidence."""
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
