"""The patterns that select benchmarks by name."""

from __future__ import annotations

import pytest

from hpcscope.catalog.pattern import matches, matches_any
from hpcscope.errors import UsageError
from tests.declared import catalog


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("mpi.latency", "mpi.latency"),
        ("mpi.latency", "mpi"),
        ("mpi.latency", "mpi.*"),
        ("mpi.latency", "*.latency"),
        ("mpi.latency", "*"),
        ("mpi.latency", "mpi.lat?ncy"),
        ("mpi.latency", "[mn]*.latency"),
    ],
)
def test_a_pattern_selects(name: str, pattern: str) -> None:
    assert matches(name, pattern)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("mpi.latency", "latency"),
        ("mpi.latency", "mp"),
        ("mpi.latency", "mpi."),
        ("mpi.latency", "MPI.latency"),
        ("mpi.latency", "mpi.latenc"),
        ("mpi.scatterv", "mpi.scatter"),
        ("mpi.latency", ""),
    ],
)
def test_a_pattern_does_not_select(name: str, pattern: str) -> None:
    assert not matches(name, pattern)


def test_one_of_several_patterns_is_enough_and_none_selects_all() -> None:
    assert matches_any("mpi.latency", ["node", "mpi.lat*"])
    assert not matches_any("mpi.latency", ["node", "network.*"])
    assert matches_any("mpi.latency", [])


def test_a_level_selects_all_of_its_benchmarks() -> None:
    nodes = catalog().matching(["node"])
    assert len(nodes) > 5
    assert {one.level for one in nodes} == {"node"}
    assert catalog().matching([]) == list(catalog())


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"mpi\.latencies: .*mpi\.latency"):
        catalog()["mpi.latencies"]
    assert catalog().get("mpi.latencies") is None
