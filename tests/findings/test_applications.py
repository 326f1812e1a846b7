"""Findings about whole applications: each fires where a fault was put in, and not where all is well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.statistics.summary import Summary
from tests.findings.evidence import evident
from tests.findings.faulty_runs import latencies, run_kinds, with_summaries, with_usable
from tests.findings.kinds.algorithms import algorithm
from tests.models.curves import summary

CG, FT, IS, MG, EP = (f"application.npb_{kernel}" for kernel in ("cg", "ft", "is", "mg", "ep"))


def counted(benchmark: str, ranks: int, given: dict[str, Any], **counts: float) -> list[Summary]:
    """What an application counts without a clock: the same in every repetition."""
    return [
        summary([np.full(15, value)] * 6, benchmark, name, "observed", ranks, unit="1", **given)
        for name, value in counts.items()
    ]


def application(benchmark: str, ranks: int, seconds: dict[str, float], **counts: float) -> list[Summary]:
    given = {"class": "A"}
    return [*algorithm(benchmark, ranks, seconds, **given), *counted(benchmark, ranks, given, **counts)]


def found(kind: str, run: Run, summaries: list[Summary]) -> list[Finding]:
    return run_kinds()[kind](with_summaries(with_usable(run, 64), summaries))


@pytest.mark.parametrize("benchmark", [IS, FT])
def test_an_all_to_all_that_outweighs_computation_is_found(benchmark: str, healthy_run: Run) -> None:
    made = [
        each
        for ranks, exchange in ((2, 0.1), (4, 0.4), (8, 0.8))
        for each in application(benchmark, ranks, {"compute": 0.2, "exchange": exchange}, exchange_bytes=8e7)
    ]
    (one,) = found("all_to_all_bound", healthy_run, made)
    assert one.where["ranks"] == 8
    assert one.lost == pytest.approx(0.8, rel=0.05)
    evident(one, (1e8, "B/s"), rel=0.05)


def test_an_all_to_all_beside_longer_computation_is_none(healthy_run: Run) -> None:
    few = application(FT, 8, {"compute": 0.9, "exchange": 0.5}, exchange_bytes=8e7)
    # Waiting is not sending, and the halos of MG are no all-to-all.
    idle = application(IS, 8, {"compute": 0.2, "exchange": 0.1, "idle": 0.9}, exchange_bytes=8e7)
    halos = application(MG, 8, {"compute": 0.1, "exchange": 0.9}, exchange_bytes=8e7)
    assert found("all_to_all_bound", healthy_run, [*few, *idle, *halos]) == []


@pytest.mark.parametrize("benchmark", [CG, MG])
def test_messages_that_follow_one_another_are_found(benchmark: str, healthy_run: Run) -> None:
    ping = latencies(lambda n: 50e-6 + n / 12e6)
    counts = {"waits": 4000.0, "exchange_messages": 1600.0, "exchange_small_messages": 1200.0}
    made = [
        each
        for ranks in (4, 8)
        for each in application(benchmark, ranks, {"compute": 1.0 / ranks, "exchange": 0.3}, **counts)
    ]
    (one,) = found("latency_bound", healthy_run, [*ping, *made])
    assert one.where["ranks"] == 4, "0.2 s of latency in 0.55 s"
    evident(one, (1200 / 1600, ""))
    assert "4000" in one.title, "how often it waits"
    assert one.lost == pytest.approx(0.2 / 0.55, rel=0.05)


def test_messages_over_a_fast_path_or_beside_much_computation_are_none(healthy_run: Run) -> None:
    counts = {"waits": 4000.0, "exchange_messages": 1600.0, "exchange_small_messages": 1200.0}
    made = application(CG, 4, {"compute": 0.25, "exchange": 0.3}, **counts)
    assert found("latency_bound", healthy_run, [*latencies(lambda n: 1e-6 + n / 1e10), *made]) == []
    slow = latencies(lambda n: 50e-6 + n / 12e6)
    longer = application(CG, 4, {"compute": 25.0, "exchange": 0.3}, **counts)
    assert found("latency_bound", healthy_run, [*slow, *longer]) == []
    # Without a ping-pong nothing is known of latency.
    assert found("latency_bound", healthy_run, made) == []


def test_a_second_core_that_computes_nothing_faster_is_found(healthy_run: Run) -> None:
    alone = application(MG, 1, {"compute": 1.0})
    both = application(MG, 2, {"compute": 0.95, "exchange": 0.05})
    (one,) = found("second_core", healthy_run, [*alone, *both])
    assert one.where["ranks"] == 2
    assert one.lost == pytest.approx(1 - 1 / 0.95 / 2, rel=0.1)


def test_a_second_core_that_halves_computation_is_none(healthy_run: Run) -> None:
    # That EP's messages or its waiting take long says nothing of the core.
    alone = application(EP, 1, {"compute": 1.0})
    both = application(EP, 2, {"compute": 0.52, "exchange": 0.3, "idle": 0.3})
    assert found("second_core", healthy_run, [*alone, *both]) == []
    assert found("second_core", healthy_run, both) == []
