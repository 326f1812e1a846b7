"""Shallow water on the sphere by spectral transforms, on a grid of P x Q ranks (Worley & Foster 1994).

A step transforms four fields from spectral coefficients to the grid and five back. `shallow_water.md` next to the
program states the operations, and what each algorithm sends. Ranks of a row share lines of longitudes, ranks of a
column share latitudes. Shares differ by at most one pair of latitudes, longitude or wave number: operations are
counted on the rank with most operations, messages on the rank that sends most bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import NamedTuple

from hpcscope.catalog.benchmark import Phase
from hpcscope.models.prediction.costs.steps import (
    DOUBLE_BYTES,
    CollectiveStep,
    Costs,
    LocalWork,
    Messages,
    Problem,
    Step,
    ceil_log2,
    crossing,
)

POINTS = {21: (64, 32), 42: (128, 64), 63: (192, 96), 85: (256, 128), 106: (320, 160), 170: (512, 256)}
"""Longitudes and latitudes of the grid for each truncation."""
READ, WRITTEN = 4, 5
"""Number of fields that are transformed to the grid, and from it."""

FLOPS_OF_FOURIER = 3.4
"""Factor of n log2 n for a transform of n points, within a sixth for the radices 8, 4, 2, 3 and 5."""
FLOPS_OF_SPLIT = 12
FLOPS_OF_BUTTERFLY = 10
"""Operations per complex point in a stage of a distributed transform: an addition and a rotation."""
FLOPS_OF_TURN = 40
"""A sine and a cosine, for each longitude of a stage."""
FLOPS_OF_COPY = 4
"""Operations per double packed or unpacked: the same as a radix-4 pass needs per double read and written."""
FLOPS_OF_PRODUCTS = 13
FLOPS_OF_ADVANCE = 58


class GridPlace(NamedTuple):
    """A place on the grid of ranks."""

    row: int
    column: int


@dataclass(frozen=True)
class Sharing:
    """A truncation on P x Q ranks."""

    truncation: int
    rows: int
    columns: int
    distributed: bool
    """Whether the ranks of a row share lines, instead of transposing them."""
    legendre: str

    @property
    def longitudes(self) -> int:
        """The number of longitudes of a whole line."""
        return POINTS[self.truncation][0]

    @property
    def pairs(self) -> int:
        """The number of pairs of latitudes of the sphere."""
        return POINTS[self.truncation][1] // 2

    def pairs_of(self, row: int) -> int:
        """Return the number of pairs of latitudes of a row of ranks."""
        return _part(self.pairs, self.rows, row)

    def lines_of(self, at: GridPlace) -> int:
        """Return the number of pairs of latitudes whose lines a rank transforms."""
        pairs = self.pairs_of(at.row)
        return pairs if self.shares_lines else _part(pairs, self.columns, at.column)

    def longitudes_of(self, column: int) -> int:
        """Return the number of longitudes of a column of ranks."""
        return _part(self.longitudes, self.columns, column)

    @property
    def shares_lines(self) -> bool:
        """Whether all ranks of a row transform a line together."""
        return self.distributed and self.columns > 1

    def mirrored(self, column: int) -> int:
        """Return the column that has the wave numbers -m of a column."""
        wanted = -self._residues[column] % self.columns
        return self._residues.index(wanted)

    @cached_property
    def blocks(self) -> list[list[list[int]]]:
        """The wave numbers of each row in each column, distributed back and forth."""
        blocks: list[list[list[int]]] = []
        for residue in self._residues:
            dealt: list[list[int]] = [[] for _ in range(self.rows)]
            for position, number in enumerate(range(residue, self.truncation + 1, self.columns)):
                place = position % (2 * self.rows)
                dealt[min(place, 2 * self.rows - 1 - place)].append(number)
            blocks.append(dealt)
        return blocks

    def wavenumbers(self, column: int) -> int:
        """Return how many wave numbers a column of ranks has."""
        return sum(map(len, self.blocks[column]))

    def coefficients(self, column: int, row: int | None = None) -> int:
        """Return the number of spectral coefficients of one block, or of a whole column."""
        blocks = self.blocks[column] if row is None else [self.blocks[column][row]]
        return sum(self.truncation + 2 - number for block in blocks for number in block)

    @property
    def processes(self) -> Iterator[GridPlace]:
        """All places on the grid of ranks."""
        return (GridPlace(row, column) for row in range(self.rows) for column in range(self.columns))

    @property
    def _residues(self) -> list[int]:
        """The wave numbers of each column: m = residue, residue + Q, ...; bit-reversed if lines are shared."""
        bits = ceil_log2(self.columns)
        if not self.distributed or not bits:
            return list(range(self.columns))
        return [int(f"{column:0{bits}b}"[::-1], 2) for column in range(self.columns)]


class ShallowWater(Costs):
    """Costs of `application.shallow_water`."""

    name = "shallow_water"
    benchmark = "application.shallow_water"
    source = "Worley & Foster 1994; Foster & Worley 1997; operation counts: shallow_water.md"

    def units(self, phase: Phase, size: float, problem: Problem) -> float:
        """Return the operations of all steps."""
        if phase != "compute":
            return 1
        whole = Sharing(int(size), 1, 1, distributed=False, legendre="transposition")
        return _steps(problem) * _flops(whole, GridPlace(0, 0), _levels(problem))

    def refuses(self, problem: Problem) -> str:
        """Return which shares would be empty, or which lines cannot be shared; empty if the problem can run."""
        if problem.size not in POINTS:
            return f"truncation {problem.size}: must be {', '.join(map(str, POINTS))}"
        if reason := super().refuses(problem):
            return reason
        sharing = _sharing(problem)
        rows, columns = sharing.rows, sharing.columns
        sharers = columns if sharing.legendre == "allreduce" else rows * columns
        shares = [
            (sharing.pairs, "pairs of latitudes", rows),
            (sharing.longitudes, "longitudes", columns),
            (sharing.truncation + 1, "wave numbers", sharers),
        ]
        if not sharing.distributed:
            shares.append((sharing.pairs // rows, "pairs of latitudes per row of ranks", columns))
        elif columns & (columns - 1) or sharing.longitudes % columns:
            return f"{columns} columns: must be a power of two that divides {sharing.longitudes} longitudes"
        return next(
            (
                f"{rows} x {columns} ranks: {items} {what} are too few to share among {count}"
                for items, what, count in shares
                if items < count
            ),
            "",
        )

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Yield the operations of the rank with most, and the messages of the rank that sends most bytes."""
        sharing, levels = _sharing(problem), _levels(problem)
        flops = max(_flops(sharing, at, levels) for at in sharing.processes)
        yield LocalWork("compute", _steps(problem) * flops, problem.size)
        sent = ([*_row(sharing, at, problem), *_column(sharing, at, problem)] for at in sharing.processes)
        yield from max(sent, key=lambda steps: sum(step.sent_bytes for step in steps))


def _row(sharing: Sharing, at: GridPlace, problem: Problem) -> Iterator[Messages | CollectiveStep]:
    """Yield what a rank sends along its row for the transforms of lines."""
    if sharing.columns == 1:
        return
    read, written = 2 * _levels(problem) * READ, 2 * _levels(problem) * WRITTEN
    pairs, longitudes = sharing.pairs_of(at.row), sharing.longitudes_of(at.column)
    own = sharing.wavenumbers(at.column)
    if sharing.distributed:
        stages = _steps(problem) * ceil_log2(sharing.columns)
        for width in (written, read):
            bytes_ = DOUBLE_BYTES * pairs * longitudes * width
            if _nonblocking(problem):  # in halves
                yield Messages("exchange", 2 * stages, bytes_ / 2, hidden=True)
            else:
                yield crossing("exchange", stages, bytes_)
        mirrored = sharing.mirrored(at.column)
        if mirrored != at.column:
            theirs = sharing.wavenumbers(mirrored)
            yield crossing("exchange", _steps(problem), DOUBLE_BYTES * theirs * pairs * written)
            yield crossing("exchange", _steps(problem), DOUBLE_BYTES * own * pairs * read)
        return
    lines = sharing.lines_of(at)
    all_to_all = [
        (pairs - lines) * longitudes * written,
        2 * (sharing.truncation + 1 - own) * lines * written,
        2 * own * (pairs - lines) * read,
        lines * (sharing.longitudes - longitudes) * read,
    ]
    yield from (_all_to_all(doubles, sharing.columns, problem) for doubles in all_to_all)


def _column(sharing: Sharing, at: GridPlace, problem: Problem) -> Iterator[Messages | CollectiveStep]:
    """Yield what a rank sends along its column for the transforms of latitudes."""
    rows, steps = sharing.rows, _steps(problem)
    if rows == 1:
        return
    read, written = 2 * _levels(problem) * READ, 2 * _levels(problem) * WRITTEN
    pairs, own = sharing.pairs_of(at.row), len(sharing.blocks[at.column][at.row])
    everyones = sharing.coefficients(at.column)
    if sharing.legendre == "transposition":
        others = sharing.wavenumbers(at.column) - own
        yield _all_to_all(2 * others * pairs * written, rows, problem)
        yield _all_to_all(2 * own * (sharing.pairs - pairs) * read, rows, problem)
    elif sharing.legendre == "ring":
        for width, kept in ((written, at.row), (read, (at.row + 1) % rows)):
            doubles = (everyones - sharing.coefficients(at.column, kept)) * width
            bytes_ = DOUBLE_BYTES * doubles / (rows - 1)
            if _nonblocking(problem):
                yield Messages("exchange", steps * (rows - 1), bytes_, hidden=True)
            else:
                yield crossing("exchange", steps * (rows - 1), bytes_)
    elif _nonblocking(problem):
        bytes_ = DOUBLE_BYTES * everyones * written / rows
        yield CollectiveStep("exchange", "MPI_Iallreduce", steps * rows, bytes_, rows)
    else:
        yield CollectiveStep("exchange", "MPI_Allreduce", steps, DOUBLE_BYTES * everyones * written, rows)


def _all_to_all(doubles: float, processes: int, problem: Problem) -> Messages | CollectiveStep:
    """Return one all-to-all per step, by the library or by messages that travel during the computation."""
    bytes_ = DOUBLE_BYTES * doubles / (processes - 1)
    if _nonblocking(problem):
        return Messages("exchange", _steps(problem) * (processes - 1), bytes_, hidden=True)
    return CollectiveStep("exchange", "MPI_Alltoallv", _steps(problem), bytes_, processes, messages=processes - 1)


def _flops(sharing: Sharing, at: GridPlace, levels: int) -> float:
    """Return the operations of a rank in one step."""
    values = levels * (READ + WRITTEN)
    pairs, longitudes = sharing.pairs_of(at.row), sharing.longitudes_of(at.column)
    points, wavenumbers = sharing.longitudes, sharing.truncation + 1
    added = 0.0
    if sharing.shares_lines:
        points, wavenumbers = longitudes, sharing.wavenumbers(at.column)
        stages = ceil_log2(sharing.columns)
        added = stages * longitudes * (FLOPS_OF_BUTTERFLY * pairs * values + 2 * FLOPS_OF_TURN)
    if sharing.columns > 1:
        copied = 4.0 * sharing.wavenumbers(at.column) * pairs
        if not sharing.shares_lines:
            # Data that stay on their rank are not packed.
            copied = copied * (sharing.columns - 1) / sharing.columns + 2 * sharing.lines_of(at) * points
        added += FLOPS_OF_COPY * copied * values
    line = FLOPS_OF_FOURIER * points * log2(max(points, 2)) + FLOPS_OF_SPLIT * wavenumbers
    own = None if sharing.legendre == "allreduce" else at.row
    coefficients = sharing.coefficients(at.column, own)
    transformed = (
        coefficients * sharing.pairs
        if sharing.legendre == "transposition"
        else sharing.coefficients(at.column) * pairs
    )
    return (
        values * sharing.lines_of(at) * line
        + added
        + 4 * values * transformed
        + levels * (FLOPS_OF_PRODUCTS * 2 * pairs * longitudes + FLOPS_OF_ADVANCE * 2 * coefficients)
    )


def _sharing(problem: Problem) -> Sharing:
    rows = int(problem.parameters.get("grid_rows", 0)) or _most_rows(problem)
    return Sharing(
        problem.size,
        rows,
        problem.ranks // rows,
        distributed=problem.parameters.get("fft") == "distributed",
        legendre=str(problem.parameters.get("legendre", "transposition")),
    )


def _most_rows(problem: Problem) -> int:
    """Return the default number of rows: the largest that the latitudes and the number of ranks allow."""
    most = min(problem.ranks, POINTS[problem.size][1] // 2)
    return next(rows for rows in range(most, 0, -1) if problem.ranks % rows == 0)


def _levels(problem: Problem) -> int:
    return int(problem.parameters.get("levels", 1))


def _steps(problem: Problem) -> int:
    return int(problem.parameters.get("steps", 1))


def _nonblocking(problem: Problem) -> bool:
    return problem.parameters.get("exchange") == "nonblocking"


def _part(items: int, parts: int, number: int) -> int:
    return items * (number + 1) // parts - items * number // parts


COSTS = ShallowWater()
