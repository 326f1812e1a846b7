"""HPL, HPCG, HPC Challenge and NPB: rates, variants and checks as printed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.imports.reading import data, read


def test_hpl_says_problem_grid_and_variant() -> None:
    found = read("hpl", data("hpl-2.3-openmpi.txt"))
    figures = found.figures("algorithm.linpack", "flops_per_s")
    assert [one.values[0] for one in figures] == [
        *(2.1661e9, 7.6923e8, 4.0470e9, 4.6856e9),
        *(9.3976e8, 1.8691e9, 6.0993e9, 6.5149e9),
    ]
    assert figures[0].parameters == {
        **{"n": 200, "block": 32, "grid_rows": 1, "grid_columns": 4},
        **{"look_ahead": 1, "broadcast": "ring_modified", "swap": "long"},
    }
    assert {one.ranks for one in figures} == {4}
    assert found.values("algorithm.linpack", "residual")[0] == 6.15650374e-03
    assert any("1 s" in one for one in found.reading.missing), "times of less have too few digits"


def test_a_time_with_enough_digits_is_read() -> None:
    text = data("hpl-2.2-mpich.txt").replace("   0.02  ", "  12.50  ")
    assert read("hpl", text).values("algorithm.linpack", "time_s") == [12.50]


def test_hpl_1_numbers_processes_along_columns() -> None:
    """`algorithm.linpack` does so along rows, which is the same only on a grid of one row."""
    found = read("hpl", data("hpl-1.0-openmpi.txt"))
    assert len(found.figures("algorithm.linpack", "flops_per_s")) == 4
    assert {one.parameters["order"] for one in found.figures("algorithm.hpl", "flops_per_s")} == {"columns"}


@pytest.mark.parametrize("variant", ["WC11C2R4", "WR31C2R4", "WR12C2R4"])
def test_a_variant_that_scope_does_not_have_is_another_benchmark(variant: str) -> None:
    text = data("hpl-2.3-openmpi.txt").replace("WR11C2R4", variant)
    grids = {one.parameters["grid_rows"] for one in read("hpl", text).figures("algorithm.linpack", "flops_per_s")}
    assert grids == ({1} if variant.startswith("WC") else set())


@pytest.mark.parametrize(
    ("file", "failure"),
    [
        ("hpl-2.3-failed.txt", "residual 5.76474530e-03: FAILED"),
        ("hpl-1.0a-failed.txt", "residual 0.0061247: FAILED"),
        ("hpl-2.3-unchecked.txt", "residual"),
    ],
)
def test_a_residual_that_is_not_right_is_no_result(file: str, failure: str) -> None:
    (said,) = {one.failure for one in read("hpl", data(file)).reading.figures}
    assert failure in said


@pytest.mark.parametrize(
    ("file", "rating", "sets"),
    [("hpcg-2.4.txt", 1.13824e9, 79), ("hpcg-3.0.txt", 3.56251e9, 1), ("hpcg-3.1.txt", 0.597323e9, 14)],
)
def test_hpcg(file: str, rating: float, sets: int) -> None:
    found = read("hpcg", data(file))
    (figure,) = found.figures("application.hpcg", "flops_per_s")
    assert (figure.values, figure.ranks, figure.repetitions) == ((rating,), 2, sets)
    assert figure.parameters == {"nx": 16, "ny": 16, "nz": 16, "threads": 1}
    assert not figure.failure
    (missing,) = found.reading.missing
    assert "1,800 s" in missing, "iterations over the time that an official result needs"


def test_an_invalid_result_of_hpcg_is_none() -> None:
    text = data("hpcg-3.1.txt").replace(
        "Final Summary::HPCG result is VALID with a GFLOP/s rating of=0.597323",
        "Final Summary::HPCG result is=INVALID.",
    )
    assert {one.failure for one in read("hpcg", text).reading.figures} == {"HPCG result is INVALID."}


@pytest.mark.parametrize("file", ["hpcc-1.5.0.txt", "hpcc-1.5.0-summary.txt"])
def test_hpcc_says_every_figure_once(file: str) -> None:
    found = read("hpcc", data(file))
    assert found.values("algorithm.linpack", "flops_per_s") == [0.00120031e12]
    assert found.values("algorithm.linpack", "time_s") == [0.0357464]
    assert found.values("node.matrix_multiply", "flops_per_s") == [47.634e9]
    copy = found.figures("node.stream", "bandwidth_bytes_per_s")[0]
    assert (copy.values, copy.ranks, copy.repetitions) == ((218.462e9,), 1, 9)
    assert copy.parameters == {"kernel": "copy", "array_bytes": 26666 * 8}
    assert found.values("mpi.hpcc_ping_pong", "latency_s") == [0.351639e-6, 0.351917e-6, 0.352194e-6]
    assert found.values("algorithm.hpcc_random_access", "updates_per_s") == [0.0481382e9, 0.00386169e9]


def test_hpcc_may_solve_more_systems_than_its_summary_has() -> None:
    whole = data("hpcc-1.5.0.txt")
    before = read("hpcc", whole).figures("algorithm.linpack", "flops_per_s")
    row = next(one for one in whole.splitlines() if re.match(r"WR\d", one))
    residual = next(one for one in whole.splitlines() if one.startswith("||Ax-b") and "PASSED" in one)
    other = "WR11C2R4         333    80     1     2               0.02              3.065e-01"
    found = read("hpcc", whole.replace(row, f"{other}\n{residual}\n{row}"))
    [first, second] = found.figures("algorithm.linpack", "flops_per_s")
    assert [replace(first, line=1)] == [replace(one, line=1) for one in before]
    assert (second.parameters["n"], second.values, second.failure) == (333, (0.3065e9,), "")


def test_hpcc_says_when_and_where() -> None:
    reading = read("hpcc", data("hpcc-1.5.0.txt")).reading
    assert (reading.program, reading.hosts, reading.started_unix_s) == (
        "HPC Challenge 1.5.0",
        ["vm"],
        1795444204.0,
    )


def test_a_failed_test_of_hpcc_spoils_all_of_them() -> None:
    """The summary does not say which it was."""
    text = data("hpcc-1.5.0-summary.txt").replace("Success=1", "Success=0")
    (failure,) = {one.failure for one in read("hpcc", text).reading.figures}
    assert "Success=0" in failure


def test_hpl_reads_what_a_summary_of_hpcc_would_say() -> None:
    text, _, _ = data("hpcc-1.5.0.txt").partition("Begin of Summary section")
    assert read("hpl", text.replace("HPC Challenge", "another suite")).values(
        "algorithm.linpack", "flops_per_s"
    ) == [1.200e9]


@pytest.mark.parametrize(
    ("file", "benchmark", "ranks", "rate"),
    [
        ("npb-3.3-mpi-cg.4.txt", "application.npb_cg", 4, 567.94),
        ("npb-3.3-mpi-lu.2.txt", "application.npb_lu", 2, None),
        ("npb-3.4-mpi-ep.txt", "application.npb_ep", 2, 127.90),
        ("npb-3.0-ser-mg.txt", "application.npb_mg", 1, 6210.93),
        ("npb-3.4-omp-is.txt", "application.nas_is", 1, 2.71),
        ("npb-3.4-mpi-dt.txt", "application.nas_dt_bh", 5, 0.61),
        ("npb-cpp-4.1-cg.txt", "application.npb_cg", 1, 1369.28),
    ],
)
def test_npb(file: str, benchmark: str, ranks: int, rate: float | None) -> None:
    found = read("npb", data(file))
    (figure,) = found.figures(benchmark, "mops_per_s")
    assert figure.ranks == ranks
    assert figure.parameters["class"] == "S"
    assert rate is None or figure.values == (rate,)
    assert not figure.failure
    (missing,) = found.reading.missing
    assert "1 s" in missing, "times of less have too few digits"


@pytest.mark.parametrize("verdict", ["UNSUCCESSFUL", "NOT PERFORMED"])
def test_an_unsuccessful_verification_is_no_result(verdict: str) -> None:
    text = data("npb-3.3-mpi-cg.4.txt").replace("              SUCCESSFUL", f"           {verdict}")
    assert {one.failure for one in read("npb", text).reading.figures} == {f"verification: {verdict}"}


def test_processes_that_did_nothing_are_no_ranks() -> None:
    active = " Active processes=                        2\n"
    found = read("npb", data("npb-3.3-mpi-cg.4.txt").replace(" Mop/s total", f"{active} Mop/s total"))
    assert {one.ranks for one in found.reading.figures} == {2}
    assert not found.unread


def test_a_class_that_scope_does_not_have_is_another_benchmark() -> None:
    text = (
        data("npb-3.3-mpi-cg.4.txt")
        .replace("                 S\n", "                 D\n")
        .replace("0.12", "48.07")
    )
    found = read("npb", text)
    assert found.values("application.nas_cg", "time_s") == [48.07]
