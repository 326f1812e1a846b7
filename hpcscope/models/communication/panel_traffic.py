"""The traffic of a panel-based matrix product between groups of hosts: its messages by sender and receiver.

C = A B in blocks on r x c ranks. For each block of inner indices, the ranks with these columns of A broadcast them
along their grid rows, and the ranks with these rows of B along their grid columns (van de Geijn and Watts 1997).
Which links this loads depends on the mapping of the grid to the hosts, and on the broadcast tree.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.ranks import grid_extents
from hpcscope.samples.samples import Floats
from hpcscope.topology.topology import Topology

SUMMA, PDGEMM = "algorithm.summa", "algorithm.scalapack_pdgemm"
PRODUCTS = (SUMMA, PDGEMM)
KNOWN = ("ring_modified", "ring", "binomial")
"""Broadcasts whose messages are known; the messages of the MPI library's broadcast are not."""
BYTES = {"double": 8, "single": 4}


@dataclass(frozen=True)
class Grid:
    """A process grid: its rows and columns, and the order of the ranks."""

    rows: int
    columns: int
    order: str = "rows"
    """The direction of successive ranks: `rows` or `columns`."""

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.rows * self.columns

    def rank(self, row: int, column: int) -> int:
        """Return the rank at this position."""
        return row * self.columns + column if self.order == "rows" else row + column * self.rows

    def __str__(self) -> str:
        """Return the grid in words."""
        return f"{self.rows} x {self.columns} along {self.order}"


@dataclass(frozen=True)
class Product:
    """One product, from its parameters and number of ranks."""

    n: int
    block: int
    value_bytes: int
    broadcast: str
    grid: Grid

    @property
    def known(self) -> bool:
        """Whether its messages are known."""
        return self.broadcast in KNOWN


def product_of(benchmark: str, parameters: Mapping[str, Value], ranks: int) -> Product:
    """Return the product of a case; without a requested grid, the native program's choice."""
    rows, columns = grid_extents(parameters, ranks)
    return Product(
        n=int(parameters["n"]),
        block=min(int(parameters["block"]), int(parameters["n"])),
        value_bytes=BYTES[str(parameters.get("precision", "double"))],
        # The PBLAS pass panels on in rings, as the byte counters of a lab's trunks showed (ScaLAPACK 2.2).
        broadcast="ring" if benchmark == PDGEMM else str(parameters["broadcast"]),
        grid=Grid(rows, columns, str(parameters["grid_order"])),
    )


def grids(ranks: int) -> Iterator[Grid]:
    """Yield every grid of this number of ranks."""
    for rows in (rows for rows in range(1, ranks + 1) if ranks % rows == 0):
        for order in ("rows", "columns"):
            yield Grid(rows, ranks // rows, order)


def sent_bytes(product: Product) -> Floats:
    """Return the payload of a whole product from every rank to every other; shape (ranks, ranks)."""
    grid, n, block = product.grid, product.n, product.block
    sent = np.zeros((grid.ranks, grid.ranks))
    in_row, in_column = _shares(n, block, grid.rows), _shares(n, block, grid.columns)
    # A panel's columns of A are on one rank of each grid row; its rows of B on one rank of each grid column.
    for owner, width in enumerate(in_column):
        for row, height in enumerate(in_row):
            for parent, child in _edges(product.broadcast, grid.columns, owner):
                sent[grid.rank(row, parent), grid.rank(row, child)] += width * height * product.value_bytes
    for owner, height in enumerate(in_row):
        for column, width in enumerate(in_column):
            for parent, child in _edges(product.broadcast, grid.rows, owner):
                sent[grid.rank(parent, column), grid.rank(child, column)] += width * height * product.value_bytes
    return sent


def _shares(items: int, block: int, parts: int) -> NDArray[np.int64]:
    """Return how many items each rank has, with a block-cyclic distribution."""
    owners = np.arange(items) // block % parts
    return np.bincount(owners, minlength=parts).astype(np.int64)


def _edges(kind: str, size: int, root: int) -> Iterator[tuple[int, int]]:
    """Yield sender and receiver of each message in a broadcast; each rank but the root receives once."""
    for place in range(1, size):
        parent = place - 1
        if kind == "binomial":
            parent = place & (place - 1)
        elif kind == "ring_modified" and place == 2:
            parent = 0
        yield (root + parent) % size, (root + place) % size


@dataclass(frozen=True)
class Crossing:
    """The bytes that leave and enter a group of hosts."""

    group: str
    out_bytes: float
    in_bytes: float
    bytes_per_s: float | None
    """Bandwidth of its uplink in one direction; None if it is never a limit."""
    duplex: str = "full"

    @property
    def busier_bytes(self) -> float:
        """Bytes of the busier direction; bytes of both directions if they share the line."""
        both = self.duplex == "half"
        return self.out_bytes + self.in_bytes if both else max(self.out_bytes, self.in_bytes)

    @property
    def seconds(self) -> float:
        """Least time during which its uplink is busy."""
        return self.busier_bytes / self.bytes_per_s if self.bytes_per_s else 0.0


def crossings(sent: Floats, hosts: Sequence[str], topology: Topology) -> list[Crossing]:
    """Return what crosses the boundary of each group that contains some of the hosts, but not all.

    Args:
        sent: bytes by sender and receiver, shape (ranks, ranks).
        hosts: the host of each rank.
        topology: the groups; hosts that it does not know are outside all groups.

    """
    found = []
    for group in topology.group:
        members = set(topology.members(group))
        inside = np.array([host in members for host in hosts])
        if group.parent is not None and inside.any() and not inside.all():
            out = float(sent[np.ix_(inside, ~inside)].sum())
            into = float(sent[np.ix_(~inside, inside)].sum())
            found.append(Crossing(group.name, out, into, group.uplink_bytes_per_s, group.uplink_duplex))
    return found


def busy_s(crossings: Sequence[Crossing]) -> float:
    """Return how long the busiest uplink is busy, a lower bound on the product's time; 0 without a limit."""
    return max((crossing.seconds for crossing in crossings), default=0.0)
