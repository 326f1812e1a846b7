"""Products by panels on grids: right for every size and way of panels; wrong elements noticed, rest refused."""

from __future__ import annotations

import pytest

from hpcscope.build import scalapack
from hpcscope.machine.machine import NativeBuild
from hpcscope.models.communication.panel_traffic import product_of, sent_bytes
from tests.installed_mpi import under_every_mpi
from tests.measure.conftest import Measure
from tests.messages import mentions

NAME, PDGEMM = "algorithm.summa", "algorithm.scalapack_pdgemm"
SIZES = ["n=1", "n=2 block=1", "n=5 block=200", "n=57 block=8 panel=16", "n=131 block=13 panel=50", "n=90 panel=1"]
BROADCASTS = ("ring_modified", "ring", "binomial", "long", "library", "library_nonblocking")
WAYS = [f"n=101 block=10 panel=30 broadcast={way}" for way in BROADCASTS]


@pytest.mark.parametrize("ranks", [1, 2, 3, 6])
def test_every_size_and_way_on_any_number_of_processes(ranks: int, measure: Measure) -> None:
    grids = [f"n=70 block=9 grid_rows={ranks}", "n=70 block=9 grid_rows=1", "n=70 block=9 grid_order=columns"]
    ended = measure(ranks, [f"{NAME} {each}" for each in SIZES + WAYS + grids])
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []


@under_every_mpi("test_other_mpis.py sends messages beyond what a library sends at once")
def test_large_messages_under_every_mpi(build: NativeBuild, measure: Measure) -> None:
    # Beyond every limit up to which a library sends at once: a send waits for its receive.
    ended = measure(
        4, [f"{NAME} n=500 block=100 {grid}" for grid in ("", "grid_rows=1", "grid_rows=4")], native=build
    )
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []


@under_every_mpi("test_other_mpis.py calls the broadcasts of the library, blocking and not")
def test_grids_along_columns_and_broadcasts_of_the_library(build: NativeBuild, measure: Measure) -> None:
    # Neither blocks nor grid are the same both ways: rows and columns that were mistaken would show.
    wide = "n=90 block=7 panel=20 grid_rows=2 grid_order=columns"
    plan = [f"{NAME} {wide} broadcast={way}" for way in BROADCASTS[-2:]]
    plan += [f"{NAME} n=90 block=7 grid_rows=3 grid_order={order}" for order in ("rows", "columns")]
    plan += [f"{PDGEMM} n=57 block=5 grid_rows={rows} grid_order=columns" for rows in (2, 3, 6)]
    ended = measure(6, plan, native=build)
    assert ended.code == 0, ended.errors
    wrong = [case.reason for case in ended.cases if case.status != "ok" and case.benchmark == NAME]
    assert wrong == []
    others = {case.status for case in ended.cases if case.benchmark == PDGEMM}
    assert others == ({"ok"} if scalapack.find(build.mpi) else {"unavailable"})


def test_what_a_product_sends_is_counted_where_somebody_says_how(measure: Measure) -> None:
    """Over the loopback of all processes: at least the payload of the messages that the model of traffic tells."""
    tcp = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"}
    case = "n=200 block=25 grid_rows=2 grid_order=columns"
    where = "here>there=/proc/net/dev:lo"
    ended = measure(4, [f"{NAME} {case}", "mpi.barrier"], SCOPE_LINK_COUNTERS=where, **tcp)
    assert ended.code == 0, ended.errors
    product, barrier = ended.cases
    counts = product.series[0].observed["here>there_bytes"]
    payload = sent_bytes(product_of(NAME, product.parameters, 4)).sum()
    assert payload == 8 * 200**2 * (2 + 2 - 2)
    assert all(count >= payload for count in counts[0])
    assert counts[1:] == [[0.0] * len(counts[0])] * 3
    assert barrier.series[0].observed == {}
    (uncounted,) = measure(2, [f"{NAME} n=50"], SCOPE_LINK_COUNTERS="a>b=/proc/net/dev:none").cases
    assert uncounted.status == "ok"
    assert set(uncounted.series[0].observed) == {"communicate_s", "compute_s"}


@pytest.mark.parametrize("fault", ["wrong-result", "corrupt-payload"])
def test_a_wrong_element_fails_its_case(fault: str, measure: Measure) -> None:
    ended = measure(4, [f"{NAME} n=57 block=8"], SCOPE_FAULT=f"{fault}:{NAME}")
    assert ended.code == 1
    assert ended.cases[0].status == "failed"
    assert "product" in ended.cases[0].reason


def test_what_does_not_fit_is_refused(measure: Measure) -> None:
    ended = measure(2, [f"{NAME} n=400000", f"{NAME} grid_rows=2 grid_columns=2"])
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["unavailable"] * 2
    assert mentions(ended.cases[0].reason, "MB of memory ... MB")
    assert "1 x 2" in ended.cases[1].reason, "what would work"


def test_products_and_waiting_are_the_whole(measure: Measure) -> None:
    ended = measure(4, [f"{NAME} n=300 block=32 sampling.budget_s=0.05"], action="run")
    assert ended.code == 0, ended.errors
    series = ended.cases[0].series[0]
    assert series.observed is not None
    for rank, totals in enumerate(series.elapsed_s):
        for number, total in enumerate(totals):
            parts = [series.observed[part][rank][number] for part in ("compute_s", "communicate_s")]
            assert min(parts) > 0
            assert sum(parts) <= total + 20e-6
