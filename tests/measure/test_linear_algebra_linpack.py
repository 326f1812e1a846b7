"""LINPACK on grids: right for every size and variant; a wrong pivot, a singular matrix and NaN are noticed."""

from __future__ import annotations

import pytest

from hpcscope.machine.machine import NativeBuild
from tests.installed_mpi import under_every_mpi
from tests.measure.conftest import Measure
from tests.messages import mentions

NAME = "algorithm.linpack"
BROADCASTS = ["ring_modified", "ring", "binomial", "long"]
SWAPS = ["long", "binomial"]
SIZES = ["n=1", "n=2 block=1", "n=57 block=200", "n=64 block=1", "n=130 block=13", "n=131 block=17 look_ahead=0"]


@pytest.mark.parametrize("ranks", [1, 2, 3, 6])
def test_every_size_and_variant_on_any_number_of_processes(ranks: int, measure: Measure) -> None:
    plan = [f"{NAME} {size}" for size in SIZES]
    plan += [f"{NAME} n=101 block=10 broadcast={way} swap={swap}" for way in BROADCASTS for swap in SWAPS]
    plan += [f"{NAME} n=101 block=10 grid_rows={ranks}", f"{NAME} n=101 block=10 grid_rows=1"]
    ended = measure(ranks, plan)
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []


@under_every_mpi("test_other_mpis.py sends messages beyond what a library sends at once")
def test_large_messages_under_every_mpi(build: NativeBuild, measure: Measure) -> None:
    # Panels beyond every limit up to which a library sends at once.
    ended = measure(4, [f"{NAME} n=400 block=96", f"{NAME} n=400 block=96 grid_rows=1"], native=build)
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []


@pytest.mark.parametrize("fault", ["wrong-pivot", "wrong-result", "corrupt-payload"])
def test_a_wrong_pivot_and_a_wrong_solution_fail(fault: str, measure: Measure) -> None:
    ended = measure(
        4, [f"{NAME} n=100 block=8", f"{NAME} n=100 block=8 grid_rows=1"], SCOPE_FAULT=f"{fault}:{NAME}"
    )
    assert ended.code == 1
    # On one row of four processes the last one has no part of the solution that a message brought to it.
    assert ended.cases[0].status == "failed"
    assert "scaled residual" in ended.cases[0].reason
    assert ended.cases[1].status == "failed" or fault == "corrupt-payload"


def test_singular_matrices_and_nan_are_said(measure: Measure) -> None:
    sizes = ("n=1", "n=50 block=8", "n=50 block=64")
    for matrix, reason in (
        ("singular", "has no pivot: the matrix is singular"),
        ("not_a_number", "nan: must be below 16"),
    ):
        ended = measure(4, [f"{NAME} {size} matrix={matrix}" for size in sizes])
        assert ended.code == 1
        for case in ended.cases:
            assert case.status == "failed"
            assert reason in case.reason


def test_what_does_not_fit_is_refused(measure: Measure) -> None:
    ended = measure(2, [f"{NAME} n=400000", f"{NAME} grid_columns=3"])
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["unavailable"] * 2
    assert mentions(ended.cases[0].reason, "MB of memory ... MB")
    assert "1 x 2" in ended.cases[1].reason, "what would work"
    refused = measure(1, [f"{NAME} n=0"])
    assert refused.code == 2
    assert mentions(refused.errors, "n=0: ... 1")


def test_the_parts_and_the_residual_are_observed(measure: Measure) -> None:
    ended = measure(4, [f"{NAME} n=200 block=20 sampling.budget_s=0.05"], action="run")
    assert ended.code == 0, ended.errors
    series = ended.cases[0].series[0]
    assert series.observed is not None
    for rank, totals in enumerate(series.elapsed_s):
        for number, total in enumerate(totals):
            seen = {name: values[rank][number] for name, values in series.observed.items()}
            assert seen["factorize_s"] + seen["solve_s"] <= total + 20e-6
            inside = sum(seen[part] for part in ("panel_s", "broadcast_s", "swap_s", "update_s"))
            assert 0 < inside <= seen["factorize_s"] + 20e-6
            assert 0 < seen["residual"] < 16
