"""One level of Strassen's algorithm on seven ranks (Melas 2000, appendix C), or all of it on one rank.

Rank 0 sends an operand of A to each of the six others, and rank 2 an operand of B, at the same time: six messages
of q = 8 m^2 bytes, m = ceil(N / 2). Each rank computes one of the seven products. The second session sends the
products to the ranks that add them: 6 messages of q one after another in the order of Table C.2, or 3 in the order
of Table C.3. The quarters of the result stay where they are.
"""

from collections.abc import Iterator
from math import ceil

from hpcscope.models.prediction.costs import matmul
from hpcscope.models.prediction.costs.steps import DOUBLE_BYTES, LocalWork, Messages, Problem, Step

PRODUCTS = 7
ROUNDS = {"original": 6, "rescheduled": 3}


class Strassen(matmul.Product):
    """Costs of `algorithm.matmul_strassen`."""

    name = "strassen"
    benchmark = "algorithm.matmul_strassen"
    source = "Melas 2000, appendix C, products P5 and P6 corrected"

    def refuses(self, problem: Problem) -> str:
        """Return that 1 or 7 ranks are needed, for any other number; else an empty text."""
        return "" if problem.ranks in (1, PRODUCTS) else f"{problem.ranks} ranks: must be 1 or {PRODUCTS}"

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the initialization, the first session, a seventh of the products, the second session."""
        half = ceil(problem.size / 2)
        quarter = DOUBLE_BYTES * half**2
        alone = problem.ranks == 1
        # Two ranks initialize one matrix each at the same time; a single rank initializes both.
        yield LocalWork("initialize", problem.size**2 / (1 if alone else 2), problem.size)
        yield LocalWork("compute", problem.size**3 / problem.ranks, problem.size)
        if not alone:
            yield Messages("distribute", PRODUCTS - 1, quarter)
            yield Messages("exchange", ROUNDS[str(problem.parameters.get("schedule", "original"))], quarter)


COSTS = Strassen()
