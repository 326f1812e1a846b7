"""The row and column striped matrix product on an r x c grid.

T_tot = T_init + T_scatter + T_bcast + T_comp + T_gather (Melas 2000, F.1). T_scatter = (r - 1) (t_s + t_w N^2 / r)
+ (c - 1) (t_s + t_w N^2 / c): A in r stripes and B in c; the root keeps its own (the thesis's factor (col + row)
(t_s + t_w N^2) sends each matrix once for every stripe). T_bcast = ceil(log2 c) (t_s + t_w N^2 / r) + ceil(log2 r)
(t_s + t_w N^2 / c). T_comp = t_c(N) N^3 / p: the inner loop runs over all of N. T_gather = (p - 1) (t_s + t_w N^2
/ p).
"""

from collections.abc import Iterator

from hpcscope.models.prediction.costs import matmul
from hpcscope.models.prediction.costs.steps import DOUBLE_BYTES, CollectiveStep, LocalWork, Messages, Problem, Step


class Striped(matmul.Product):
    """Costs of `algorithm.matmul_striped`."""

    name = "striped"
    benchmark = "algorithm.matmul_striped"
    source = "Melas 2000, F.1, corrected"

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the root's work on whole matrices, the scatter, the broadcasts, the product and the gather."""
        rows, columns = problem.grid
        matrix = DOUBLE_BYTES * problem.size**2
        hidden = matmul.overlaps(problem)
        yield from matmul.root(problem, ("initialize", "distribute", "collect"))
        yield Messages("distribute", rows - 1, matrix / rows, hidden)
        yield Messages("distribute", columns - 1, matrix / columns, hidden)
        yield CollectiveStep("exchange", "MPI_Bcast", 1, matrix / rows, columns, fresh=True)
        yield CollectiveStep("exchange", "MPI_Bcast", 1, matrix / columns, rows, fresh=True)
        height, width = matmul.largest_block(problem)
        yield LocalWork("compute", height * width * problem.size, problem.size)
        yield from matmul.collect(problem)


COSTS = Striped()
