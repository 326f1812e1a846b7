"""Cannon's algorithm on an r x c grid: L = lcm(r, c) products of blocks, between which A moves left and B up.

T_tot = T_init + T_scatter + T_comp + T_shift + T_gather (Melas 2000, F.2). T_scatter = 2 (p - 1) (t_s + t_w
N^2 / p): the root keeps its own blocks, but the thesis counts p messages. T_shift = L (c - 1) / c messages of
N^2 / (r L) and L (r - 1) / r of N^2 / (c L), which is 2 (side - 1) of N^2 / p on a square grid: all ranks shift
at once, so the thesis's 4 sqrt(p) per shift is too much. T_comp = t_c(N / L) N^3 / p, with t_c for the length of
the inner loop. T_gather = (p - 1) (t_s + t_w N^2 / p).
"""

from collections.abc import Iterator
from math import lcm

from hpcscope.models.prediction.costs import matmul
from hpcscope.models.prediction.costs.steps import DOUBLE_BYTES, LocalWork, Messages, Problem, Step


class Cannon(matmul.Product):
    """Costs of `algorithm.matmul_cannon`."""

    name = "cannon"
    benchmark = "algorithm.matmul_cannon"
    source = "Melas 2000, appendix F.2, corrected; Lee, Robertson & Fortes 1997 for grids that are not square"

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the root's work on whole matrices, the scatter, the products, the shifts and the gather."""
        rows, columns = problem.grid
        rounds = lcm(rows, columns)
        matrix = DOUBLE_BYTES * problem.size**2
        hidden = matmul.overlaps(problem)
        yield from matmul.root(problem, ("initialize", "distribute", "collect"))
        yield Messages("distribute", 2 * (problem.ranks - 1), matrix / problem.ranks, hidden)
        height, width = matmul.largest_block(problem)
        yield LocalWork("compute", height * width * problem.size, problem.size / rounds)
        yield Messages("exchange", rounds * (columns - 1) / columns, matrix / (rows * rounds), hidden)
        yield Messages("exchange", rounds * (rows - 1) / rows, matrix / (columns * rounds), hidden)
        yield from matmul.collect(problem)


COSTS = Cannon()
