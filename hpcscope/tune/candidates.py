"""The settings that are tuned: block size, process grid, broadcast, row exchange, look-ahead."""

from collections.abc import Iterator, Sequence
from itertools import product

from hpcscope.catalog.benchmark import Value
from hpcscope.strict import Strict

BENCHMARK = "algorithm.linpack"
BLOCKS = (32, 48, 64, 96, 128, 160, 192, 256)
"""HPL recommends 32 to 256 (its tuning page)."""
BROADCASTS = ("ring_modified", "ring", "binomial", "long")
SWAPS = ("long", "binomial")


class Candidate(Strict):
    """One combination of settings, for any order of the matrix."""

    block: int
    rows: int
    columns: int
    broadcast: str = BROADCASTS[0]
    swap: str = SWAPS[0]
    look_ahead: int = 1

    @property
    def ranks(self) -> int:
        """Number of ranks of its grid."""
        return self.rows * self.columns

    @property
    def shape(self) -> tuple[int, int, int]:
        """Block and grid, which matter most; candidates of the same shape are variants."""
        return self.block, self.rows, self.columns

    @property
    def label(self) -> str:
        """The candidate in words: block, grid, and the settings that differ from the benchmark's defaults."""
        words = [f"NB {self.block}", f"{self.rows} x {self.columns}"]
        words += [self.broadcast] if self.broadcast != BROADCASTS[0] else []
        words += [f"swap {self.swap}"] if self.swap != SWAPS[0] else []
        words += ["no look-ahead"] if not self.look_ahead else []
        return ", ".join(words)

    def settings(self, n: int) -> dict[str, Value]:
        """Return the benchmark's parameters for a matrix of order n."""
        return {
            "n": n,
            "block": self.block,
            "grid_rows": self.rows,
            "grid_columns": self.columns,
            "broadcast": self.broadcast,
            "swap": self.swap,
            "look_ahead": self.look_ahead,
        }


def grids(ranks: int) -> list[tuple[int, int]]:
    """Return all grids (rows, columns) of this number of ranks."""
    return [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]


def untuned(ranks: int) -> Candidate:
    """Return the benchmark's defaults: blocks of 128 on the squarest grid with no more rows than columns."""
    rows, columns = max((grid for grid in grids(ranks) if grid[0] <= grid[1]), key=lambda grid: grid[0])
    return Candidate(block=128, rows=rows, columns=columns)


def candidates(ranks: int, blocks: Sequence[int] = BLOCKS) -> list[Candidate]:
    """Return all distinct combinations on this number of ranks.

    A single column of ranks broadcasts nothing and has nothing to look ahead to; on two or three columns some
    broadcasts coincide. A single row exchanges no rows.
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
    """Return a sort key: fewer differences from the benchmark's defaults first, then smaller blocks."""
    plain = untuned(candidate.ranks)
    others = {"block", "broadcast", "swap", "look_ahead", "rows"}
    return sum(getattr(candidate, name) != getattr(plain, name) for name in others), candidate.block
