"""ScaLAPACK on grids of processes: right on every grid, wrong results noticed, what cannot be refused."""

from __future__ import annotations

import pytest

from hpcscope.build import registry, scalapack
from hpcscope.machine.machine import NativeBuild
from tests.installed_mpi import under_every_mpi
from tests.measure.conftest import Measure
from tests.messages import mentions

SOLVERS = ("lu", "cholesky", "qr", "inverse", "symmetric_eigen", "pdgemm")
DENSE = [f"algorithm.scalapack_{name}" for name in SOLVERS]
BAND = ["algorithm.scalapack_band_lu", "algorithm.scalapack_band_cholesky"]


def lines(names: list[str], *settings: str) -> list[str]:
    """Return each benchmark with each of the settings."""
    return [f"{name} {each}" for name in names for each in settings]


@pytest.fixture(autouse=True)
def library(embedded_build: NativeBuild) -> None:
    if scalapack.find(embedded_build.mpi) is None:
        pytest.skip("no ScaLAPACK for the embedded MPI")


@pytest.mark.parametrize("ranks", [1, 2, 3, 6])
def test_any_number_of_processes_and_sizes_that_no_block_divides(ranks: int, measure: Measure) -> None:
    plan = [
        *lines(DENSE, "n=57 block=5", "precision=single n=57 block=8"),
        *lines(DENSE[:4], "n=1", "n=2 block=200"),
        *lines(BAND, "n=131 band=10", "precision=single n=500 band=20", "n=500 band=1"),
    ]
    ended = measure(ranks, plan)
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []
    assert all(case.verification.checks > 0 for case in ended.cases if case.verification)


@under_every_mpi("tests/build/test_scalapack.py has which ScaLAPACK each MPI gets")
def test_small_cases_under_every_mpi(build: NativeBuild, measure: Measure) -> None:
    if scalapack.find(build.mpi) is None:
        pytest.skip("no ScaLAPACK for this MPI")
    ended = measure(2, lines(DENSE, "n=40 block=8") + lines(BAND, "n=60 band=4"), native=build)
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}


def test_every_grid_of_four_and_ill_conditioned_matrices(measure: Measure) -> None:
    grids = lines(DENSE, *(f"n=50 block=7 grid_rows={rows}" for rows in (1, 2, 4)), "n=50 block=7 grid_columns=1")
    ill = lines([*DENSE[:5], *BAND], "n=90 condition=1000000000000")
    ended = measure(4, grids + ill)
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []


def test_what_does_not_fit_is_refused_in_a_sentence(measure: Measure) -> None:
    cases = {
        "algorithm.scalapack_lu grid_rows=3": "3 x any ... 2 ranks: 1 x 2",
        "algorithm.scalapack_lu grid_rows=2 grid_columns=2": "2 x 2 ... 2 ranks",
        "algorithm.scalapack_qr n=400000": "MB of memory ... MB",
        "algorithm.scalapack_band_lu n=20 band=10": "n=42",
        "algorithm.scalapack_band_lu n=5 band=5": "band=5: ... n=5",
        "algorithm.scalapack_symmetric_eigen n=32 block=32": "block=31",
    }
    ended = measure(2, list(cases))
    assert ended.code == 0, ended.errors
    for case, (line, reason) in zip(ended.cases, cases.items(), strict=True):
        assert case.status == "unavailable", line
        assert mentions(case.reason, reason)


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_wrong_result_fails_its_case(ranks: int, measure: Measure) -> None:
    faults = " ".join(f"wrong-result:{name}" for name in DENSE + BAND)
    ended = measure(ranks, lines(DENSE, "n=57 block=8") + lines(BAND, "n=131"), SCOPE_FAULT=faults)
    assert ended.code == 1
    assert {case.status for case in ended.cases} == {"failed"}
    assert all("residual" in case.reason for case in ended.cases)


def test_the_parts_are_timed_apart(measure: Measure) -> None:
    ended = measure(2, ["algorithm.scalapack_lu n=200 sampling.budget_s=0.05"], action="run")
    assert ended.code == 0, ended.errors
    series = ended.cases[0].series[0]
    assert series.observed is not None
    for rank, totals in enumerate(series.elapsed_s):
        for number, total in enumerate(totals):
            parts = [series.observed[part][rank][number] for part in ("factorize_s", "solve_s")]
            assert min(parts) > 0
            assert sum(parts) <= total + 20e-6


def test_without_a_library_it_says_how_to_get_one(embedded_build: NativeBuild) -> None:
    advice = scalapack.advice(embedded_build.mpi)
    assert scalapack.PACKAGES["openmpi"] in advice
    listed = registry.load(embedded_build.program)
    assert {each.name for each in listed if "scalapack" in each.name} == {*DENSE, *BAND}
