"""Relaxation on any grid of processes: every method, exchange and variant right, every check seen to fail."""

from __future__ import annotations

import os
from itertools import product

import pytest

from tests.measure.conftest import Measure
from tests.messages import mentions

NAME = "algorithm.relaxation"
METHODS = (
    "method=chaotic variant=plain",
    "method=chaotic variant=tuned",
    "method=jacobi variant=plain",
    "method=jacobi variant=tuned",
    "method=red_black",
)
EXCHANGES = ("blocking", "overlapped")
MEMORY_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def cases(*sizes: str) -> list[str]:
    """Return a plan line for each method, exchange and problem."""
    return [
        f"{NAME} {method} exchange={exchange} {size}"
        for method, exchange, size in product(METHODS, EXCHANGES, sizes)
    ]


@pytest.mark.parametrize(
    ("ranks", "sizes"),
    [
        (1, ("n=1 iterations=2", "n=35 iterations=12")),
        (4, ("n=2 iterations=3", "n=35 iterations=12", "n=21 grid_rows=1 iterations=1")),
        (6, ("n=35 iterations=12", "n=19 grid_rows=6 iterations=5", "n=40 grid_rows=3 iterations=6")),
    ],
)
def test_every_point_is_right_on_every_grid(ranks: int, sizes: tuple[str, ...], measure: Measure) -> None:
    ended = measure(ranks, cases(*sizes))
    assert ended.code == 0, ended.errors
    assert [case.reason for case in ended.cases if case.status != "ok"] == []
    for case in ended.cases:
        # Each point in the result and in the block that it came from.
        assert case.verification is not None
        assert case.verification.checks >= 2 * int(case.parameters["n"]) ** 2


def test_what_is_too_long_to_be_replayed_is_bounded_and_its_beginning_replayed(measure: Measure) -> None:
    ended = measure(2, [f"{NAME} n=150 iterations=1000 exchange=overlapped variant=tuned"])
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["ok"]


@pytest.mark.parametrize(("fault", "rank"), [("corrupt-payload", 3), ("wrong-result", 0)])
def test_an_altered_point_fails_its_case(fault: str, rank: int, measure: Measure) -> None:
    ended = measure(4, cases("n=33 iterations=4"), SCOPE_FAULT=f"{fault}:{NAME}")
    assert ended.code == 1
    assert [case.status for case in ended.cases] == ["failed"] * len(ended.cases)
    assert all(f"rank {rank} on " in case.reason for case in ended.cases)


def test_what_does_not_fit_is_refused_in_one_line(measure: Measure) -> None:
    lines = {
        f"{NAME} grid_rows=3": "grid_rows=3: must divide 4 ranks",
        f"{NAME} grid_rows=1 n=3": "n=3: every rank of the 1 x 4 grid needs at least one point",
        f"{NAME} method=red_black variant=tuned": "red_black has only a plain sweep",
    }
    ended = measure(4, list(lines))
    assert ended.code == 0, ended.errors
    for case, reason in zip(ended.cases, lines.values(), strict=True):
        assert case.status == "unavailable"
        assert reason in case.reason


@pytest.mark.skipif(MEMORY_BYTES > 60e9, reason="this machine has the memory that must not suffice")
def test_memory_that_does_not_suffice_is_refused_before_it_is_asked_for(measure: Measure) -> None:
    (case,) = measure(1, [f"{NAME} n=46000 iterations=1"]).cases
    assert case.status == "unavailable"
    assert mentions(case.reason, "MB of memory ... MB")


def test_the_phases_are_the_whole_time_of_each_rank(measure: Measure) -> None:
    limits = "sampling.budget_s=600 sampling.precision=0 sampling.maximum_repetitions=20"
    plan = [f"{NAME} n=100 iterations=50 exchange=overlapped {limits}"]
    (case,) = measure(2, plan, action="run").cases
    series = case.series[0]
    names = ("initialize_s", "distribute_s", "compute_s", "exchange_s", "collect_s", "idle_s")
    for rank, elapsed_s in enumerate(series.elapsed_s):
        outside = [
            1 - sum(series.observed[name][rank][repetition] for name in names) / whole_s
            for repetition, whole_s in enumerate(elapsed_s)
        ]
        assert min(outside) > -1e-6, "no two phases at a time"
        # A rank may lose its processor just between the phases and the end, but not in every repetition.
        assert min(outside) < 0.1
