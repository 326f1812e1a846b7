"""A second look: sizes around a suspected break, the whole curve in the same launches, nothing without need."""

from __future__ import annotations

from dataclasses import replace

from hpcscope.catalog.catalog import Catalog
from hpcscope.plan import plan as planning
from hpcscope.plan.experiment import resolve
from hpcscope.plan.place import Place
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import FIRST_VISIT, LATER_VISIT, Plan
from hpcscope.plan.refine import Suspect, refined

SUSPECT = Suspect(
    "mpi.latency",
    (("mode", "standard"),),
    (2, "default", Placement("core")),
    (1, 1024, 16384, 65536),
    ((1024, 16384),),
)


def base(benchmarks: Catalog) -> Plan:
    return planning.make(
        resolve(None, {"seed": 7, "launches": 2, "only": ["mpi.latency"]}), benchmarks, Place((2,)), "here"
    )


def test_further_launches_hold_the_curve_and_sizes_around_the_gap(benchmarks: Catalog) -> None:
    plan = base(benchmarks)
    more = refined(plan, [SUSPECT], launches=2)
    assert more.launches[: len(plan.launches)] == plan.launches
    further = more.launches[len(plan.launches) :]
    assert [launch.number for launch in further] == [len(plan.launches) + 1, len(plan.launches) + 2]
    assert {launch.batch for launch in further} == {SUSPECT.batch}
    for launch in further:
        sizes = sorted(case.parameters["message_bytes"] for case in launch.cases)
        assert sizes == [1, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]
    for launch, usual in zip(further, (FIRST_VISIT, LATER_VISIT), strict=True):
        assert all(usual.items() <= case.sampling.items() for case in launch.cases)
    assert refined(plan, [SUSPECT], launches=2) == more


def test_sizes_end_with_the_curve_and_hold_whole_numbers() -> None:
    assert replace(SUSPECT, sizes=(1, 1024, 16384)).further() == {256, 512, 2048, 4096, 8192}
    odd = replace(SUSPECT, gaps=((1024, 4096),))
    assert {size % 16 for size in odd.further()} == {0}, "reductions send whole numbers"


def test_a_located_break_and_no_suspect_leave_the_plan_alone(benchmarks: Catalog) -> None:
    plan = base(benchmarks)
    assert refined(plan, [], launches=2) == plan
    assert refined(plan, [replace(SUSPECT, gaps=())], launches=2) == plan
    assert refined(plan, [replace(SUSPECT, gaps=((14000, 16384),))], launches=2) == plan
