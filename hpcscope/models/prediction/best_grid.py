"""The recommended process grid: of all possible grids, the one with the shortest predicted time."""

from collections import defaultdict
from collections.abc import Iterable
from math import isqrt

from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.strict import Strict

ROWS = "grid_rows"
"""The parameter that shapes a process grid; its columns follow from the number of ranks."""


class BestGrid(Strict):
    """The grid with the shortest predicted time on one number of ranks."""

    ranks: int
    grid: tuple[int, int]
    """Rows and columns."""
    equivalent: list[tuple[int, int]]
    """Grids whose predicted time is longer by less than the error of predictions, the best first."""


def every_rows(ranks: int) -> list[int]:
    """Return the numbers of rows of every grid of this number of ranks."""
    few = [rows for rows in range(1, isqrt(ranks) + 1) if ranks % rows == 0]
    return sorted({*few, *(ranks // rows for rows in few)})


def grid_of(point: PredictedPoint) -> tuple[int, int] | None:
    """Return the rows and columns of a point; None if the algorithm chooses them."""
    rows = int(point.grid.get(ROWS, 0))
    return (rows, point.ranks // rows) if rows else None


def best_grids(points: Iterable[PredictedPoint], error: float) -> list[BestGrid]:
    """Return the best grid of each number of ranks; `error`: the relative error of such predictions."""
    by_ranks: dict[int, list[tuple[float, tuple[int, int]]]] = defaultdict(list)
    for point in points:
        if grid := grid_of(point):
            by_ranks[point.ranks].append((point.total_s.value, grid))
    grids = []
    for ranks, timed in by_ranks.items():
        (shortest_s, grid), *others = sorted(timed)
        equivalent = [other for time_s, other in others if time_s < shortest_s * (1 + error)]
        grids.append(BestGrid(ranks=ranks, grid=grid, equivalent=equivalent))
    return grids
