"""A second look: sizes inside the gap, in launches of their own, nothing twice."""

from __future__ import annotations

from dataclasses import replace

from hpcscope.catalog.catalog import Catalog
from hpcscope.plan import plan as planning
from hpcscope.plan.experiment import resolve
from hpcscope.plan.place import Place
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import FIRST_VISIT, LATER_VISIT, Plan
from hpcscope.plan.refine import Gap, refined

GAP = Gap("mpi.latency", (("mode", "standard"),), 2, "default", Placement("core"), 1024, 16384)


def base(benchmarks: Catalog) -> Plan:
    return planning.make(
        resolve(None, {"seed": 7, "launches": 2, "only": ["mpi.latency"]}), benchmarks, Place((2,)), "here"
    )


def test_further_launches_hold_the_sizes_inside_the_gap(benchmarks: Catalog) -> None:
    plan = base(benchmarks)
    more = refined(plan, [GAP], launches=2)
    assert more.launches[: len(plan.launches)] == plan.launches
    further = more.launches[len(plan.launches) :]
    assert [launch.number for launch in further] == [len(plan.launches) + 1, len(plan.launches) + 2]
    assert {launch.batch for launch in further} == {GAP.batch}
    for launch in further:
        assert sorted(case.parameters["message_bytes"] for case in launch.cases) == [2048, 4096, 8192]
    for launch, usual in zip(further, (FIRST_VISIT, LATER_VISIT), strict=True):
        assert all(usual.items() <= case.sampling.items() for case in launch.cases)
    assert refined(plan, [GAP], launches=2) == more


def test_what_was_measured_is_not_planned_again(benchmarks: Catalog) -> None:
    more = refined(base(benchmarks), [GAP], launches=1)
    assert refined(more, [GAP], launches=1) == more


def test_a_narrow_gap_and_no_gap_leave_the_plan_alone(benchmarks: Catalog) -> None:
    plan = base(benchmarks)
    assert refined(plan, [], launches=2) == plan
    assert refined(plan, [replace(GAP, last_before=12000)], launches=2) == plan
    assert refined(plan, [replace(GAP, last_before=0, first_after=1)], launches=2) == plan
