"""Incompressible flow: the same bits on any number of processes in any partition, errors of second order, printed
profiles of the cavity, every check seen to fail, and two runs against a plain program in NumPy."""

from __future__ import annotations

from itertools import product
from math import log2

import pytest

from tests.measure.conftest import Ended, Measure
from tests.measure.plain_flow import velocity_error
from tests.messages import mentions

NAME = "application.cfd"
EXCHANGES = ("blocking", "overlapped", "shared_memory")
WAYS = [
    f"partition={partition} exchange={exchange} variant={variant}"
    for partition, exchange, variant in product(("slabs", "pencils", "blocks"), EXCHANGES, ("plain", "tuned"))
]
CASES = ("beltrami", "ethier_steinman", "cavity")


def observed(ended: Ended, metric: str) -> list[float]:
    """Return a metric of each case."""
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []
    return [max(max(each) for each in case.series[0].observed[metric]) for case in ended.cases]


@pytest.mark.parametrize(("ranks", "cases"), [(3, CASES), (8, CASES[:1])])
def test_every_bit_is_that_of_one_process_in_every_partition(
    ranks: int, cases: tuple[str, ...], measure: Measure
) -> None:
    # Ten cells over three processes are unequal shares; eight have slabs of one cell, and blocks cut thrice.
    plan = [f"{NAME} n=10 steps=3 case={case} {way}" for case, way in product(cases, WAYS)]
    ended = measure(ranks, plan)
    observed(ended, "iterations")
    for case in ended.cases:
        assert case.verification is not None
        assert case.verification.checks >= 4 * 10**3


def test_all_slabs_exchange_what_the_specification_says(measure: Measure) -> None:
    ended = measure(4, [f"{NAME} n=16 steps=2 exchange={exchange}" for exchange in EXCHANGES])
    for iterations, messages, sent in zip(
        observed(ended, "iterations"),
        observed(ended, "exchange_messages"),
        observed(ended, "exchange_bytes"),
        strict=True,
    ):
        maxima = log2(4) * iterations / 4
        assert messages == 2 * 3 + 4 * iterations + maxima
        assert sent == 2 * (2 * 24 + 8) * 18 * 18 + 4 * iterations * (4 * 16 * 16 + 32 * 15) + 8 * maxima


def test_errors_are_of_second_order(measure: Measure) -> None:
    # At equal times: twice as many cells, twice as many steps, but four times where diffusion limits them.
    plan = [f"{NAME} n={n} steps={5 * n // 8} digits=8 variant=tuned" for n in (16, 32)]
    plan += [f"{NAME} n={n} depth=2 case=taylor_green reynolds=10 steps={5 * n // 8} digits=8" for n in (8, 16)]
    walls = f"{NAME} case=ethier_steinman reynolds=1 digits=7 variant=tuned"
    plan += [f"{walls} n={n} steps={3 * n**2 // 8}" for n in (8, 16)]
    errors = observed(measure(1, plan), "velocity_error")
    for coarse, fine in zip(errors[::2], errors[1::2], strict=True):
        assert 1.7 < log2(coarse / fine) < 2.4


def test_the_cavity_has_the_profiles_of_ghia_ghia_and_shin(measure: Measure) -> None:
    case = f"{NAME} case=cavity depth=2 reynolds=100 digits=5 variant=tuned"
    # From still fluid, whose profiles are far off, to the steady flow.
    still, coarse, fine = observed(
        measure(1, [f"{case} n=32 steps=1", f"{case} n=16 steps=500", f"{case} n=32 steps=2000"]), "profile_error"
    )
    assert still > 0.5
    assert fine < 0.01
    assert fine < coarse < 0.02


@pytest.mark.parametrize(
    ("case", "n", "depth", "reynolds", "steps"), [("beltrami", 8, 8, 10, 6), ("taylor_green", 12, 2, 100, 5)]
)
def test_errors_are_those_of_a_plain_program(
    case: str, n: int, depth: int, reynolds: int, steps: int, measure: Measure
) -> None:
    plan = f"{NAME} case={case} n={n} depth={depth} reynolds={reynolds} steps={steps} digits=12"
    expected = velocity_error(case, n, depth, reynolds, steps)
    assert observed(measure(1, [plan]), "velocity_error") == [pytest.approx(expected, rel=1e-7)]


@pytest.mark.parametrize(("fault", "rank"), [("corrupt-payload", 1), ("wrong-result", 0)])
def test_an_altered_value_fails_its_case(fault: str, rank: int, measure: Measure) -> None:
    ended = measure(2, [f"{NAME} n=8 steps=2 case={case}" for case in CASES], SCOPE_FAULT=f"{fault}:{NAME}")
    assert ended.code == 1
    assert [case.status for case in ended.cases] == ["failed"] * len(CASES)
    assert all(mentions(case.reason, f"rank {rank} on ... one rank") for case in ended.cases)


def test_grids_that_do_not_fit_are_refused_in_one_line(measure: Measure) -> None:
    lines = {
        "n=9": "n=9: ... even",
        "n=8 case=cavity depth=3": "depth=3: ... even",
        "n=12 depth=6": "depth=6: ... 0 or n ... case=beltrami",
        "n=4": "4 x 4 x 4 cells: ... 6 ranks",
    }
    ended = measure(6, [f"{NAME} {line}" for line in lines])
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["unavailable"] * len(lines)
    for case, reason in zip(ended.cases, lines.values(), strict=True):
        assert mentions(case.reason, reason)
