"""The common part of all matrix products."""

from collections.abc import Iterator
from math import ceil

from hpcscope.catalog.benchmark import Phase
from hpcscope.models.prediction.costs.steps import DOUBLE_BYTES, Costs, LocalWork, Messages, Problem


def units(phase: Phase, size: float) -> float:
    """Return N^3 multiplications and additions of a product, N^2 elements of everything else."""
    return size**3 if phase == "compute" else size**2


class Product(Costs):
    """The time of one rank for a product of N x N matrices, and the possible grids."""

    def units(self, phase: Phase, size: float, problem: Problem) -> float:  # noqa: ARG002 - of the protocol
        """Return N^3 for the product and N^2 for everything else."""
        return units(phase, size)

    def touched_bytes(self, size: float) -> float:
        """Return the bytes of both factors and the product."""
        return 3 * DOUBLE_BYTES * size**2


def root(problem: Problem, phases: tuple[Phase, ...]) -> Iterator[LocalWork]:
    """Yield the root's work on whole matrices, which does not depend on the number of ranks."""
    for phase in phases:
        yield LocalWork(phase, units(phase, problem.size), problem.size)


def largest_block(problem: Problem) -> tuple[int, int]:
    """Return the rows and columns of the largest block of the product; extents of blocks differ by one."""
    rows, columns = problem.grid
    return ceil(problem.size / rows), ceil(problem.size / columns)


def overlaps(problem: Problem) -> bool:
    """Return whether messages overlap with the product: at best they are hidden completely."""
    return problem.variant in ("overlapped", "tuned")


def collect(problem: Problem) -> Iterator[Messages]:
    """Yield the messages that collect the blocks of the product on the root."""
    share = DOUBLE_BYTES * problem.size**2 / problem.ranks
    yield Messages("collect", problem.ranks - 1, share, overlaps(problem))
