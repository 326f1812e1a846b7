"""A profile held against a measured run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.machine.machine import Machine, MpiInstallation
from hpcscope.programs.profiles.machine_comparison import (
    Curve,
    MachineComparison,
    compare_with_machine,
    measured_run,
    newest,
)
from hpcscope.programs.profiles.merged import merge
from hpcscope.programs.profiles.records import Merged
from hpcscope.programs.profiles.routine_sums import of_epochs
from tests import golden_run as golden
from tests.declared import catalog
from tests.profiles import synthetic


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Merged:
    processes = synthetic.processes(4)
    for one in processes:
        one.call("MPI_Bcast", 1.0, 1000, 65536).call("MPI_Barrier", 0.5 + one.rank, 1000, 0)
        one.call("MPI_Recv", 2.0, 1000, 1024).call("MPI_Isend", 0.5, 1000, 1024).call("MPI_Waitall", 0.2, 100, 0)
        one.add("waits", operation=synthetic.number("MPI_Irecv"), communicator_size=4, size_class=13)
        one.rows["waits"][0] |= {"requests": 100, "ticks": 2 * 10**8, "bytes": 409600}
    return merge(synthetic.write(tmp_path_factory.mktemp("program"), processes))


@pytest.fixture(scope="module")
def compared(program: Merged, golden_run: Path) -> MachineComparison:
    return compare_with_machine(program, measured_run(golden_run))


def test_a_collective_beside_the_same_on_the_machine(compared: MachineComparison) -> None:
    one = next(each for each in compared.routines if each.routine == "MPI_Bcast")
    # What golden_run says of the broadcast: the barrier's time and n / 8 GB/s for each of log2 p steps.
    expected_s = golden.BARRIER[0] + 4 * golden.BARRIER[1] + 2 * golden.BARRIER[2]
    expected_s += 65536 * golden.BROADCAST_PER_BYTE * 2
    assert (one.benchmark, one.ranks) == ("mpi.broadcast", 4)
    assert one.machine_s == pytest.approx(expected_s, rel=0.05)
    assert one.mean_s == pytest.approx(1e-3)
    assert one.share == pytest.approx(expected_s / 1e-3, rel=0.05)
    assert one.avoidable_s == pytest.approx(4 * (1 - 1000 * expected_s), rel=0.01)
    assert one.waiting_s is None


def test_waiting_is_told_apart_where_sums_can_tell(compared: MachineComparison) -> None:
    one = next(each for each in compared.routines if each.routine == "MPI_Barrier")
    assert one.waiting_s == pytest.approx(1 + 2 + 3)
    assert one.waiting_most_s is not None
    assert one.waiting_s <= one.waiting_most_s <= one.avoidable_s


def test_messages_are_held_against_the_ping_pong(compared: MachineComparison) -> None:
    one = next(each for each in compared.routines if each.routine == "MPI_Recv")
    assert (one.benchmark, one.ranks, one.definition) == ("mpi.latency", 2, "half_round_trip")
    assert one.machine_s == pytest.approx(golden.LATENCY[0] + 1024 * golden.LATENCY[1], rel=0.05)


def test_waits_are_held_against_the_ping_pong(compared: MachineComparison) -> None:
    one = next(each for each in compared.routines if each.routine == "waits for MPI_Irecv")
    assert (one.calls, one.message_bytes, one.benchmark) == (400, 4096, "mpi.latency")
    assert one.machine_s == pytest.approx(golden.LATENCY[0] + 4096 * golden.LATENCY[1], rel=0.05)
    assert one.avoidable_s == pytest.approx(0.8 - 400 * one.machine_s, rel=1e-3)


def test_the_root_s_bytes_of_a_scatter_are_everybody_s_blocks(golden_run: Path, tmp_path: Path) -> None:
    """Half of the calls are ten times as large: what counts is the mean block."""
    processes = synthetic.processes(4)
    for one in processes:
        for block in (1000, 10000):
            one.call("MPI_Scatter", 1.0, 100, 0 if one.rank else 4 * block)
    run = Path(shutil.copytree(golden_run, tmp_path / "run"))
    (run / "checksums.sha256").unlink()
    for name in ("statistics.json", "benchmarks.json"):
        text = (run / name).read_text()
        assert '"mpi.broadcast"' in text
        swapped = text.replace('"mpi.scatter"', '"mpi.other"').replace("MPI_Scatter", "MPI_Other")
        swapped = swapped.replace('"mpi.broadcast"', '"mpi.scatter"').replace('"MPI_Bcast"', '"MPI_Scatter"')
        (run / name).write_text(swapped)
    (one,) = compare_with_machine(
        merge(synthetic.write(tmp_path / "program", processes)), measured_run(run)
    ).routines
    assert (one.routine, one.calls, one.message_bytes) == ("MPI_Scatter", 800, 5500)


def test_what_has_no_counterpart_is_named_with_its_time(compared: MachineComparison) -> None:
    assert compared.without_benchmark == {"MPI_Isend": pytest.approx(2.0)}


def test_a_folder_without_a_run_is_refused(program: Merged, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run\.json"):
        measured_run(tmp_path)


def found(folder: Path, hosts: list[str], mpi: MpiInstallation | None = None) -> Path | None:
    run = newest([folder], hosts, mpi)
    return run.path if run is not None else None


def test_the_newest_run_of_the_same_hosts_is_found(golden_run: Path, tmp_path: Path) -> None:
    assert newest([tmp_path, tmp_path / "absent"], ["node1"]) is None
    shutil.copytree(golden_run, tmp_path / "a")
    host = (golden_run / "machine.json").read_text()
    assert '"node1"' in host
    assert found(tmp_path, ["node1"]) == tmp_path / "a"
    assert found(tmp_path, ["elsewhere"]) is None
    used = Machine.model_validate_json(host).build
    assert used is not None
    assert found(tmp_path, ["node1"], used.mpi) == tmp_path / "a"
    assert found(tmp_path, ["node1"], used.mpi.model_copy(update={"version": "0"})) is None
    later = Path(shutil.copytree(golden_run, tmp_path / "b"))
    record = (later / "run.json").read_text()
    (later / "run.json").write_text(record.replace(f'"started_unix_s": {golden.STARTED}', '"started_unix_s": 9e9'))
    assert found(tmp_path, ["node1"]) == tmp_path / "b"
    # A newer one that failed before it measured any routine.
    failed = Path(shutil.copytree(later, tmp_path / "c"))
    (failed / "run.json").write_text((failed / "run.json").read_text().replace("9e9", "9.5e9"))
    nothing = json.loads((failed / "statistics.json").read_text()) | {"summaries": []}
    (failed / "statistics.json").write_text(json.dumps(nothing))
    assert found(tmp_path, ["node1"]) == tmp_path / "b"


BOUND = catalog().bound_to("MPI_Bcast")[0]
CURVE = Curve(BOUND, "mean_rank", 4, (0.0, 100.0, 1000.0, 10000.0), (1e-6, 2e-6, 8e-6, 9e-6))


@pytest.mark.parametrize(
    ("size", "time_s"),
    [(0, 1e-6), (50, 1.5e-6), (100, 2e-6), (316.227766, 4e-6), (1000, 8e-6), (10000, 9e-6), (20000, 18e-6)],
)
def test_between_measured_sizes_time_is_interpolated(size: float, time_s: float) -> None:
    assert CURVE.at(size)[0] == pytest.approx(time_s, rel=1e-3)


def test_beyond_measured_sizes_it_says_so() -> None:
    assert "10000 B" in CURVE.at(20000)[1], "up to which it was measured"
    assert CURVE.at(5000)[1] == ""


def test_a_better_size() -> None:
    # Ten messages of 100 B take longer than one of 1000 B; a steep step is worth dividing, or filling up.
    assert CURVE.better(1000) is None
    steep = Curve(BOUND, "mean_rank", 4, (500.0, 1000.0, 2000.0), (1e-6, 8e-6, 3e-6))
    assert steep.better(1000) == (500, pytest.approx(2e-6))
    filled = Curve(BOUND, "mean_rank", 4, (500.0, 1000.0, 2000.0), (5e-6, 8e-6, 3e-6))
    assert filled.better(1000) == (2000, pytest.approx(3e-6))


def one_sided(processes: int, *calls: tuple[str, float, int, int]) -> list[synthetic.Process]:
    made = synthetic.processes(processes)
    for one in made:
        for routine, time_s, number, size in calls:
            one.call(routine, time_s, number, size)
    return made


def test_one_sided_calls_and_their_synchronization_are_one(tmp_path: Path) -> None:
    """Three puts and one get in each of 100 epochs: the fences belong to them as three to one."""
    processes = one_sided(
        4, ("MPI_Put", 0.3, 300, 8000), ("MPI_Get", 0.1, 100, 400), ("MPI_Win_fence", 0.8, 100, 0)
    )
    merged = merge(synthetic.write(tmp_path / "program", processes))
    found, part = of_epochs(merged.calls, catalog().routine_bindings)
    get, put = found
    assert (get.shown, put.shown) == ("MPI_Get with MPI_Win_fence", "MPI_Put with MPI_Win_fence")
    assert (put.calls, put.bytes, put.time_s) == (300, 4 * 300 * 8000, pytest.approx(4 * (0.3 + 0.75 * 0.8)))
    assert (get.calls, get.bytes, get.time_s) == (100, 4 * 100 * 400, pytest.approx(4 * (0.1 + 0.25 * 0.8)))
    assert part == {("MPI_Put", 4), ("MPI_Get", 4), ("MPI_Win_fence", 4)}


def test_windows_synchronized_in_two_ways_are_left_out(tmp_path: Path) -> None:
    processes = one_sided(
        4, ("MPI_Put", 0.3, 300, 8), ("MPI_Win_fence", 0.8, 100, 0), ("MPI_Win_unlock", 0.1, 50, 0)
    )
    merged = merge(synthetic.write(tmp_path / "program", processes))
    assert of_epochs(merged.calls, catalog().routine_bindings) == ([], set())


@pytest.fixture(scope="module")
def other_run(golden_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden run with its broadcast as if it were puts with fences, and writes of 4 KiB in files of 64 KiB."""
    run = Path(shutil.copytree(golden_run, tmp_path_factory.mktemp("other") / "run"))
    (run / "checksums.sha256").unlink()
    summaries = json.loads((run / "statistics.json").read_text())
    (template,) = (
        one
        for one in summaries["summaries"]
        if (one["benchmark"], one["ranks"], one["parameters"].get("message_bytes"), one["definition"])
        == ("mpi.broadcast", 4, 1024, "max_rank")
        and one["metric"] == "time_s"
    )
    of_files = {
        "benchmark": "storage.write",
        "parameters": catalog().defaults("storage.write")
        | {"interface": "mpiio", "access": "collective", "file_bytes": 65536, "transfer_bytes": 4096},
        "ranks": 2,
        "median": 3e-3,
        "work": {"bytes": 65536.0, "flops": 0.0, "messages": 0.0, "steps": 0.0},
    }
    puts = {
        "benchmark": "mpi.one_sided",
        "parameters": {"operation": "put", "epoch": "fence", "message_bytes": 4096},
        "definition": "local",
        "ranks": 2,
        "median": 5e-6,
    }
    summaries["summaries"] += [template | of_files, template | puts]
    (run / "statistics.json").write_text(json.dumps(summaries))
    (run / "benchmarks.json").write_text(json.dumps([one.model_dump() for one in catalog()]))
    return run


def test_an_epoch_is_held_against_one_call_of_its_bytes(other_run: Path, tmp_path: Path) -> None:
    processes = one_sided(4, ("MPI_Put", 0.3, 200, 2048), ("MPI_Win_fence", 0.7, 100, 0))
    program = merge(synthetic.write(tmp_path / "program", processes))
    (one,) = compare_with_machine(program, measured_run(other_run)).routines
    assert (one.routine, one.call, one.calls) == ("MPI_Put with MPI_Win_fence", "MPI_Put", 400)
    assert (one.message_bytes, one.machine_s, one.mean_s) == (4096, 5e-6, pytest.approx(10e-3))
    assert one.avoidable_s == pytest.approx(4.0 - 400 * 5e-6)


def test_calls_of_files_are_held_against_one_of_the_case_s_many(other_run: Path, tmp_path: Path) -> None:
    """64 KiB by two ranks in calls of 4 KiB are eight calls of each in 3 ms."""
    for processes in (1, 2):
        made = one_sided(processes, ("MPI_File_write_at_all", 0.1, 100, 4096))
        folder = synthetic.write(tmp_path / f"program{processes}", made)
        (one,) = compare_with_machine(merge(folder), measured_run(other_run)).routines
        assert (one.routine, one.machine_s) == ("MPI_File_write_at_all", pytest.approx(3e-3 / 8))
        assert one.share == pytest.approx(3e-3 / 8 / 1e-3)
