"""Plans: complete, repeatable, divided by what one launch can run, and the same after a trip through the file."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from hpcscope.catalog.benchmark import Benchmark, Sweep
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.ranks import Ranks
from hpcscope.errors import UsageError
from hpcscope.plan import plan as planning
from hpcscope.plan.case import Key
from hpcscope.plan.experiment import resolve
from hpcscope.plan.place import Place
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import FIRST_VISIT, LATER_VISIT, Plan
from hpcscope.settings.experiment import Experiment
from tests.messages import numbers
from tests.plan.conftest import describe


def make(benchmarks: Catalog, slots: int = 2, **options: object) -> Plan:
    return planning.make(resolve(None, {"seed": 7, **options}), benchmarks, Place((slots,)), "the experiment")


def case(**keys: object) -> list[dict[str, object]]:
    return [{"benchmark": "mpi.latency", **keys}]


def test_the_baseline_is_every_baseline_sweep_in_every_launch(benchmarks: Catalog) -> None:
    plan = make(benchmarks, slots=4, launches=3)
    assert Counter(launch.batch for launch in plan.launches) == {
        (1, "default", Placement("core")): 3,
        (2, "default", Placement("core")): 3,
        (2, "tcp", Placement("core")): 3,
        (4, "default", Placement("core")): 3,
    }
    cases = {
        launch.batch: sorted({f"{case.benchmark} {case.settings}".strip() for case in launch.cases})
        for launch in plan.launches
    }
    assert cases[2, "default", Placement("core")] == [
        "mpi.barrier",
        "mpi.latency message_bytes=0 mode=standard",
        "mpi.latency message_bytes=1024 mode=standard",
        "mpi.latency message_bytes=1048576 mode=standard",
    ]
    assert cases[4, "default", Placement("core")] == ["algorithm.cannon", "mpi.barrier"]
    assert [launch.number for launch in plan.launches] == list(range(1, 13))


def test_the_baseline_is_the_same_whatever_the_slots(benchmarks: Catalog) -> None:
    def lines(slots: int) -> set[str]:
        launches = make(benchmarks, slots=slots).launches
        return {
            f"{launch.ranks} {launch.transport} {each.settings}" for launch in launches for each in launch.cases
        }

    assert lines(4) == lines(5) == lines(64)
    # Too few slots leave cases out; nothing takes their place.
    assert lines(2) == {line for line in lines(4) if not line.startswith("4 ")}
    left_out = [each for each in make(benchmarks, slots=2).skipped if each.resource]
    assert [(each.benchmark, each.resource, numbers(each.reason)) for each in left_out] == [
        ("algorithm.cannon", "slots", [4, 2]),
        ("mpi.barrier", "slots", [4, 2]),
    ]
    assert f"# left out: {left_out[0].reason}: 2\n" in planning.write(make(benchmarks, slots=2))


def test_the_fewest_ranks_of_a_benchmark_run_on_a_single_processor(benchmarks: Catalog) -> None:
    plan = make(benchmarks, slots=1)
    batches = {(launch.ranks, str(launch.placement)) for launch in plan.launches}
    assert batches == {(1, "core"), (2, "none")}
    assert {tuple(numbers(each.reason)) for each in plan.skipped if each.resource} == {(4, 1)}


def test_each_round_holds_each_batch_once(benchmarks: Catalog) -> None:
    batches = [launch.batch for launch in make(benchmarks, slots=4, launches=5).launches]
    rounds = [batches[start : start + 4] for start in range(0, len(batches), 4)]
    assert all(sorted(each) == sorted(rounds[0]) for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1


def test_the_order_is_shuffled_by_the_seed_alone(benchmarks: Catalog) -> None:
    assert make(benchmarks) == make(benchmarks)
    assert planning.write(make(benchmarks)) != planning.write(make(benchmarks, seed=8))
    orders = {str(launch.cases) for launch in make(benchmarks).launches if launch.ranks == 2}
    assert len(orders) > 1


def test_a_drawn_seed_is_kept(benchmarks: Catalog) -> None:
    plan = make(benchmarks, seed=None)
    assert make(benchmarks, seed=plan.seed) == plan


def test_what_cannot_run_is_skipped_with_the_reason(benchmarks: Catalog) -> None:
    plan = make(benchmarks, module="standard")
    assert {(skip.benchmark, skip.case): numbers(skip.reason) for skip in plan.skipped} == {
        ("algorithm.cannon", "ranks=4 transport=default"): [4, 2],
        ("mpi.gone", "ranks=2 transport=default"): [],
        ("mpi.barrier", "ranks=4 transport=default"): [4, 2],
        ("mpi.barrier", "ranks=16 transport=default"): [16, 2],
    }
    assert "needs a library" in {skip.reason for skip in plan.skipped}, "the program's own words"


def test_more_ranks_than_slots_are_refused_when_a_person_asks(benchmarks: Catalog) -> None:
    asked = [{"benchmark": "mpi.barrier", "ranks": 8}]
    with pytest.raises(UsageError, match=r"case\[0\]: ranks = 8: .*\b2\b.*--oversubscribe"):
        make(benchmarks, case=asked)
    plan = make(benchmarks, case=asked, **{"launcher.oversubscribe": True})
    assert {launch.batch for launch in plan.launches} == {(8, "default", Placement("none"))}


def test_transports_of_the_command_line_are_those_of_the_cases_that_name_none(benchmarks: Catalog) -> None:
    stream = describe("node.stream", [Sweep(module="baseline", cases="ranks=1")], [], ranks=Ranks())
    benchmarks = Catalog([*benchmarks, stream])
    chosen = ["active-messages", "active-messages.no-flow-control"]
    cases = [
        {"benchmark": "mpi.latency", "ranks": 2, "message_bytes": 8},
        {"benchmark": "mpi.latency", "ranks": 2, "message_bytes": 8, "transport": "tcp"},
    ]
    asked = {
        (launch.transport, case.benchmark)
        for launch in make(benchmarks, transport=chosen, case=cases, launches=1).launches
        for case in launch.cases
    }
    assert asked == {(each, "mpi.latency") for each in (*chosen, "tcp")}
    nodes = make(benchmarks, transport=chosen, only=["node.stream"], launches=1).launches
    assert {launch.transport for launch in nodes} == {"default"}, "no message of MPI is measured"
    swept = make(benchmarks, transport=chosen, only=["mpi.barrier"], launches=1).launches
    assert {launch.transport for launch in swept} == set(chosen)
    with pytest.raises(UsageError, match=r"transport = carrier-pigeon: .*\btcp\b"):
        make(benchmarks, transport=["carrier-pigeon"], only=["mpi.barrier"])


def test_cases_replace_the_sweeps(benchmarks: Catalog) -> None:
    plan = make(benchmarks, launches=1, case=case(message_bytes=["2Ki"], mode=["ready", "standard"]))
    assert sorted(each.settings for each in plan.launches[0].cases) == [
        "message_bytes=2048 mode=ready",
        "message_bytes=2048 mode=standard",
    ]


def test_the_same_case_asked_twice_runs_once(benchmarks: Catalog) -> None:
    plan = make(benchmarks, launches=1, case=case(message_bytes=[1024, "1Ki"]) + case())
    assert len(plan.launches) == 1
    assert len(plan.launches[0].cases) == 1


def test_only_chooses_by_pattern(benchmarks: Catalog) -> None:
    for pattern, names in (
        ("mpi.b*", {"mpi.barrier"}),
        ("mpi", {"mpi.barrier", "mpi.latency"}),
        ("mpi.latency", {"mpi.latency"}),
    ):
        plan = make(benchmarks, only=[pattern])
        assert {case.benchmark for launch in plan.launches for case in launch.cases} == names
    plan = make(benchmarks, only=["mpi.barrier"], case=[*case(), {"benchmark": "mpi.barrier"}])
    assert {case.benchmark for launch in plan.launches for case in launch.cases} == {"mpi.barrier"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"case": [{"benchmark": "mpi.latncy"}]}, ["benchmark = mpi.latncy", "mpi.latency?"]),
        ({"only": ["mpi.barier"]}, ["only = mpi.barier", "mpi.barrier?"]),
        ({"only": ["mpi.gone"]}, ["needs a library"]),
    ],
)
def test_a_wrong_benchmark_is_named(benchmarks: Catalog, options: dict[str, object], words: list[str]) -> None:
    with pytest.raises(UsageError) as refusal:
        make(benchmarks, **options)
    for word in words:
        assert word in str(refusal.value)


def test_a_product_that_no_run_could_finish_is_refused(benchmarks: Catalog) -> None:
    with pytest.raises(UsageError, match=r"\b1000 cases .*\b1000 launches .*\b1,000,000 launches of cases"):
        make(benchmarks, launches=1000, case=case(message_bytes="0..4000"))


def test_the_first_visit_is_long_and_later_ones_are_short(benchmarks: Catalog) -> None:
    seen: set[Key] = set()
    for launch in make(benchmarks, launches=3).launches:
        for planned in launch.cases:
            usual = LATER_VISIT if launch.key(planned) in seen else FIRST_VISIT
            assert usual.items() <= planned.sampling.items()
            seen.add(launch.key(planned))


def test_an_asked_budget_is_kept(benchmarks: Catalog) -> None:
    plan = make(benchmarks, **{"sampling.budget_s": 0.4, "sampling.precision": 0.05})
    line = plan.launches[0].cases[0].line()
    assert "sampling.precision=0.05 sampling.budget_s=0.4" in line


def test_launches_have_the_same_cases_in_different_orders(benchmarks: Catalog) -> None:
    plan = make(benchmarks, launches=3)
    launches = [launch for launch in plan.launches if launch.batch == (2, "default", Placement("core"))]
    orders = [tuple(map(launch.key, launch.cases)) for launch in launches]
    assert len({frozenset(order) for order in orders}) == 1
    assert len(set(orders)) > 1


def test_a_plan_is_read_back_as_written(benchmarks: Catalog, tmp_path: Path) -> None:
    plan = make(benchmarks, launches=2)
    (tmp_path / "plan.txt").write_text(planning.write(plan))
    read = planning.read(tmp_path / "plan.txt")
    assert (read.seed, read.module, read.launches) == (plan.seed, plan.module, plan.launches)


def test_a_plan_that_was_cut_is_noticed(benchmarks: Catalog, tmp_path: Path) -> None:
    lines = planning.write(make(benchmarks, launches=2)).splitlines(keepends=True)
    (tmp_path / "plan.txt").write_text("".join(lines[:-1]))
    with pytest.raises(UsageError, match=r"plan\.txt: .*launches=\d+ cases=\d+: .*launches="):
        planning.read(tmp_path / "plan.txt")


def test_an_attempt_keeps_the_positions(benchmarks: Catalog) -> None:
    plan = make(benchmarks)
    launch = next(each for each in plan.launches if len(each.cases) > 2)
    lines = planning.write_attempt(plan, launch, [2, 0]).splitlines()
    assert lines[0] == "# scope plan format=2 seed=7 module=baseline"
    assert lines[1].startswith(f"# launch {launch.number} ranks=2 ")
    assert [line.rpartition(" ")[2] for line in lines[2:]] == ["case.position=2", "case.position=0"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["plan.txt:1", "# scope plan"]),
        ("# scope plan format=9 seed=1 module=baseline\n", ["plan.txt:1", "format = 9: ", " 2"]),
        ("# scope plan format=2 seed=1 module=baseline\nmpi.latency a=1\n", ["plan.txt:2", "launch N ranks=R"]),
        (
            "# scope plan format=2 seed=1 module=x\nlaunch 1 ranks=2 transport=default placement=core\nx y\n",
            ["plan.txt:3", "key=value"],
        ),
    ],
)
def test_a_damaged_plan_is_refused_by_line(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "plan.txt").write_text(text)
    with pytest.raises(UsageError) as refusal:
        planning.read(tmp_path / "plan.txt")
    for word in words:
        assert word in str(refusal.value)


def test_the_default_experiment_is_the_baseline() -> None:
    assert Experiment().module == "baseline"
    assert planning.launches_of(Experiment()) == 6


def test_ranks_replace_those_of_the_sweeps(benchmarks: Catalog) -> None:
    plan = make(benchmarks, slots=4, ranks=[2, 3])
    assert {launch.ranks for launch in plan.launches} == {2, 3}
    assert "mpi.barrier" in {
        case.benchmark for launch in plan.launches if launch.ranks == 3 for case in launch.cases
    }
    # What fits neither number is left out and says why.
    assert any(each.benchmark == "algorithm.cannon" and "square" in each.reason for each in plan.skipped)
    with pytest.raises(UsageError, match=r"ranks = 3: .*\b2\b"):
        make(benchmarks, slots=2, ranks=[3])


def test_ranks_are_those_of_cases_that_name_none(benchmarks: Catalog) -> None:
    asked = [{"benchmark": "mpi.barrier"}, {"benchmark": "mpi.barrier", "ranks": [2]}]
    plan = make(benchmarks, slots=4, ranks=[3], case=asked)
    assert {launch.ranks for launch in plan.launches} == {2, 3}


def test_without_binding_no_sweep_binds(benchmarks: Catalog) -> None:
    unbound = make(benchmarks, slots=4, module="standard", **{"launcher.binding": "none"})
    assert "core" not in {str(launch.placement) for launch in unbound.launches}
    assert "none" in {str(launch.placement) for launch in unbound.launches}
    assert len(unbound.launches) == len(make(benchmarks, slots=4, module="standard").launches)
    asked = make(benchmarks, case=case(placement=["core"]), **{"launcher.binding": "none"})
    assert {str(launch.placement) for launch in asked.launches} == {"core"}, "a person's word stands"


def test_what_is_asked_for_by_name_runs_whatever_its_module(benchmarks: Catalog) -> None:
    sweeps = [{"module": "standard", "cases": "ranks=2"}]
    late = Benchmark.model_validate(
        {
            **benchmarks["mpi.latency"].model_dump(),
            "name": "mpi.ring",
            "available": True,
            "reason": "",
            "sweeps": sweeps,
        }
    )
    late = late.model_copy(update={"ranks": Ranks()})
    plan = make(Catalog([*benchmarks, late]), only=["mpi.ring"])
    assert {case.benchmark for launch in plan.launches for case in launch.cases} == {"mpi.ring"}
    assert "mpi.ring" not in planning.write(make(Catalog([*benchmarks, late])))
    # A level of which the baseline has nothing, and one of which it has something.
    of_storage = late.model_copy(update={"name": "storage.write"})
    wanted = make(Catalog([*benchmarks, of_storage]), only=["storage"])
    assert {case.benchmark for launch in wanted.launches for case in launch.cases} == {"storage.write"}
    assert "mpi.ring" not in planning.write(make(Catalog([*benchmarks, late]), only=["mpi"]))


def test_one_rank_on_each_host_needs_as_many_hosts(benchmarks: Catalog) -> None:
    asked = case(placement=["core", "node"], message_bytes=[0])
    plan = make(benchmarks, launches=1, case=asked)
    assert [str(launch.placement) for launch in plan.launches] == ["core"]
    (skipped,) = plan.skipped
    assert numbers(skipped.reason) == [2, 1], "hosts that it needs, and hosts here"
    experiment = resolve(None, {"seed": 7, "launches": 1, "case": asked})
    on_two = planning.make(experiment, benchmarks, Place((2, 2)), "here")
    assert {str(launch.placement) for launch in on_two.launches} == {"core", "node"}


def test_more_ranks_on_a_host_than_slots_are_a_wish(benchmarks: Catalog) -> None:
    place = Place((1, 1), crowded=True)
    asked = {"seed": 7, "launches": 1, "only": ["mpi.latency"], "launcher.ranks_per_host": 2}
    with pytest.raises(UsageError, match=r"^here: launcher\.ranks_per_host = 2: .*\b1\b"):
        planning.make(resolve(None, asked), benchmarks, place, "here")
    allowed = planning.make(resolve(None, {**asked, "launcher.oversubscribe": True}), benchmarks, place, "here")
    assert {(launch.ranks, launch.placement.kind) for launch in allowed.launches} == {(2, "none")}


def test_by_node_type_every_case_runs_on_each_sub_cluster_and_on_all_hosts(benchmarks: Catalog) -> None:
    place = Place((2, 4), ((0,), (1,)))
    asked = resolve(None, {"launches": 1, "by": "node-type", "only": ["mpi.*"]})
    plain = planning.make(replace(asked, by=None), benchmarks, place, "here")
    plan = planning.make(asked, benchmarks, place, "here")
    assert {launch.placement.group for launch in plain.launches} == {"all"}
    cases = {group: set() for group in ("all", "type1", "type2")}
    for launch in plan.launches:
        cases[launch.placement.group] |= {case.benchmark for case in launch.cases}
    assert cases["type1"] == cases["type2"] == cases["all"] != set()
    alike = planning.make(asked, benchmarks, Place((2, 2), ((0, 1),)), "here")
    assert {launch.placement.group for launch in alike.launches} == {"all"}


def test_a_sub_cluster_survives_the_file(benchmarks: Catalog, tmp_path: Path) -> None:
    experiment = resolve(None, {"launches": 1, "case": [{"benchmark": "mpi.barrier", "nodes": ["types"]}]})
    plan = planning.make(experiment, benchmarks, Place((2, 4), ((0,), (1,))), "here")
    assert {(str(launch.placement), launch.ranks) for launch in plan.launches} == {
        ("core:type1", 2),
        ("core:type2", 4),
    }
    (tmp_path / "plan.txt").write_text(planning.write(plan))
    assert planning.read(tmp_path / "plan.txt").launches == plan.launches
