"""The best division of a curve into straight pieces, exactly."""

from __future__ import annotations

import numpy as np

from hpcscope.samples.samples import Floats

FEWEST_POINTS = 2
"""Points that a line needs; the criterion determines the penalty of a segment."""
MOST_SEGMENTS = 6


def best_divisions(x: Floats, y: Floats, sigma: Floats) -> list[tuple[float, list[int]]]:
    """Return for 1, 2, ... segments the least weighted sum of squares and where the segments start.

    Lines of neighboring segments need not meet: a jump is what a change of protocol looks like. A line that would
    fall is replaced by a level. The dynamic programme is exact over all divisions with at least `FEWEST_POINTS`
    points in each segment; Bellman & Roth 1969, J. Am. Stat. Assoc. 64 (327), 1079-1084. O(points^2 segments).
    """
    count = x.size
    most = min(MOST_SEGMENTS, count // FEWEST_POINTS)
    cost = np.full((count + 1, count + 1), np.inf)
    for start in range(count):
        for end in range(start + FEWEST_POINTS, count + 1):
            cost[start, end] = line_cost(x[start:end], y[start:end], sigma[start:end])
    best = cost[0].copy()
    starts: list[list[int]] = [[0] for _ in range(count + 1)]
    found = [(float(best[count]), starts[count])]
    for _ in range(1, most):
        through = best[:, None] + cost
        last = through.argmin(axis=0)
        best = through[last, np.arange(count + 1)]
        starts = [[*starts[last[end]], int(last[end])] for end in range(count + 1)]
        found.append((float(best[count]), starts[count]))
    return [division for division in found if np.isfinite(division[0])]


def line_cost(x: Floats, y: Floats, sigma: Floats) -> float:
    """Return the weighted sum of squares around the best line that does not fall."""
    weight = 1 / sigma**2
    mean_x, mean_y = np.average(x, weights=weight), np.average(y, weights=weight)
    spread = float((weight * (x - mean_x) ** 2).sum())
    slope = max(float((weight * (x - mean_x) * (y - mean_y)).sum()) / spread, 0.0) if spread > 0 else 0.0
    return float((weight * (y - mean_y - slope * (x - mean_x)) ** 2).sum())
