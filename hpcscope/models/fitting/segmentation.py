"""The best division of a curve into straight pieces, exactly."""

import numpy as np

from hpcscope.samples.samples import Floats

FEWEST_POINTS = 3
"""Points of a segment: through two, a line always passes, and its ends say nothing of a jump."""
MOST_SEGMENTS = 6


def best_divisions(
    x: Floats, y: Floats, sigma: Floats, fewest: int = FEWEST_POINTS
) -> list[tuple[float, list[int]]]:
    """Return for 1, 2, ... segments the least weighted sum of squares and where the segments start.

    Lines of neighboring segments need not meet: a jump is what a change of protocol looks like. A line that would
    fall is replaced by a level. The dynamic programme is exact over all divisions with at least `fewest` points in
    each segment; Bellman & Roth 1969, J. Am. Stat. Assoc. 64 (327), 1079-1084. O(points^2 segments).
    """
    count = x.size
    cost = np.full((count + 1, count + 1), np.inf)
    for start in range(count + 1 - fewest):
        cost[start, start + fewest :] = line_costs(x[start:], y[start:], sigma[start:])[fewest - 1 :]
    best = cost[0].copy()
    starts: list[list[int]] = [[0] for _ in range(count + 1)]
    found = [(float(best[count]), starts[count])]
    for _ in range(1, min(MOST_SEGMENTS, count // fewest)):
        through = best[:, None] + cost
        last = through.argmin(axis=0)
        best = through[last, np.arange(count + 1)]
        starts = [[*starts[last[end]], int(last[end])] for end in range(count + 1)]
        found.append((float(best[count]), starts[count]))
    return [division for division in found if np.isfinite(division[0])]


def line_costs(x: Floats, y: Floats, sigma: Floats) -> Floats:
    """Return, for the first 1, 2, ... points, the weighted squares around the best line that does not fall."""
    weight, from_first = 1 / sigma**2, x - x[0]
    total, of_x, of_y, of_xx, of_xy, of_yy = (
        np.cumsum(weight * one) for one in (np.ones_like(x), from_first, y, from_first**2, from_first * y, y**2)
    )
    xx, xy, yy = of_xx - of_x**2 / total, of_xy - of_x * of_y / total, of_yy - of_y**2 / total
    slope = np.divide(np.maximum(xy, 0.0), xx, out=np.zeros_like(x), where=xx > 0)
    return np.asarray(np.maximum(yy - 2 * slope * xy + slope**2 * xx, 0.0), dtype=np.float64)
