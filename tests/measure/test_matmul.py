"""Products of matrices on grids of processes: right on every grid, wrong ones noticed, what cannot be refused."""

from __future__ import annotations

import os

import pytest

from hpcscope.machine.machine import NativeBuild
from tests.installed_mpi import under_every_mpi
from tests.measure.conftest import Measure
from tests.messages import mentions

GRIDS = ["algorithm.matmul_striped", "algorithm.matmul_cannon"]
REPETITIONS = "sampling.budget_s=600 sampling.precision=0 sampling.maximum_repetitions=20"
VARIANTS = ["plain", "transposed", "overlapped", "tuned"]


def lines(*settings: str) -> list[str]:
    """Return both algorithms in every variant with each of the settings."""
    return [f"{name} variant={variant} {each}" for name in GRIDS for variant in VARIANTS for each in settings]


FURTHER = pytest.mark.slow("further numbers of processes; there, one, two, four, six and seven")


@pytest.mark.parametrize("ranks", [1, 2, 4, 6, 7, *(pytest.param(n, marks=FURTHER) for n in (3, 17))])
def test_any_number_of_processes_and_any_size(ranks: int, measure: Measure) -> None:
    sizes = (1, 2, 5, 31) if ranks < 8 else (5, 31)
    ended = measure(ranks, lines(*(f"n={size}" for size in sizes)))
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}
    assert all(case.verification.checks > 0 for case in ended.cases if case.verification)


def test_every_grid_of_twelve(measure: Measure) -> None:
    grids = lines(*(f"n=31 grid_rows={rows}" for rows in (1, 2, 3, 4, 6, 12)))
    ended = measure(12, [line for line in grids if "transposed" not in line])
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}


def test_rows_dealt_by_speed_are_all_there(measure: Measure) -> None:
    asked = [f"algorithm.matmul_striped dealing=by_speed variant={variant} n=31" for variant in VARIANTS]
    ended = measure(4, [*asked, f"{asked[0]} grid_rows=4", f"{asked[2]} grid_rows=4", f"{asked[0]} grid_rows=1"])
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}
    # Half of the matrices are sent to others, whatever the speeds are.
    assert all(case.work and 0 < case.work.bytes < 8 * 31**2 * 6 for case in ended.cases)


@under_every_mpi("test_other_mpis.py sends messages beyond what a library sends at once")
def test_large_blocks_under_every_mpi(build: NativeBuild, measure: Measure) -> None:
    # Beyond every limit up to which a library sends at once: a send waits for its receive.
    ended = measure(4, lines("n=301", "n=301 grid_rows=1"), native=build)
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}


@pytest.mark.parametrize("name", GRIDS)
def test_a_wrong_product_fails_its_case(name: str, measure: Measure) -> None:
    cases = [line for line in lines("n=31") if line.startswith(name)]
    ended = measure(4, [*cases, "mpi.barrier"], SCOPE_FAULT=f"wrong-result:{name}")
    assert ended.code == 1
    assert [case.status for case in ended.cases] == ["failed"] * len(VARIANTS) + ["ok"]
    assert all("product" in case.reason for case in ended.cases[:-1])


def test_phases_add_up_to_the_total_on_every_rank(measure: Measure) -> None:
    ended = measure(4, [f"{line} {REPETITIONS}" for line in lines("n=200")], action="run")
    assert ended.code == 0, ended.errors
    parts = ("initialize_s", "distribute_s", "compute_s", "exchange_s", "collect_s", "idle_s")
    for case in ended.cases:
        series = case.series[0]
        assert series.observed is not None
        for rank, totals in enumerate(series.elapsed_s):
            parted = [sum(series.observed[part][rank][n] for part in parts) for n in range(len(totals))]
            outside = [1 - part / total for part, total in zip(parted, totals, strict=True)]
            assert min(outside) > -1e-6, "no two phases at a time"
            # A rank may lose its processor just between the phases and the end, but not in every repetition.
            assert min(outside) < 0.05


def test_a_grid_that_does_not_fit_is_told(measure: Measure) -> None:
    ended = measure(6, [f"{name} grid_rows=4" for name in GRIDS])
    assert ended.code == 0
    assert {case.status for case in ended.cases} == {"unavailable"}
    for case in ended.cases:
        assert mentions(case.reason, "grid_rows=4: ... 6 ranks")


def test_memory_that_is_not_there_is_refused_before_it_is_asked_for(measure: Measure) -> None:
    if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") > 50e9:
        pytest.skip("this machine may have the 52 GB of the largest matrices")
    names = [*GRIDS, "algorithm.matmul_strassen"]
    ended = measure(1, [f"{name} n=46340 variant=tuned" for name in names])
    assert ended.code == 0
    assert {case.status for case in ended.cases} == {"unavailable"}
    for case in ended.cases:
        assert mentions(case.reason, "buffers ... MB of memory ... MB")


STRASSEN = [
    f"algorithm.matmul_strassen variant={variant} schedule={schedule}"
    for variant in ("plain", "tuned")
    for schedule in ("original", "rescheduled")
]


@under_every_mpi("test_other_mpis.py sends messages beyond what a library sends at once")
@pytest.mark.parametrize("ranks", [1, 7])
def test_strassen_on_one_and_on_seven(ranks: int, build: NativeBuild, measure: Measure) -> None:
    # 300: quarters of 180 kB, which no library sends before their receive. Waiting ranks of MPICH 4 keep the
    # processors of those that work: there, what no other size shows.
    waits_busily = ranks > 1 and build.mpi.name == "mpich" and build.mpi.version.startswith("4.")
    sizes = (31, 300) if waits_busily else (1, 2, 31, 300)
    ended = measure(ranks, [f"{line} n={size}" for line in STRASSEN for size in sizes], native=build)
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}


@pytest.mark.parametrize("fault", ["wrong-result", "corrupt-payload"])
def test_a_wrong_quarter_fails_its_case(fault: str, measure: Measure) -> None:
    # Process 0 ends with a quarter in the original schedule only, the last process in both.
    lines = [each for each in STRASSEN if fault == "corrupt-payload" or each.endswith("original")]
    ended = measure(7, [f"{line} n=31" for line in lines], SCOPE_FAULT=f"{fault}:algorithm.matmul_strassen")
    assert ended.code == 1
    assert {case.status for case in ended.cases} == {"failed"}
    assert all("product" in case.reason for case in ended.cases)


def test_strassen_on_other_numbers_is_refused(measure: Measure) -> None:
    ended = measure(2, ["algorithm.matmul_strassen"])
    assert ended.code == 2
    assert mentions(ended.errors, "algorithm.matmul_strassen on ranks=2: ... 1 or 7")
