"""A machine of known truth: what one process, a message and every LINPACK take there, without the model's help."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, log2

import numpy as np

from hpcscope.statistics.summary import Summary
from hpcscope.tune.calibration import PRODUCT, PRODUCT_N, SIZES
from hpcscope.tune.candidates import BENCHMARK, Candidate
from tests.models.curves import noisy, summary

PARTS = ("update_s", "panel_s", "swap_s", "solve_s")


@dataclass
class Truth:
    """Costs in s."""

    latency_s: float = 2e-6
    byte_s: float = 1e-10
    flop_s: float = 2e-11
    panel_flop_s: float = 2e-10
    """Of the operations of a panel."""
    packed_s: float = 1e-9
    best_block: int = 96
    """Products are the faster the nearer the block is to this."""
    spread: float = 0.001
    unforeseen: dict[Candidate, float] = field(default_factory=dict)
    """Candidates that take so many times as long as all this says."""

    def rate_s(self, block: int) -> float:
        return self.flop_s * (1 + 0.3 * abs(log2(block / self.best_block)))

    def message_s(self, count: float) -> float:
        return self.latency_s + self.byte_s * count

    def seconds(self, one: Candidate, n: int) -> float:
        """Let every column of the grid go through its steps with a clock of its own, and end with the last."""
        clocks = [0.0] * one.columns
        steps = range(-(-n // one.block))
        ready = [self.panel_s(one, n, 0)] * one.columns
        clocks[0] = ready[0]
        for step in steps:
            arrival = self.arrivals(one, n, step, ready[step % one.columns])
            following = (step + 1) % one.columns if step + 1 < len(steps) else None
            for column in range(one.columns):
                clocks[column] = max(clocks[column], arrival[column])
                columns = self.columns_of(one, n, step, column)
                first = min(one.block, columns) if column == following and one.look_ahead else 0
                clocks[column] += self.update_s(one, n, step, first)
                if column == following and not one.look_ahead:
                    clocks[column] += self.update_s(one, n, step, columns)
                if column == following:
                    clocks[column] += self.panel_s(one, n, step + 1)
                    ready[column] = clocks[column]
                if column != following or one.look_ahead:
                    clocks[column] += self.update_s(one, n, step, columns - first)
        return (max(clocks) + self.solve_s(one, n)) * self.unforeseen.get(one, 1.0)

    def parts(self, block: int, n: int) -> dict[str, float]:
        """What one process sees of its parts."""
        one = Candidate(block=block, rows=1, columns=1)
        steps = range(-(-n // block))
        swap_s = sum(self.swap_s(one, n, k, self.columns_of(one, n, k, 0)) for k in steps)
        whole = sum(self.update_s(one, n, k, self.columns_of(one, n, k, 0)) for k in steps)
        panel = sum(self.panel_s(one, n, k) for k in steps)
        return dict(zip(PARTS, (whole - swap_s, panel, swap_s, self.solve_s(one, n)), strict=True))

    def rows_of(self, one: Candidate, n: int, first: int) -> int:
        """Rows from the block `first` on, of the process row that has most."""
        blocks = range(first, -(-n // one.block))
        held = [sum(min(one.block, n - b * one.block) for b in blocks[p :: one.rows]) for p in range(one.rows)]
        return max(held, default=0)

    def columns_of(self, one: Candidate, n: int, step: int, column: int) -> int:
        """Columns right of a panel that a process column has; the right side of the system is the last one's."""
        blocks = range(step + 1, -(-n // one.block))
        mine = sum(min(one.block, n - b * one.block) for b in blocks if b % one.columns == column)
        return mine + (column == n // one.block % one.columns)

    def arrivals(self, one: Candidate, n: int, step: int, ready: float) -> list[float]:
        width = min(one.block, n - step * one.block)
        message = self.message_s(8 * width * (1 + width + self.rows_of(one, n, step)))
        hops = [(column - step) % one.columns for column in range(one.columns)]
        if one.broadcast == "long":
            message *= 1 + one.columns / 2
            return [ready + message * (one.columns > 1)] * one.columns
        if one.broadcast == "binomial":
            return [ready + message * ceil(log2(one.columns)) * (hop > 0) for hop in hops]
        return [ready + message * hop for hop in hops]

    def panel_s(self, one: Candidate, n: int, step: int) -> float:
        width, rows = min(one.block, n - step * one.block), self.rows_of(one, n, step)
        reductions = width * ceil(log2(one.rows)) * self.message_s(8 * (3 + 2 * width)) if one.rows > 1 else 0.0
        return self.panel_flop_s * width**2 * (rows - width / 3) + reductions

    def update_s(self, one: Candidate, n: int, step: int, columns: int) -> float:
        """Rows that are exchanged, triangular solves and products."""
        if columns == 0:
            return 0.0
        width, rows = min(one.block, n - step * one.block), self.rows_of(one, n, step + 1)
        product = self.rate_s(one.block) * (2 * rows + width) * width * columns
        return product + self.packed_s * width * (rows + columns) + self.swap_s(one, n, step, columns)

    def swap_s(self, one: Candidate, n: int, step: int, columns: int) -> float:
        width = min(one.block, n - step * one.block)
        pieces = 2 * (one.rows - 1) if one.swap == "long" else 2 * (one.rows - 1) + one.rows * ceil(log2(one.rows))
        messages = pieces * self.message_s(8 * width * columns / one.rows) if one.rows > 1 else 0.0
        return 1e-9 * width * columns + messages

    def solve_s(self, one: Candidate, n: int) -> float:
        return 2e-9 * n * n / (one.rows * one.columns)


def one_process(truth: Truth, random: np.random.Generator, blocks: list[int]) -> list[Summary]:
    """LINPACK on one process, as the calibration asks for it."""
    made = []
    for block in blocks:
        for n in SIZES:
            one = Candidate(block=block, rows=1, columns=1)
            parts = truth.parts(block, n)
            made.append(solved(truth, random, one, n))
            for metric in PARTS:
                times = noisy(random, parts[metric], spread=truth.spread)
                made.append(summary(times, BENCHMARK, metric, "observed", ranks=1, **one.settings(n)))
    return made


def products(truth: Truth, random: np.random.Generator, ranks: int) -> list[Summary]:
    """They take as long on all cores as on one."""
    given = {"precision": "double", "n": PRODUCT_N}
    times = noisy(random, 2 * PRODUCT_N**3 * truth.flop_s, spread=truth.spread)
    return [summary(times, PRODUCT, "time_s", "max_rank", ranks=count, **given) for count in {1, ranks}]


def ping_pong(truth: Truth, random: np.random.Generator) -> list[Summary]:
    given = {"mode": "standard", "completion": "blocking"}
    sizes = [0, 512, 4096, 32768, 262144, 2 << 20]
    return [
        summary(noisy(random, truth.message_s(n), spread=truth.spread), message_bytes=n, **given) for n in sizes
    ]


def solved(truth: Truth, random: np.random.Generator, one: Candidate, n: int) -> Summary:
    """A LINPACK that was run."""
    times = noisy(random, truth.seconds(one, n), spread=truth.spread)
    return summary(times, BENCHMARK, "time_s", "max_rank", ranks=one.ranks, **one.settings(n))
