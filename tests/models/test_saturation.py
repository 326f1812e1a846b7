"""Bandwidth of files over processes: the law against known truths."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from hpcscope.models.scaling.saturation import Saturation, saturations
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.messages import numbers
from tests.models.curves import measured, noisy, summary

BENCHMARK = "storage.write"


def clients(truth: Callable[[int], float], counts: tuple[int, ...] = (1, 2, 4, 8), seed: int = 1) -> list[Summary]:
    random = np.random.default_rng(seed)
    given = catalog().defaults(BENCHMARK)
    return [
        summary(noisy(random, truth(p)), BENCHMARK, "bandwidth_bytes_per_s", "max_rank", p, unit="B/s", **given)
        for p in counts
    ]


def only(summaries: list[Summary]) -> Saturation:
    (one,) = saturations(measured(summaries))
    return one


def served(p: int) -> float:
    """Clients of 500 MB/s before servers of 2 GB/s; one alone reaches 400 MB/s."""
    return p / (1 / 500e6 + p / 2e9)


def test_clients_before_servers_of_known_rates() -> None:
    one = only(clients(served))
    assert one.alone_bytes_per_s is not None
    assert one.saturated_bytes_per_s is not None
    assert one.enough_ranks is not None
    assert one.alone_bytes_per_s.value == pytest.approx(400e6, rel=0.05)
    assert one.saturated_bytes_per_s.low <= 2e9 <= one.saturated_bytes_per_s.high
    assert one.enough_ranks.low <= 36 <= one.enough_ranks.high
    assert one.reason == ""


def test_servers_that_one_client_saturates() -> None:
    one = only(clients(lambda _: 100e6))
    assert one.enough_ranks is not None
    assert one.enough_ranks.value < 2
    assert one.saturated_bytes_per_s is not None
    assert one.saturated_bytes_per_s.value == pytest.approx(100e6, rel=0.05)


def test_without_a_shared_part_there_is_no_limit() -> None:
    one = only(clients(lambda p: p * 100e6))
    assert one.saturated_bytes_per_s is None
    assert one.enough_ranks is None
    assert one.alone_bytes_per_s is not None, "the law holds"
    assert one.reason


def test_bandwidth_that_falls_is_no_such_law() -> None:
    one = only(clients(lambda p: 1e9 / p**2))
    assert one.alone_bytes_per_s is None
    assert re.search(r"\d %", one.reason), "how far the points lie away"


def test_two_numbers_of_processes_are_too_few() -> None:
    reason = only(clients(served, (1, 2))).reason
    assert numbers(reason) == [2, 3], "numbers here, and numbers that it needs"
    assert saturations(measured(clients(served, (2,)))) == []


@pytest.mark.simulation
def test_intervals_hold_the_truth() -> None:
    runs = [only(clients(served, seed=seed)) for seed in range(60)]
    hit = [one.enough_ranks is not None and one.enough_ranks.low <= 36 <= one.enough_ranks.high for one in runs]
    assert sum(hit) >= 50
