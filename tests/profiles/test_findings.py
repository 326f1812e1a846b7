"""Findings about programs: each with the fault put in, and none where all is well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.profile import ProfileFacts, find_all
from hpcscope.programs.profiles.machine_comparison import MachineComparison, RoutineComparison
from hpcscope.programs.profiles.merged import merge
from tests.findings.evidence import evident
from tests.profiles import synthetic
from tests.profiles.synthetic import Process

Find = Callable[..., dict[str, Finding]]


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """Return the findings about processes, by code."""

    def found(processes: list[Process], machine: MachineComparison | None = None) -> dict[str, Finding]:
        merged = merge(synthetic.write(tmp_path, processes))
        return {one.code: one for one in find_all(ProfileFacts(merged, machine))}

    return found


def healthy(ranks: int = 4) -> list[Process]:
    """A program that computes, sends long messages and waits for nobody."""
    processes = synthetic.processes(ranks)
    for one in processes:
        one.call("MPI_Allreduce", 0.5 + 0.01 * one.rank, 100, 8192)
        one.call("MPI_Recv", 1.0, 200, 1 << 20).call("MPI_Send", 0.4, 200, 1 << 20)
        one.facts |= {"system_s": 0.2, "minor_faults": 5000, "voluntary_switches": 50}
    return processes


def compared(**said: object) -> MachineComparison:
    one: dict[str, object] = {
        **{"routine": "MPI_Allreduce", "communicator_size": 4, "message_bytes": 8192.0, "calls": 400},
        **{
            "processes": 4,
            "time_s": 8.0,
            "mean_s": 0.02,
            "benchmark": "mpi.allreduce",
            "definition": "mean_rank",
            "pairwise": False,
        },
        **{
            "ranks": 4,
            "machine_s": 0.018,
            "share": 0.9,
            "avoidable_s": 0.8,
            "waiting_s": 0.0,
            "waiting_most_s": 0.5,
            "note": "",
        },
        **{"better_bytes": None, "better_s": None},
        **said,
    }
    return MachineComparison(
        format=2,
        run="runs/a",
        machine="node1",
        library="",
        routines=[RoutineComparison.model_validate(one)],
        without_benchmark={},
    )


def test_a_healthy_program_is_left_alone(find: Find) -> None:
    assert find(healthy(), compared()) == {}


def test_small_receives(find: Find) -> None:
    processes = healthy()
    for one in processes:
        one.call("MPI_Recv", 3.0, 10_000, 2000)
    found = find(processes)["small-receives"]
    evident(found, (40_000, ""), (2000, "B"), (3e-4, "s"))
    assert found.lost == pytest.approx(0.3)


def test_small_receives_that_are_waited_for(find: Find) -> None:
    processes = healthy()
    for one in processes:
        one.call("MPI_Irecv", 0.01, 10_000, 2000).call("MPI_Waitall", 3.0, 1000, 0)
        one.add("waits", operation=synthetic.number("MPI_Irecv"), size_class=11, requests=10_000, ticks=3 * 10**9)
        one.rows["waits"][-1] |= {"bytes": 10_000 * 2000}
    evident(find(processes)["small-receives"], (40_000, ""), (2000, "B"))


def test_very_many_receives_beside_much_other_communication(find: Find) -> None:
    processes = healthy()
    for one in processes:
        one.call("MPI_Mrecv", 1.0, 100_000, 8).call("MPI_Mprobe", 0.7, 100_000, 0)
        one.call("MPI_Alltoall", 5.0, 10, 1 << 20)
    found = find(processes)["small-receives"]
    evident(found, (400_000, ""), (8, "B"))
    assert found.lost == pytest.approx(0.17)


def test_receives_that_wait_for_late_senders_are_no_matter_of_message_size(find: Find) -> None:
    processes = healthy()
    for one in processes:
        one.call("MPI_Recv", 3.0, 1000, 2000)
    assert "small-receives" not in find(processes)


def test_few_small_receives_are_nothing(find: Find) -> None:
    processes = healthy()
    for one in processes:
        one.call("MPI_Recv", 3.0, 10, 2000)
    assert "small-receives" not in find(processes)


def uneven(late: int = 2) -> list[Process]:
    processes = healthy()
    for one in processes:
        one.call("MPI_Barrier", 0.1 if one.rank == late else 4.0, 50, 0)
    return processes


def test_waiting_and_the_process_that_all_wait_for(find: Find) -> None:
    found = find(uneven())
    assert found["waiting-not-transferring"].where["routine"] == "MPI_Barrier"
    assert found["waiting-not-transferring"].lost == pytest.approx(11.76 / 40)
    late = found["late-process"]
    assert (late.where["rank"], late.where["host"]) == (2, "node1")
    evident(late, (10 - 1.92 - 0.1, "s"), (10 - 1.9 - 0.04 / 3 - 4.0, "s"))
    assert "less work" in late.advice


def test_the_process_that_waits_least_is_named_and_of_two_only_one_that_waits_much_less(find: Find) -> None:
    place = find(uneven())["waiting-not-transferring"].where
    assert (place["rank"], place["host"]) == (2, "node1")
    two = synthetic.processes(2)
    for one in two:
        one.call("MPI_Barrier", 0.5 + 3.0 * one.rank, 50, 0)
    assert find(two)["late-process"].where["rank"] == 0
    alike = synthetic.processes(2)
    for one in alike:
        one.call("MPI_Barrier", 3.0 + 1.0 * one.rank, 50, 0)
    assert "late-process" not in find(alike)


def test_a_late_process_that_gets_no_processor(find: Find) -> None:
    processes = uneven()
    processes[2].user_s = 5.0
    late = find(processes)["late-process"]
    evident(late, (5.2, "s"), (10.2, "s"))
    assert "binding" in late.advice


def test_a_late_process_that_computes_no_longer_is_not_told_to(find: Find) -> None:
    processes = uneven()
    processes[2].call("MPI_Recv", 4.2, 10, 2000)
    assert "--trace" in find(processes)["late-process"].advice


def test_two_late_processes_are_waiting_but_not_one(find: Find) -> None:
    processes = healthy()
    for one in processes:
        one.call("MPI_Barrier", 0.1 if one.rank in (1, 2) else 4.0, 50, 0)
    found = find(processes)
    assert "waiting-not-transferring" in found
    assert "late-process" not in found


def test_imbalance(find: Find) -> None:
    processes = healthy()
    for one in processes[1:]:
        one.call("MPI_Sendrecv", 2.0, 10, 1 << 20)
    found = find(processes)["load-imbalance"]
    assert (found.where["rank"], found.where["host"]) == (0, "node1")
    evident(found, (8.1, "s"), ((8.1 + 6.09 + 6.08 + 6.07) / 4, "s"))


@pytest.mark.parametrize(("faults", "advice"), [(2_000_000, "page faults"), (1000, "Sockets")])
def test_kernel_time_and_what_may_take_it(find: Find, faults: int, advice: str) -> None:
    processes = healthy()
    for one in processes:
        one.facts |= {"user_s": 6.0, "system_s": 4.0, "minor_faults": faults}
    found = find(processes)["kernel-time"]
    evident(found, (16, "s"), (24, "s"), (4 * faults, ""))
    assert found.lost == pytest.approx(0.4)
    assert advice in found.advice


@pytest.mark.parametrize(
    ("voluntary", "involuntary", "advice"),
    [(9000, 5, "slept"), (100, 50_000, "preempted")],
)
def test_wall_clock_above_processor_time(find: Find, voluntary: int, involuntary: int, advice: str) -> None:
    processes = healthy()
    for one in processes:
        one.user_s = 6.6
        one.facts |= {"voluntary_switches": voluntary, "involuntary_switches": involuntary}
    found = find(processes)["off-cpu-time"]
    evident(found, (40, "s"), (27.2, "s"), (4 * voluntary, ""), (4 * involuntary, ""))
    assert found.lost == pytest.approx(0.32)
    assert advice in found.advice


def test_a_collective_below_the_machine(find: Find) -> None:
    slow = compared(machine_s=0.0082, share=0.41, avoidable_s=4.72, waiting_s=1.0, waiting_most_s=1.5)
    found = find(healthy(), slow)["below-the-machine"]
    where = {"routine": "MPI_Allreduce", "communicator_size": 4, "message_bytes": 8192, "layer": "collectives"}
    assert found.where == where
    evident(found, (0.0082, "s"), (0.02, "s"), (400, ""), (4.72, "s"), (1.0, "s"), (1.5, "s"))
    assert found.lost == pytest.approx(3.72 / 40)


def test_what_only_waits_is_not_below_the_machine(find: Find) -> None:
    waiting = compared(machine_s=0.0082, share=0.41, avoidable_s=4.72, waiting_s=4.7, waiting_most_s=4.7)
    assert "below-the-machine" not in find(healthy(), waiting)


def test_a_size_that_the_machine_does_badly(find: Find) -> None:
    found = find(healthy(), compared(better_bytes=16384, better_s=0.012))["inefficient-message-size"]
    assert (found.where["message_bytes"], found.where["better_bytes"]) == (8192, 16384)
    evident(found, (0.012, "s"), (0.018, "s"), (400 * 0.006, "s"))


@pytest.mark.parametrize(
    ("state", "facts", "said"),
    [
        (0, {"in_routine": synthetic.number("MPI_Recv")}, {"state": "running", "routine": "MPI_Recv"}),
        (2, {"abort_code": 17}, {"state": "aborted"}),
        (3, {}, {"state": "exited"}),
    ],
)
def test_processes_that_did_not_finish(
    find: Find, state: int, facts: dict[str, int], said: dict[str, str]
) -> None:
    processes = healthy()
    processes[3].state = state
    processes[3].facts |= facts
    found = find(processes)["unfinished-process"]
    assert found.where == {"ranks": "3", "hosts": "node1", "layer": "process", **said}
    assert found.severity == "error"
    if "abort_code" in facts:
        evident(found, (facts["abort_code"], ""))


def test_what_is_missing_is_told(find: Find) -> None:
    processes = healthy()
    processes[0].facts |= {"lost_calls": 3}
    processes[0].header["other_tool"] = "/opt/tool/libother.so"
    found = find(processes[:3])
    assert found["incomplete-profile"].severity == "information"
    assert found["other-tool"].where["library"] == "/opt/tool/libother.so"


def test_late_senders_in_a_trace(find: Find) -> None:
    processes = healthy(2)
    processes[0].event("MPI_Send", 1.0, 1.1, partner=1, direction=1, bytes=8)
    processes[1].event("MPI_Recv", 0.2, 1.1, partner=0, direction=2, bytes=8)
    late = find(processes)["late-sender"]
    assert late.where["rank"] == 0
    evident(late, (0.8, "s"), (1, ""))


def test_late_receivers_in_a_trace(find: Find) -> None:
    processes = healthy(2)
    processes[0].event("MPI_Ssend", 0.2, 1.1, partner=1, direction=1, bytes=8)
    processes[1].event("MPI_Recv", 1.0, 1.1, partner=0, direction=2, bytes=8)
    late = find(processes)["late-receiver"]
    assert late.where["rank"] == 1
    evident(late, (0.8, "s"), (1, ""))


def test_a_trace_without_waiting(find: Find) -> None:
    processes = healthy(2)
    processes[0].event("MPI_Send", 0.2, 0.21, partner=1, direction=1, bytes=8)
    processes[1].event("MPI_Recv", 0.205, 1.1, partner=0, direction=2, bytes=8)
    assert not {"late-sender", "late-receiver"} & set(find(processes))


def writing(size: int = 1 << 20, layer: str = "posix", **columns: int) -> list[Process]:
    """A program that writes for 30 % of its time."""
    processes = healthy()
    for one in processes:
        one.file("/scratch/out", layer, 1000, size, 3.0, **columns)
    return processes


def test_large_transfers_in_order_are_left_alone(find: Find) -> None:
    assert find(writing()) == {}
    assert find(writing(layer="mpi-io", collective=1000)) == {}


def test_small_transfers(find: Find) -> None:
    found = find(writing(100))["many-small-transfers"]
    evident(found, (4000, ""), (12, "s"), (4000 * 100 / 12, "B/s"))
    assert found.where["file"] == "/scratch/out"
    assert found.lost == pytest.approx(0.3)
    assert "many-small-transfers" in find(writing(100, "mpi-io"))


def test_small_transfers_that_a_library_gathers_are_left_alone(find: Find) -> None:
    assert find(writing(100, "mpi-io", collective=1000)) == {}
    assert find(writing(100, "stream")) == {}
    assert find(writing(100, "inside mpi-io")) == {}


def test_independent_transfers_through_views_with_gaps(find: Find) -> None:
    found = find(writing(layer="mpi-io", file_gaps=1000))["files-with-gaps"]
    evident(found, (4000, ""), (12, "s"), (4000 << 20, "B"))
    assert found.lost == pytest.approx(0.3)
    assert "MPI_File_write_all" in found.advice
    assert find(writing(layer="mpi-io", file_gaps=1000, collective=1000)) == {}
    assert find(writing(layer="mpi-io", memory_gaps=1000)) == {}


def test_a_metadata_storm(find: Find) -> None:
    found = find(writing(opens=500, open_ticks=2 * 10**9))["many-opens"]
    evident(found, (8, "s"), (8 / 2000, "s"), (2000, ""))
    assert found.lost == pytest.approx(0.2)
    processes = healthy()
    for one in processes:
        for number in range(60):
            one.file(f"/scratch/{number}", writes=1, seconds=0.001, open_ticks=10**8)
    many = find(processes)["many-opens"]
    evident(many, (24.0, "s"), (4, ""))
    assert many.advice != found.advice, "one file that is opened often is not many files"


def test_few_opens_that_take_long_are_slow_and_no_storm(find: Find) -> None:
    found = find(writing(opens=20, open_ticks=2 * 10**9))
    assert "many-opens" not in found
    evident(found["slow-opens"], (8, "s"), (8 / 80, "s"))
    assert "keep" in found["slow-opens"].advice.lower()
    assert not {"many-opens", "slow-opens"} & find(writing(opens=20, open_ticks=10**8)).keys()


def test_one_process_that_writes_for_all(find: Find) -> None:
    processes = healthy()
    processes[2].file("/scratch/out", writes=1000, seconds=4.0)
    processes[0].file("/scratch/log", writes=1, seconds=0.001)
    found = find(processes)["one-rank-files"]
    assert (found.where["rank"], found.where["host"]) == (2, "node1")
    evident(found, (4.0, "s"), (1000 * (1 << 20) / 4, "B/s"))
    assert found.lost == pytest.approx(0.3)


def test_unaligned_transfers(find: Find) -> None:
    found = find(writing(unaligned=900))["unaligned-files"]
    evident(found, (4096, "B"), (1 << 20, "B"), (12, "s"), (4, ""))
    assert found.lost == pytest.approx(0.9 * 0.3)
    assert "unaligned-files" in find(writing(layer="inside mpi-io", unaligned=900))
    assert "unaligned-files" not in find(writing(unaligned=100))
    assert "unaligned-files" not in find(writing(1000, unaligned=900)), "small ones have a finding of their own"
