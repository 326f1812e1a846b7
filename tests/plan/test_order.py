"""The order of a launch: what will be compared is neighboring, everything else is random."""

from __future__ import annotations

import random
from itertools import groupby

from hpcscope.catalog.catalog import Settings
from hpcscope.plan.order import compared, side_by_side
from hpcscope.plan.plan import PlannedCase
from tests.declared import catalog


def case(benchmark: str, **parameters: int | str) -> PlannedCase:
    return PlannedCase(benchmark, parameters)


SIZES = (8, 1024, 65536)
CASES = [
    *(case("mpi.latency", message_bytes=n, mode=mode) for n in SIZES for mode in ("standard", "synchronous")),
    *(case("network.latency", message_bytes=n, protocol=p) for n in SIZES for p in ("tcp", "shm", "cma")),
    *(case(f"mpi.{name}", message_bytes=n) for n in SIZES for name in ("allreduce", "reduce", "broadcast")),
    *(case("operation.scatter", n=9, buffers=b, layout=y) for b in ("warm", "cold") for y in ("rows", "columns")),
    *(case("node.memory_latency", array_bytes=n) for n in SIZES),
]


def order(seed: int) -> list[PlannedCase]:
    return side_by_side(CASES, compared(catalog()), random.Random(seed))


def runs_of(cases: list[PlannedCase], names: tuple[str, ...], size: str) -> list[tuple[int | str | None, int]]:
    """Each run of neighbors of some benchmarks at one size, and how many it has."""

    def at(one: PlannedCase) -> tuple[bool, object]:
        mine = one.benchmark in names
        return mine, one.parameters.get(size) if mine else None

    return [(key[1], len(list(each))) for key, each in groupby(cases, at) if key[0]]  # type: ignore[misc]


def test_rungs_routines_and_layouts_of_one_size_are_neighbors() -> None:
    for seed in range(20):
        cases = order(seed)
        assert sorted(one.line() for one in cases) == sorted(one.line() for one in CASES)
        assert sorted(runs_of(cases, ("mpi.latency", "network.latency"), "message_bytes")) == [
            (n, 5) for n in SIZES
        ]
        assert sorted(runs_of(cases, ("mpi.latency",), "message_bytes")) == [(n, 2) for n in SIZES]
        collectives = ("mpi.allreduce", "mpi.reduce", "mpi.broadcast")
        assert sorted(runs_of(cases, collectives, "message_bytes")) == [(n, 3) for n in SIZES]
        assert runs_of(cases, ("operation.scatter",), "n") == [(9, 4)]


def test_every_pass_has_an_order_of_its_own() -> None:
    chance = random.Random(1)
    passes = [tuple(one.line() for one in side_by_side(CASES, compared(catalog()), chance)) for _ in range(10)]
    assert len(set(passes)) == 10
    firsts = {each[0] for each in passes}
    assert len(firsts) > 5


def test_without_groups_anything_follows_anything() -> None:
    plain = side_by_side(CASES, None, random.Random(2))
    assert sorted(one.line() for one in plain) == sorted(one.line() for one in CASES)
    assert len(runs_of(plain, ("mpi.latency", "network.latency"), "message_bytes")) > len(SIZES)


def test_what_differs_in_the_problem_is_another_group() -> None:
    groups = compared(catalog())

    def inner(**settings: int | str) -> object:
        chosen: Settings = settings
        return groups("mpi.allreduce", chosen)[1]

    assert inner(message_bytes=8, call="blocking") == inner(message_bytes=8, call="nonblocking")
    assert inner(message_bytes=8, operator="sum") != inner(message_bytes=8, operator="maximum")
