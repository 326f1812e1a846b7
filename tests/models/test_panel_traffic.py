"""Messages of a product by panels: counted by hand, conserved, and assigned to the groups that they cross."""

from __future__ import annotations

import numpy as np
import pytest

from hpcscope.lab import description
from hpcscope.models.communication.panel_traffic import (
    KNOWN,
    PDGEMM,
    SUMMA,
    Grid,
    Product,
    busy_s,
    crossings,
    grids,
    product_of,
    sent_bytes,
)
from hpcscope.topology.declared import declared

LAB = description.read("grid")[1]
TOPOLOGY = declared(LAB)
HOSTS = [host.name for host in LAB.hosts()]
WAN_BYTES_PER_S = 6.7e6 / 8 * 1448 / 1514


def test_two_by_one_counted_by_hand() -> None:
    """Blocks of 2 in 5: rows 0, 1 and 4 are on the first process, 2 and 3 on the second; only rows of B travel."""
    sent = sent_bytes(Product(5, 2, 8, "ring", Grid(2, 1)))
    assert sent.tolist() == [[0, 8 * 3 * 5], [8 * 2 * 5, 0]]


@pytest.mark.parametrize("broadcast", KNOWN)
@pytest.mark.parametrize("grid", [*grids(6), Grid(4, 8), Grid(8, 4, "columns")], ids=str)
def test_every_process_gets_what_it_lacks_once(broadcast: str, grid: Grid) -> None:
    n, block = 53, 7
    sent = sent_bytes(Product(n, block, 8, broadcast, grid))
    assert np.trace(sent) == 0
    rows = np.bincount(np.arange(n) // block % grid.rows, minlength=grid.rows)
    columns = np.bincount(np.arange(n) // block % grid.columns, minlength=grid.columns)
    for row in range(grid.rows):
        for column in range(grid.columns):
            lacked = 8 * (rows[row] * (n - columns[column]) + columns[column] * (n - rows[row]))
            assert sent[:, grid.rank(row, column)].sum() == lacked
    # Messages stay in rows and columns of the grid.
    for one in range(grid.ranks):
        for other in range(grid.ranks):
            alike = [of(one) == of(other) for of in ((lambda r: place(grid, r)[0]), (lambda r: place(grid, r)[1]))]
            assert any(alike) or sent[one, other] == 0


def place(grid: Grid, rank: int) -> tuple[int, int]:
    return divmod(rank, grid.columns) if grid.order == "rows" else divmod(rank, grid.rows)[::-1]


def test_trees_and_rings_send_as_the_native_program_does() -> None:
    alone = Grid(1, 8)
    tree = sent_bytes(Product(8, 8, 8, "binomial", alone)) > 0
    assert np.argwhere(tree).tolist() == [[0, 1], [0, 2], [0, 4], [2, 3], [4, 5], [4, 6], [6, 7]]
    ring = sent_bytes(Product(8, 8, 8, "ring_modified", alone)) > 0
    assert np.argwhere(ring).tolist() == [[0, 1], [0, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7]]


def test_clusters_along_rows_send_two_thirds_of_a_matrix_over_each_trunk_and_way() -> None:
    n = 768
    along = crossings(sent_bytes(Product(n, 64, 8, "ring", Grid(3, 8))), HOSTS, TOPOLOGY)
    matrix = 8 * n * n
    for name in ("hpc", "grid", "giza"):
        (group,) = [one for one in along if one.group == name]
        assert (group.out_bytes, group.in_bytes) == (pytest.approx(2 / 3 * matrix), pytest.approx(2 / 3 * matrix))
    assert busy_s(along) == pytest.approx(2 / 3 * matrix / WAN_BYTES_PER_S)
    # A grid turned with its clusters sends B where it sent A.
    turned = crossings(sent_bytes(Product(n, 64, 8, "ring", Grid(8, 3, "columns"))), HOSTS, TOPOLOGY)
    assert busy_s(turned) == pytest.approx(busy_s(along))
    rings, trees = (
        crossings(sent_bytes(Product(n, 64, 8, kind, Grid(3, 8, "columns"))), HOSTS, TOPOLOGY)
        for kind in ("ring", "binomial")
    )
    assert 1 - busy_s(along) / busy_s(rings) == pytest.approx(0.31, abs=0.01)
    # Trees cross wherever their edges lie.
    assert busy_s(rings) < busy_s(trees)
    # Where ranks are dealt to the clusters in turn every hop of a row crosses.
    dealt = [HOSTS[rank % 3 * 8 + rank // 3] for rank in range(24)]
    worst = crossings(sent_bytes(Product(n, 64, 8, "ring", Grid(3, 8))), dealt, TOPOLOGY)
    assert 1 - busy_s(along) / busy_s(worst) == pytest.approx(0.78, abs=0.01)


def test_a_half_duplex_uplink_carries_both_ways_and_one_group_has_nothing_to_cross() -> None:
    half = TOPOLOGY.model_copy(
        update={"group": [one.model_copy(update={"uplink_duplex": "half"}) for one in TOPOLOGY.group]}
    )
    sent = sent_bytes(Product(96, 4, 8, "ring", Grid(3, 8)))
    assert busy_s(crossings(sent, HOSTS, half)) == pytest.approx(2 * busy_s(crossings(sent, HOSTS, TOPOLOGY)))
    few = sent_bytes(Product(96, 4, 8, "ring", Grid(2, 4)))
    assert crossings(few, HOSTS[:8], TOPOLOGY) == crossings(few, ["elsewhere"] * 8, TOPOLOGY) == []


def test_a_case_is_read_as_the_native_program_does() -> None:
    given = {
        "n": 100,
        "block": 128,
        "grid_rows": 0,
        "grid_columns": 0,
        "grid_order": "columns",
        "broadcast": "long",
    }
    product = product_of(SUMMA, given, 6)
    assert (product.grid, product.block, product.value_bytes) == (Grid(2, 3, "columns"), 100, 8)
    assert not product.known
    single = product_of(PDGEMM, {**given, "grid_columns": 6, "precision": "single"}, 6)
    assert (single.grid, single.value_bytes, single.broadcast) == (Grid(1, 6, "columns"), 4, "ring")
