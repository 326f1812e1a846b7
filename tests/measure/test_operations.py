"""Operations of programs: right at any number of processes and any size, cold and warm; wrong data is noticed."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.measure.conftest import Measure
from tests.messages import mentions

STRIPES = [
    f"operation.{name} layout={layout} buffers={memory} n={size}"
    for name, layout, memory, size in product(
        ("scatter", "gather"), ("rows", "columns"), ("cold", "warm"), (1, 5, 31, 60)
    )
]
WAYS = [
    f"operation.{name} call={call} buffers={memory} n=31"
    for name, call, memory in product(
        ("broadcast", "scatter", "gather", "shift"), ("nonblocking", "overlapped"), ("cold", "warm")
    )
]
SHIFTS = [f"operation.shift buffers={memory} n={size}" for memory, size in product(("cold", "warm"), (1, 31))]


FURTHER = pytest.mark.slow("further numbers of ranks; there, two, and one by which no size is divisible")


@pytest.mark.parametrize("ranks", [2, 7, *(pytest.param(n, marks=FURTHER) for n in (3, 16))])
def test_stripes_and_shifts_of_any_size(ranks: int, measure: Measure) -> None:
    ended = measure(ranks, [*STRIPES, *SHIFTS, *(WAYS if ranks < 7 else [])])
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}
    for case in ended.cases:
        assert case.verification is not None
        holders = ranks if case.benchmark == "operation.shift" else 1
        # Each element of a matrix is looked at by the one process that must have it.
        assert case.verification.checks >= holders * int(case.parameters["n"]) ** 2


@pytest.mark.parametrize("direction", ["rows", "columns"])
def test_shifts_along_both_sides_of_a_grid(direction: str, measure: Measure) -> None:
    ended = measure(6, [f"operation.shift direction={direction} grid_rows={rows} n=31" for rows in (0, 2, 3)])
    assert [case.status for case in ended.cases] == ["ok"] * 3


@pytest.mark.parametrize(
    ("case", "fault", "rank"),
    [
        ("operation.scatter n=31", "corrupt-payload", 2),
        ("operation.scatter n=31 layout=rows buffers=warm", "corrupt-payload", 2),
        ("operation.gather n=31", "wrong-result", 0),
        ("operation.gather n=31 layout=rows buffers=warm", "wrong-result", 0),
        ("operation.broadcast n=31 call=nonblocking", "corrupt-payload", 2),
        ("operation.scatter n=31 call=nonblocking", "corrupt-payload", 2),
        ("operation.gather n=31 call=overlapped", "wrong-result", 0),
        ("operation.shift n=31 call=overlapped", "corrupt-payload", 2),
        ("operation.shift n=31", "corrupt-payload", 2),
        ("operation.shift n=31 buffers=warm", "wrong-result", 0),
    ],
)
def test_one_wrong_element_fails_the_case(case: str, fault: str, rank: int, measure: Measure) -> None:
    ended = measure(3, [case, "mpi.barrier"], SCOPE_FAULT=f"{fault}:{case.split()[0]}")
    assert [each.status for each in ended.cases] == ["failed", "ok"]
    assert f"rank {rank} on " in ended.cases[0].reason


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (
            "operation.shift direction=columns",
            "direction=columns: ... 1 x 3",
        ),
        ("operation.shift grid_rows=2", "grid_rows=2: ... 3 ranks"),
        ("operation.shift grid_rows=9", "grid_rows=9: ... 3 ranks"),
    ],
)
def test_a_grid_without_neighbors_is_said(case: str, reason: str, measure: Measure) -> None:
    ended = measure(3, [case])
    assert (ended.code, ended.cases[0].status) == (0, "unavailable")
    assert mentions(ended.cases[0].reason, reason)


def test_memory_that_does_not_suffice_is_refused_with_both_amounts(measure: Measure) -> None:
    # Sixteen processes would hold two matrices of 2 GB each: more than any machine of the developers has left.
    facts = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) for line in facts if line.startswith("MemAvailable:")) * 1024
    if available > 16 * 2 * 8 * 16384**2:
        pytest.skip("this host has room for it")
    ended = measure(16, ["operation.shift n=16384"])
    assert ended.cases[0].status == "unavailable"
    assert mentions(ended.cases[0].reason, "68719 MB of memory ... MB")
