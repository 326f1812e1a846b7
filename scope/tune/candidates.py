"""The settings among which LINPACK is tuned: block, grid of processes, broadcast, exchange of rows, look-ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from scope.build.registry import BenchmarkDescription
from scope.plan.sweep import Value
from scope.strict import Strict

BENCHMARK = "algorithm.linpack"
BLOCKS = (32, 48, 64, 96, 128, 160, 192, 256)
"""HPL's own advice is 32 to 256 (its tuning page)."""
BROADCASTS = ("ring_modified", "ring", "binomial", "long")
SWAPS = ("long", "binomial")


class Candidate(Strict):
    """One way to run LINPACK, whatever its size."""

    block: int
    rows: int
    columns: int
    broadcast: str = BROADCASTS[0]
    swap: str = SWAPS[0]
    look_ahead: int = 1

    @property
    def ranks(self) -> int:
        """Processes of its grid."""
        return self.rows * self.columns

    @property
    def shape(self) -> tuple[int, int, int]:
        """Block and grid: what matters most. What else is chosen makes variants of one shape."""
        return self.block, self.rows, self.columns

    @property
    def label(self) -> str:
        """The candidate as people read it: block and grid, and what else is not as the benchmark does it."""
        words = [f"NB {self.block}", f"{self.rows} x {self.columns}"]
        words += [self.broadcast] if self.broadcast != BROADCASTS[0] else []
        words += [f"swap {self.swap}"] if self.swap != SWAPS[0] else []
        words += ["no look-ahead"] if not self.look_ahead else []
        return ", ".join(words)

    def settings(self, n: int) -> dict[str, Value]:
        """Return the benchmark's parameters that it sets for n equations."""
        return {
            "n": n,
            "block": self.block,
            "grid_rows": self.rows,
            "grid_columns": self.columns,
            "broadcast": self.broadcast,
            "swap": self.swap,
            "look_ahead": self.look_ahead,
        }

    def parameters(self, n: int, benchmark: BenchmarkDescription) -> dict[str, Value]:
        """Return all parameters of the benchmark in its order, with its defaults for those not chosen."""
        chosen = self.settings(n)
        return {one.name: chosen.get(one.name, one.default) for one in benchmark.parameters}


def grids(ranks: int) -> list[tuple[int, int]]:
    """Return all grids of so many processes, rows and columns."""
    return [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]


def untuned(ranks: int) -> Candidate:
    """Return what the benchmark does by itself: blocks of 128 on the squarest grid, no more rows than columns."""
    rows, columns = max((grid for grid in grids(ranks) if grid[0] <= grid[1]), key=lambda grid: grid[0])
    return Candidate(block=128, rows=rows, columns=columns)


def candidates(ranks: int, blocks: Sequence[int] = BLOCKS) -> list[Candidate]:
    """Return everything that can differ on so many processes, each once.

    One column of processes has nothing to broadcast and nothing to look ahead of; of two or three columns some
    ways are the same. One row exchanges no rows.
    """
    return [
        Candidate(block=block, rows=rows, columns=columns, broadcast=broadcast, swap=swap, look_ahead=ahead)
        for block in blocks
        for rows, columns in grids(ranks)
        for broadcast, swap, ahead in _variants(rows, columns)
    ]


def _variants(rows: int, columns: int) -> Iterator[tuple[str, str, int]]:
    same = {1: BROADCASTS[:1], 2: ("ring_modified", "long"), 3: ("ring_modified", "ring", "long")}
    ways = same.get(columns, BROADCASTS)
    swaps = SWAPS if rows > 1 else SWAPS[:1]
    return product(ways, swaps, (1, 0) if columns > 1 else (1,))


def plainness(candidate: Candidate) -> tuple[int, int]:
    """Sort what differs in fewer settings from what the benchmark does by itself first, then smaller blocks."""
    plain = untuned(candidate.ranks)
    others = {"block", "broadcast", "swap", "look_ahead", "rows"}
    return sum(getattr(candidate, name) != getattr(plain, name) for name in others), candidate.block
