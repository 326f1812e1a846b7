"""Shallow water on the sphere: the same fields on any grid of processes by every method, every check seen to fail,
and two runs against a plain program in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import log2
from pathlib import Path

import pytest

from hpcscope.catalog.benchmark import Value
from hpcscope.machine.machine import NativeBuild
from hpcscope.models.prediction.costs.shallow_water import COSTS
from hpcscope.models.prediction.costs.steps import LocalWork, Problem
from hpcscope.samples.records import CaseRecord
from tests.measure.conftest import Measure, start
from tests.measure.plain_shallow_water import changes
from tests.messages import mentions

NAME = "application.shallow_water"
METHODS = [
    f"fft={fft} legendre={legendre} exchange={exchange}"
    for fft, legendre, exchange in product(
        ("transposition", "distributed"),
        ("transposition", "allreduce", "ring"),
        ("blocking", "nonblocking", "shared_memory"),
    )
]
COEFFICIENTS = 23 * 24 // 2 - 1
"""Of T21: degrees up to 22 of orders up to 21."""


def messages_of_step(parameters: Mapping[str, Value], ranks: int) -> int:
    """Return what the specification says that the busiest process sends in a step."""
    rows = int(parameters["grid_rows"])
    columns = ranks // rows
    nonblocking = parameters["exchange"] == "nonblocking"
    if parameters["fft"] == "transposition":
        along_row = 4 * (columns - 1)
    else:
        halves = 2 if nonblocking else 1
        along_row = 2 * halves * round(log2(columns)) + (2 if columns > 2 else 0)
    if parameters["legendre"] == "allreduce":
        return along_row + round(log2(rows)) * (rows if nonblocking else 1)
    return along_row + 2 * (rows - 1)


def busiest(case: CaseRecord, observed: str) -> float:
    return max(max(each) for each in case.series[0].observed[observed])


def assert_sends_what_is_predicted(case: CaseRecord, ranks: int) -> None:
    """The formulas of the prediction know every message and byte, and the operations within a twentieth."""
    problem = Problem(21, ranks, case.parameters)
    assert COSTS.refuses(problem) == ""
    steps = list(COSTS.steps(problem))
    sent = [one for one in steps if not isinstance(one, LocalWork)]
    assert sum(one.count for one in sent) == busiest(case, "exchange_messages"), case.parameters
    assert sum(one.sent_bytes for one in sent) == pytest.approx(busiest(case, "exchange_bytes")), case.parameters
    flops = COSTS.units("compute", 21, problem)
    assert flops == pytest.approx(int(case.parameters["steps"]) * busiest(case, "flops_per_step"), rel=0.05)
    (work,) = (one for one in steps if isinstance(one, LocalWork))
    assert flops / ranks * (1 - 1e-9) <= work.units <= flops


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_every_coefficient_is_that_of_one_process_by_every_method(ranks: int, measure: Measure) -> None:
    problem = "resolution=T21 levels=2 case=wave steps=3"
    rows = [count for count in (1, 2, 4) if count <= ranks]
    plan = [f"{NAME} {problem} {methods} grid_rows={count}" for methods, count in product(METHODS, rows)]
    ended = measure(ranks, plan)
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []
    for case in ended.cases:
        assert case.verification is not None
        assert case.verification.checks >= 2 * 6 * COEFFICIENTS
        assert busiest(case, "exchange_messages") == 3 * messages_of_step(case.parameters, ranks)
        assert_sends_what_is_predicted(case, ranks)


def test_all_cases_keep_their_bounds_with_all_radices(measure: Measure) -> None:
    cases = [f"{NAME} resolution=T21 case={case} steps=36" for case in ("bell", "zonal", "compact", "low")]
    cases += [f"{NAME} resolution=T21 case={case} steps=36 variant=tuned" for case in ("mountain", "wave")]
    cases += [f"{NAME} resolution={truncation} steps=1 variant=tuned" for truncation in ("T63", "T106")]
    ended = measure(2, cases)
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []


@pytest.mark.parametrize(("fault", "rank"), [("corrupt-payload", 1), ("wrong-result", 0)])
def test_an_altered_coefficient_fails_its_case(fault: str, rank: int, measure: Measure) -> None:
    plan = [f"{NAME} resolution=T21 steps=2 case={case}" for case in ("zonal", "wave")]
    ended = measure(2, plan, SCOPE_FAULT=f"{fault}:{NAME}")
    assert ended.code == 1
    assert [case.status for case in ended.cases] == ["failed"] * 2
    assert all(mentions(case.reason, f"rank {rank} on ... one rank") for case in ended.cases)


def test_shares_may_differ(measure: Measure) -> None:
    problem = "resolution=T21 levels=2 case=wave steps=3"
    plan = [f"{NAME} {problem} legendre={legendre}" for legendre in ("transposition", "allreduce", "ring")]
    for ranks, rows in ((3, (1, 3)), (6, (2, 3))):
        ended = measure(ranks, [f"{line} grid_rows={count}" for line, count in product(plan, rows)])
        assert ended.code == 0, ended.errors
        assert [case.reason for case in ended.cases if case.status != "ok"] == []
        for case in ended.cases:
            assert_sends_what_is_predicted(case, ranks)


def test_grids_that_do_not_fit_are_refused_in_one_line(measure: Measure) -> None:
    lines = {
        "grid_rows=4": "grid_rows=4: must divide 18 ranks",
        "grid_rows=18": "18 x 1 ranks: T21 has 16 pairs of latitudes: too few to share among 18 ranks",
        "grid_rows=1": "a grid row has 16 pairs of latitudes; it needs at least 18, the number of grid columns",
        "grid_rows=6 fft=distributed": "the number of grid columns must be a power of two that divides",
    }
    ended = measure(18, [f"{NAME} resolution=T21 {line}" for line in lines])
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["unavailable"] * len(lines)
    for case, reason in zip(ended.cases, lines.values(), strict=True):
        assert reason in case.reason
        assert COSTS.refuses(Problem(21, 18, case.parameters)) != ""


def test_as_a_program_of_its_own_it_says_what_it_did(embedded_build: NativeBuild) -> None:
    program = str(Path(embedded_build.program).with_name("shallow_water"))
    assert start(program, embedded_build.mpi, 2, ["--steps", "2", "--exchange", "nonblocking"])[0] == 0
    code, errors = start(program, embedded_build.mpi, 1, ["--resolution", "T9"])
    assert code == 2
    assert "shallow_water: T9: " in errors


def test_integrals_change_as_in_a_plain_program(measure: Measure) -> None:
    ended = measure(1, [f"{NAME} resolution=T21 case={case} steps=5" for case in ("mountain", "wave")])
    for case in ended.cases:
        energy, enstrophy = changes(str(case.parameters["case"]), truncation=21, latitudes=32, steps=5)
        observed = case.series[0].observed
        assert observed["energy_change"][0][0] == pytest.approx(abs(energy), rel=1e-7, abs=1e-14)
        assert observed["enstrophy_change"][0][0] == pytest.approx(abs(enstrophy), rel=1e-7, abs=1e-14)
