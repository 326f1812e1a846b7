"""Relaxation of N x N points on an r x c grid, I iterations (Melas 2000, F.4, corrected).

T_scatter = (p - 1) (t_s + t_w 8 (m + 2) (w + 2)) for blocks of m x w points with their halo. T_comp = I t_cal m w
at the rate of this block size. Each iteration has an exchange: 2 messages of 8 w bytes if there are rows above and
below, and 2 of 8 m bytes if there are columns on both sides (one each in a grid of two). It also has a reduce and
a broadcast of 8 bytes (the thesis counts both once, with p steps each), or an allreduce (`tuned`).
T_gather = (p - 1) (t_s + t_w 8 m w).
"""

from collections.abc import Iterator
from math import ceil

from hpcscope.catalog.benchmark import Phase
from hpcscope.models.prediction.costs.steps import (
    DOUBLE_BYTES,
    CollectiveStep,
    Costs,
    LocalWork,
    Messages,
    Problem,
    Step,
    crossing,
)


class Relaxation(Costs):
    """Costs of `algorithm.relaxation`."""

    name = "relaxation"
    benchmark = "algorithm.relaxation"
    source = "Melas 2000, F.4, corrected"

    def units(self, phase: Phase, size: float, problem: Problem) -> float:
        """Return the number of points that are updated."""
        return size**2 * (_iterations(problem) if phase == "compute" else 1)

    def touched_bytes(self, size: float) -> float:
        """Return the bytes of the old and the new values."""
        return 2 * DOUBLE_BYTES * size**2

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the root's work, the scatter, the sweeps, the halos, the largest changes and the gather."""
        rows, columns = problem.grid
        height, width = ceil(problem.size / rows), ceil(problem.size / columns)
        iterations = _iterations(problem)
        for phase in ("initialize", "distribute", "collect"):
            yield LocalWork(phase, problem.size**2, problem.size)
        yield LocalWork("compute", iterations * height * width, (height * width) ** 0.5, passes=iterations)
        if problem.ranks == 1:
            return
        ring = DOUBLE_BYTES * (height + 2) * (width + 2)
        yield Messages("distribute", problem.ranks - 1, ring)
        sweeps = 2 * iterations - 1 if problem.parameters.get("method") == "red_black" else iterations - 1
        hidden = problem.parameters.get("exchange") == "overlapped"
        for neighbors, points in ((min(rows - 1, 2), width), (min(columns - 1, 2), height)):
            if hidden:
                yield Messages("exchange", sweeps * neighbors, DOUBLE_BYTES * points, hidden)
            else:
                yield crossing("exchange", sweeps * neighbors, DOUBLE_BYTES * points)
        tuned = problem.parameters.get("variant") == "tuned"
        for routine in ("MPI_Allreduce",) if tuned else ("MPI_Reduce", "MPI_Bcast"):
            yield CollectiveStep("exchange", routine, iterations, DOUBLE_BYTES, problem.ranks)
        yield Messages("collect", problem.ranks - 1, DOUBLE_BYTES * height * width)


def _iterations(problem: Problem) -> int:
    return int(problem.parameters.get("iterations", 1))


COSTS = Relaxation()
