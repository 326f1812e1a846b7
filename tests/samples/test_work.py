"""What a metric divides by the time: of the payload of all ranks, the copies that ranks keep do not travel."""

from __future__ import annotations

import pytest

from hpcscope.catalog.benchmark import Quantity
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import Work

MIB = 1 << 20


@pytest.mark.parametrize(
    ("ranks", "group_ranks", "moved"),
    [(2, 0, MIB), (4, 0, 3 * MIB), (4, 2, 2 * MIB)],
)
def test_what_travels_is_the_payload_without_own_copies(ranks: int, group_ranks: int, moved: int) -> None:
    """A broadcast of 1 MiB: (p-1) n, in each group of ranks that broadcast at the same time."""
    case = Case(
        benchmark="mpi.broadcast",
        parameters={"group_ranks": group_ranks, "message_bytes": MIB},
        ranks=ranks,
        transport="default",
        placement=Placement(),
        label="broadcast",
    )
    work = Work(bytes=ranks * MIB, flops=1.0, messages=2.0, steps=3.0)
    assert work.of("moved_bytes", case) == moved
    of: dict[Quantity, float] = {"bytes": ranks * MIB, "flops": 1.0, "messages": 2.0, "time_per_step": 3.0}
    assert {quantity: work.of(quantity, case) for quantity in of} == of
