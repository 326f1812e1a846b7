"""Ladders of files: from a memory copy over the disk and the file system to MPI-IO and a checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcscope.models.ladder.files import file_ladders
from hpcscope.models.ladder.rung import Ladder
from hpcscope.statistics.summary import Summary
from tests.declared import catalog
from tests.models.curves import measured, noisy, summary

LAUNCHES = range(1, 7)


def rate(value: float, benchmark: str, ranks: int, **given: Any) -> Summary:
    times = noisy(np.random.default_rng(int(value) + ranks), value, spread=0.001)
    parameters = {**catalog().defaults(benchmark), **given}
    known = {"unit": "B/s", "numbers": LAUNCHES}
    return summary(times, benchmark, "bandwidth_bytes_per_s", "max_rank", ranks, **known, **parameters)


def run(*summaries: Summary) -> list[Ladder]:
    size = 64 << 20
    copies = noisy(np.random.default_rng(1), size / 8e9, spread=0.001)
    copy = summary(copies, "node.memory_copy", "time_s", "max_rank", 1, numbers=LAUNCHES, array_bytes=size)
    return file_ladders(measured([copy, *summaries]))


def test_each_rung_is_held_against_the_one_before_it() -> None:
    mpi: dict[str, Any] = {"interface": "mpiio"}
    (ladder,) = run(
        rate(2e9, "node.disk", 1, operation="write"),
        rate(1e9, "storage.write", 1),
        rate(0.9e9, "storage.write", 1, transfer_bytes=4096),
        rate(1.5e9, "storage.write", 4),
        rate(1.2e9, "storage.write", 4, **mpi),
        rate(0.3e9, "storage.write", 4, access="collective", **mpi),
        rate(0.15e9, "storage.checkpoint", 4),
    )
    assert ladder.successive
    assert ladder.path == "writing files"
    kept = [(rung.layer, rung.retained) for rung in ladder.rungs[1:]]
    layers = ["node", "storage", "storage", "mpi", "mpi", "application"]
    shares = [0.5, 1.5, 0.8, 0.25, 0.5]
    assert [layer for layer, _ in kept] == layers
    assert kept[0][1] is None, "a copy in memory bounds cached files only"
    assert [share for _, share in kept[1:]] == pytest.approx(shares, rel=0.02)
    assert ladder.rungs[-1].of_limit == pytest.approx(0.15 / 8, rel=0.02)


def test_reading_has_a_ladder_of_its_own_and_a_missing_rung_is_passed_over() -> None:
    (ladder,) = run(
        rate(1e9, "storage.read", 1, cache="dropped"),
        rate(0.5e9, "storage.read", 4, cache="dropped", interface="mpiio", access="collective"),
        rate(30e9, "storage.read", 4, cache="cached"),
    )
    assert ladder.path == "reading files"
    assert [rung.layer for rung in ladder.rungs] == ["limit", "storage", "mpi"]
    assert ladder.rungs[-1].retained == pytest.approx(0.5, rel=0.02)


def test_without_a_file_system_there_is_no_ladder_of_files() -> None:
    assert run(rate(2e9, "node.disk", 1, operation="write")) == []
