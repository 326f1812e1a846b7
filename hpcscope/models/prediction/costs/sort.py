"""Parallel sorting by regular sampling: n items of w bytes on p ranks (Melas 2000, F.3, corrected).

T_scatter = (p - 1) (t_s + t_w w n / p), where the thesis has a single start-up; local sort of n / p; gather of p
samples from each rank and broadcast of p - 1 pivots, 8 bytes each; T_all = (p - 1) (t_s + 4 t_w) and T_allv = (p -
1) (t_s + t_w w n / p^2): all ranks send at once, each 1/p of its list to each other rank, where the thesis has p^2
messages of n / p one after another; last stage; T_gatherv = (p - 1) (t_s + t_w w n / p) and its sizes.

The last stage joins n / p items from p sorted runs. A merge has ceil(log2 p) levels, each of which costs a level
of the plain sort on one rank (glibc's qsort merges). The plain variant sorts again, which also passes through all
lower levels of sorted items: it costs the time of one rank for sorted input.
"""

from collections.abc import Iterator
from math import log2

from hpcscope.catalog.benchmark import Phase
from hpcscope.models.prediction.costs.steps import (
    CollectiveStep,
    Costs,
    LocalWork,
    Messages,
    Problem,
    Step,
    ceil_log2,
)

ITEM_BYTES = 4
SAMPLE_BYTES = 8


class Sort(Costs):
    """Costs of `algorithm.sort_psrs`."""

    name = "sort"
    benchmark = "algorithm.sort_psrs"
    source = "Melas 2000, appendix F.3, corrected; Li et al. 1993"

    def units(self, phase: Phase, size: float, problem: Problem) -> float:
        """Return n log2 n comparisons for the plain sort, n items for everything else."""
        return size * log2(max(size, 2)) if phase == "compute" and problem.variant == "plain" else size

    def touched_bytes(self, size: float) -> float:
        """Return the bytes of the items, and of a second buffer to sort them into."""
        return 2 * ITEM_BYTES * size

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the root's work, scatter, sort, samples and pivots, exchange, last stage and gather."""
        count, ranks = problem.size, problem.ranks
        mine = count / ranks
        for phase in ("initialize", "distribute", "collect"):
            yield LocalWork(phase, count, count)
        yield LocalWork("compute", self.units("compute", mine, problem), mine)
        if ranks == 1:
            return
        yield Messages("distribute", ranks - 1, ITEM_BYTES * mine)
        yield Messages("exchange", ranks - 1, SAMPLE_BYTES * ranks)
        yield CollectiveStep("exchange", "MPI_Bcast", 1, SAMPLE_BYTES * (ranks - 1), ranks)
        yield Messages("exchange", ranks - 1, ITEM_BYTES)
        yield Messages("exchange", ranks - 1, ITEM_BYTES * mine / ranks)
        # Each rank receives into cold memory, like one rank that scatters to itself.
        yield LocalWork("exchange", mine, mine, rate_of="distribute")
        yield from self._last_stage(problem, mine)
        yield Messages("collect", ranks - 1, ITEM_BYTES)
        yield Messages("collect", ranks - 1, ITEM_BYTES * mine)

    def _last_stage(self, problem: Problem, mine: float) -> Iterator[Step]:
        yield LocalWork("compute", mine * ceil_log2(problem.ranks), mine, of={"variant": "plain"})
        if problem.variant == "plain":
            yield LocalWork("compute", self.units("compute", mine, problem), mine, of={"input": "sorted"})


COSTS = Sort()
