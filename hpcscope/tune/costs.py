"""The predicted time of LINPACK, from the rates of one rank and the cost of messages.

The steps of right-looking LU on a P x Q grid are the panel, its broadcast along a row, the exchange of rows in a
column, and the update; then the solution with U. For large n they add up to the estimate of HPL's scalability
page, 2 n^3 g / (3 P Q) + b n^2 (3 P + Q) / (2 P Q) + a n ((NB + 1) log2 P + P) / NB (A. Petitet, R. C. Whaley, J.
Dongarra and A. Cleary, "HPL", version 2.3, 2018). Here each step has its own sizes, which accounts for blocks that
leave ranks idle and for rates that fall with the trailing matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from hpcscope.models.prediction.costs.steps import DOUBLE_BYTES, ceil_log2
from hpcscope.samples.samples import Floats
from hpcscope.tune.candidates import Candidate

SOURCE = "after HPL's scalability page (Petitet, Whaley, Dongarra, Cleary 2018), step by step"
MessageTime = Callable[[Floats], Floats]
"""Returns the time of messages in seconds, given their bytes."""


@dataclass(frozen=True)
class OneProcess:
    """The times of one rank for order n with one block size, in s."""

    n: int
    update_s: float
    panel_s: float
    swap_s: float
    solve_s: float


@dataclass(frozen=True)
class Steps:
    """The sizes of each step on the busiest rank; arrays of shape (steps,)."""

    width: Floats
    """Columns of the panel."""
    panel_rows: Floats
    """Rows of the panel, including its square block."""
    rows: Floats
    """Rows below the square block."""
    columns: Floats
    """Columns to the right of the square block, including the right-hand side."""

    @classmethod
    def of(cls, n: int, block: int, grid: tuple[int, int] = (1, 1)) -> Steps:
        """Return the steps for order n with blocks distributed cyclically over a grid."""
        first = np.arange(0, n, block, dtype=np.float64)
        width = np.minimum(block, n - first)
        below = n - first - width
        rows, columns = grid
        return cls(
            width,
            _share(below + width, block, rows),
            _share(below, block, rows),
            _share(below, block, columns) + 1,
        )

    @property
    def update_flops(self) -> Floats:
        """Operations of the triangular solves and products."""
        return (2 * self.rows + self.width) * self.width * self.columns

    @property
    def packed(self) -> Floats:
        """Values of L and U that a product packs."""
        return self.width * (self.rows + self.columns)

    @property
    def panel_flops(self) -> Floats:
        """Operations of factoring a panel."""
        return self.width**2 * (self.panel_rows - self.width / 3)

    @property
    def panel_values(self) -> Floats:
        """Values of a panel."""
        return self.width * self.panel_rows

    @property
    def swapped(self) -> Floats:
        """Values of the rows that are exchanged."""
        return self.width * self.columns


@dataclass(frozen=True)
class BlockCosts:
    """The costs of one rank with one block size, in s."""

    update_flop_s: float
    packed_s: float
    """Cost per packed value; makes products with small trailing matrices slower."""
    panel_flop_s: float
    panel_value_s: float
    swapped_s: float
    solved_value_s: float
    solved_row_s: float

    def update_s(self, steps: Steps) -> Floats:
        """Return the time of the updates of each step."""
        return self.update_flop_s * steps.update_flops + self.packed_s * steps.packed

    def panel_s(self, steps: Steps) -> Floats:
        """Return the time of the panel of each step, without messages."""
        return self.panel_flop_s * steps.panel_flops + self.panel_value_s * steps.panel_values


@dataclass(frozen=True)
class PredictedTime:
    """A predicted time by its visible parts, which nothing hides, in s."""

    panel_s: float
    broadcast_s: float
    swap_s: float
    update_s: float
    solve_s: float

    @property
    def total_s(self) -> float:
        """The sum of all parts."""
        return self.panel_s + self.broadcast_s + self.swap_s + self.update_s + self.solve_s


@dataclass(frozen=True)
class Network:
    """The cost of messages between ranks that are numbered along the rows of a grid."""

    inside: MessageTime
    """Between two ranks of one host."""
    outside: MessageTime | None = None
    """Between hosts; None on a single host."""
    slots: int = 0
    """Number of ranks on each host."""

    def along_row(self, grid: tuple[int, int]) -> tuple[MessageTime, bool]:
        """Return the time of messages along a row, and whether they leave the host."""
        return self._way(self.slots < grid[1] or self.slots % grid[1] != 0)

    def along_column(self, grid: tuple[int, int]) -> tuple[MessageTime, bool]:
        """Return the time of messages along a column, and whether they leave the host."""
        return self._way(self.slots < grid[0] * grid[1])

    def _way(self, leaves: bool) -> tuple[MessageTime, bool]:
        if self.outside is None or not leaves:
            return self.inside, False
        return self.outside, True


@dataclass(frozen=True)
class LuCosts:
    """Predicts LINPACK's time for any candidate whose block size was measured on one rank."""

    blocks: Mapping[int, BlockCosts]
    network: Network
    contention: float = 1.0
    """The slowdown of a product when all ranks compute at once."""

    def times(self, candidate: Candidate, n: int) -> PredictedTime:
        """Return the predicted time for order n."""
        p, q = grid = candidate.rows, candidate.columns
        costs = self.blocks[candidate.block]
        steps = Steps.of(n, candidate.block, grid)
        along_column, _ = self.network.along_column(grid)
        along_row, leaves = self.network.along_row(grid)

        panel = self.contention * costs.panel_s(steps)
        if p > 1:
            # One reduction for each pivot, carrying the two rows to swap.
            panel += steps.width * ceil_log2(p) * along_column(DOUBLE_BYTES * (3 + 2 * steps.width))
        message = DOUBLE_BYTES * steps.width * (1 + steps.width + steps.panel_rows)
        wire = _broadcast(candidate.broadcast, q, message, along_row)
        swap = self.contention * costs.swapped_s * steps.swapped
        swap += _exchange(candidate.swap, p, DOUBLE_BYTES * steps.swapped, along_column)
        update = self.contention * costs.update_s(steps)
        visible_panel, visible_wire = panel, wire
        if q > 1 and candidate.look_ahead:
            # Each rank factors every q-th panel. Of the critical path from panel to panel (factorization,
            # broadcast, update of the next panel's columns), only what the update does not hide is visible.
            first = Steps(steps.width, steps.panel_rows, steps.rows, np.minimum(steps.width, steps.columns))
            way = panel + wire + self.contention * costs.update_s(first)
            handled = np.zeros_like(wire) if leaves else along_row(message)
            visible_panel = panel / q
            visible_panel[0] = panel[0]
            hidden = candidate.broadcast != "long"
            visible_wire = np.maximum(handled if hidden else wire, way - update - visible_panel)
        return PredictedTime(
            panel_s=float(visible_panel.sum()),
            broadcast_s=float(visible_wire.sum()),
            swap_s=float(swap.sum()),
            update_s=float(update.sum()),
            solve_s=self._solve_s(costs, n, candidate, along_row, along_column),
        )

    def _solve_s(
        self, costs: BlockCosts, n: int, candidate: Candidate, along_row: MessageTime, along_column: MessageTime
    ) -> float:
        p, q = candidate.rows, candidate.columns
        block = np.array([DOUBLE_BYTES * float(candidate.block)])
        messages = ceil_log2(q) * along_row(block) + ceil_log2(p) * along_column(block)
        local = costs.solved_value_s * n * n / (p * q) + costs.solved_row_s * n
        return float(self.contention * local + n / candidate.block * messages[0])


def fitted(block: int, measured: Sequence[OneProcess]) -> BlockCosts:
    """Fit the nonnegative costs of one block size to the times of one rank; all sizes have equal weight."""
    steps = [Steps.of(process.n, block) for process in measured]
    update = _line([process.update_s for process in measured], [(s.update_flops, s.packed) for s in steps])
    panel = _line([process.panel_s for process in measured], [(s.panel_flops, s.panel_values) for s in steps])
    solve = _line(
        [m.solve_s for m in measured], [(np.array(1.0 * m.n * m.n), np.array(1.0 * m.n)) for m in measured]
    )
    swapped = [process.swap_s / float(s.swapped.sum()) for process, s in zip(measured, steps, strict=True)]
    return BlockCosts(*update, *panel, float(np.median(swapped)), *solve)


def _line(times_s: list[float], counts: list[tuple[Floats, Floats]]) -> tuple[float, float]:
    """Return the two nonnegative costs with the smallest relative errors."""
    sums = np.array([[float(first.sum()), float(second.sum())] for first, second in counts])
    weights = 1 / np.maximum(np.array(times_s), 1e-9)
    # Columns are scaled to one: the counts differ by orders of magnitude.
    scales = (sums * weights[:, None]).max(axis=0)
    found, _ = nnls(sums * weights[:, None] / scales, np.array(times_s) * weights)
    return float(found[0] / scales[0]), float(found[1] / scales[1])


def _share(count: Floats, block: int, parts: int) -> Floats:
    """Return the most items that one part gets when blocks are distributed cyclically."""
    return np.asarray(np.minimum(count, np.ceil(np.ceil(count / block) / parts) * block), dtype=np.float64)


def _broadcast(kind: str, q: int, message: Floats, time: MessageTime) -> Floats:
    """Return how long a panel takes to reach the rank that has the next panel."""
    if q == 1:
        return np.zeros_like(message)
    if kind == "long":
        return np.asarray(2 * (q - 1) * time(message / q))
    # A tree serves its far branches first; a ring starts with the neighbor, which has the next panel.
    return (ceil_log2(q) if kind == "binomial" else 1) * time(message)


def _exchange(kind: str, p: int, rows: Floats, time: MessageTime) -> Floats:
    """Return how long the rows of a panel take to reach all ranks of a column."""
    if p == 1:
        return np.zeros_like(rows)
    given_away: Floats = (p - 1) * time(rows / p)
    both_ways = given_away + given_away
    return both_ways if kind == "long" else both_ways + ceil_log2(p) * time(rows)
