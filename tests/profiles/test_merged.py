"""Profiles of several processes together: sums, balance, waiting, traffic, course."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from hpcscope.errors import ScopeError, UsageError
from hpcscope.programs.profiles import merged
from hpcscope.programs.profiles.records import Merged
from hpcscope.programs.profiles.routines import KINDS, kind
from hpcscope.programs.profiles.traffic import matrix
from tests.profiles import synthetic


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Merged:
    """Four processes that send around and meet in an allreduce; rank 0 comes last to it."""
    processes = synthetic.processes(4)
    for one in processes:
        one.call("MPI_Send", 0.5, 10, 1024).call("MPI_Recv", 1.0, 10, 1024)
        one.call("MPI_Allreduce", 1.0 if one.rank == 0 else 3.0, 100, 8192, least_s=0.008)
        one.partner((one.rank + 1) % 4, sent=(10, 10240))
        one.partner((one.rank - 1) % 4, received=(10, 10240), receive_s=1.0 + one.rank)
        one.add(
            "waits", operation=synthetic.number("MPI_Irecv"), site=2**32 - 1, size_class=4, requests=5, ticks=10**9
        )
        one.add("regions", number=7, entries=2, ticks=(one.rank + 1) * 10**9, mpi_ticks=10**8)
    return merged.merge(synthetic.write(tmp_path_factory.mktemp("ring"), processes))


def test_times_of_each_process_add_up(ring: Merged) -> None:
    for one in ring.processes:
        assert one.compute_s + one.mpi_s == pytest.approx(one.wall_s)
        assert sum(one.kinds_s.values()) == pytest.approx(one.mpi_s)
    assert [one.mpi_s for one in ring.processes] == pytest.approx([2.5, 4.5, 4.5, 4.5])
    assert ring.total_s == pytest.approx(40)


def test_calls_are_added_over_the_processes_longest_first(ring: Merged) -> None:
    assert [one.routine for one in ring.calls] == ["MPI_Allreduce", "MPI_Recv", "MPI_Send"]
    first = ring.calls[0]
    assert (first.calls, first.processes, first.bytes, first.size_class) == (400, 4, 400 * 8192, 14)
    assert first.time_s == pytest.approx(10)
    assert (first.least_rank, first.most_rank) == (0, 1)
    assert sum(first.times.histogram) == 400
    assert sum(one.time_s for one in ring.calls) == pytest.approx(ring.mpi_s)


def test_waiting_is_what_others_took_longer_than_the_last(ring: Merged) -> None:
    (one,) = ring.collectives
    assert one.last_rank == 0
    assert one.transfer_most_s == pytest.approx(4 * 1.0)
    assert one.waiting_least_s == pytest.approx(3 * 2.0)
    # With calls of 8 ms at least, 400 of them transfer for 3.2 s.
    assert one.waiting_most_s == pytest.approx(10 - 3.2)


def test_waiting_is_not_told_for_parts_of_communicators(tmp_path: Path) -> None:
    processes = synthetic.processes(4)
    for one in processes:
        # Two communicators of two processes: nobody can say who was with whom.
        one.call("MPI_Allreduce", 1.0 + one.rank, 100, 8, communicator=2)
        one.call("MPI_Barrier", 1.0, 10 + one.rank, 0)
        one.call("MPI_Bcast", 1.0 + one.rank, 10, 8)
    assert merged.merge(synthetic.write(tmp_path, processes)).collectives == []


def test_the_histogram_tells_outliers_from_the_rest(tmp_path: Path) -> None:
    one = synthetic.Process(ranks=1).call("MPI_Send", 1.0, 1000, 8)
    counts = np.zeros(40, int)
    counts[10], counts[29] = 995, 5
    one.rows["calls"][0] |= {"histogram": counts.tolist(), "ticks": 5_000_000_000, "min_ticks": 1024}
    one.rows["calls"][0]["max_ticks"] = 2**30 - 1
    (calls,) = merged.merge(synthetic.write(tmp_path, [one])).calls
    times = calls.times
    assert times.mean_s == pytest.approx(5e-3)
    assert 1.024e-6 <= times.median_s <= 2.048e-6
    assert times.p99_s == pytest.approx(2.048e-6)
    assert times.sanitized_mean_s < 1e-5
    assert times.coefficient_of_variation is not None
    assert times.coefficient_of_variation > 10


def test_who_sent_to_whom(ring: Merged) -> None:
    sent = matrix(ring.traffic, 4, "bytes")
    assert np.array_equal(sent, 10240 * np.roll(np.eye(4, dtype=int), 1, axis=1))
    assert ring.traffic.unreceived == 0


def test_who_waited_for_messages_of_whom(ring: Merged) -> None:
    waited = matrix(ring.traffic, 4, "receive_s")
    assert waited.sum() == pytest.approx(1 + 2 + 3 + 4)
    assert waited[2, 3] == pytest.approx(4)


def test_what_a_missing_process_sent_is_known_from_its_receiver(tmp_path: Path) -> None:
    processes = synthetic.processes(3)
    for one in processes:
        one.partner((one.rank + 1) % 3, sent=(1, 100)).partner((one.rank - 1) % 3, received=(1, 100))
    found = merged.merge(synthetic.write(tmp_path, processes[:2]))
    assert found.missing_ranks == [2]
    assert any(re.search(r"\b1 of 3\b.*\branks? 2$", one) for one in found.warnings), found.warnings
    assert np.array_equal(matrix(found.traffic, 3, "bytes"), 100 * np.roll(np.eye(3, dtype=int), 1, axis=1))


def test_a_large_matrix_is_kept_in_blocks(tmp_path: Path) -> None:
    processes = [synthetic.Process(rank=rank, ranks=600).partner(599, sent=(2, 10)) for rank in (0, 1, 599)]
    found = merged.merge(synthetic.write(tmp_path, processes)).traffic
    assert found.block == 3
    assert list(zip(found.sender, found.receiver, found.messages, strict=True)) == [(0, 199, 4), (199, 199, 2)]


def test_balance_of_the_processes(ring: Merged) -> None:
    spread = ring.spreads["compute_s"]
    assert (spread.most_rank, spread.least_rank) == (0, 1)
    assert spread.mean == pytest.approx(6)
    assert spread.imbalance == pytest.approx((7.5 - 6) / 7.5 * 4 / 3)


def test_regions_and_waits(ring: Merged) -> None:
    (region,) = ring.regions
    assert (region.number, region.processes, region.entries, region.most_rank) == (7, 4, 8, 3)
    assert region.time_s == pytest.approx(10)
    (wait,) = ring.waits
    assert (wait.operation, wait.requests) == ("MPI_Irecv", 20)
    assert wait.time_s == pytest.approx(4)


def test_the_course_of_processes_with_rows_of_unlike_length(tmp_path: Path) -> None:
    processes = synthetic.processes(2, wall_s=4.0)
    for begin in range(4):
        row = {"begin_tick": synthetic.tick(begin), "end_tick": synthetic.tick(begin + 1), "resident_bytes": 10}
        processes[0].add("timeline", **row, mpi_ticks=0 if begin < 2 else 10**9, user_s=0.5, system_s=0.25)
    row = {"begin_tick": synthetic.tick(0), "end_tick": synthetic.tick(4), "resident_bytes": 5}
    processes[1].add("timeline", **row, mpi_ticks=2 * 10**9, sent_bytes=400)
    course = merged.merge(synthetic.write(tmp_path, processes)).timeline
    assert course is not None
    steps = len(course.mpi_share)
    assert course.step_s * steps == pytest.approx(4)
    assert sum(course.sent_bytes) == pytest.approx(400)
    assert course.mpi_share[0] == pytest.approx(0.25)
    assert course.mpi_share[-1] == pytest.approx(0.75)
    assert course.processor_share[0] == pytest.approx(0.375)
    assert set(course.resident_bytes) == {15}
    assert course.mpi_share_by_rank[1] == pytest.approx([0.5] * steps)


def test_call_sites_are_one_however_programs_are_loaded(tmp_path: Path) -> None:
    processes = synthetic.processes(2)
    for one in processes:
        base = 0x5000_0000_0000 + one.rank * 0x10_0000
        one.add("modules", begin=base, end=base + 0x1000, bias=base, path=b"/opt/app")
        one.add("sites", depth=2, frames=[base + 0x123, base + 0x456, *[0] * 6])
        one.call("MPI_Send", 1.0, 10, 8, site=0)
    found = merged.merge(synthetic.write(tmp_path, processes))
    assert [one.frames for one in found.sites] == [["app+0x123", "app+0x456"]]
    assert [(one.site, one.processes) for one in found.calls] == [(0, 2)]


def test_lines_of_python_are_call_sites(tmp_path: Path) -> None:
    processes = synthetic.processes(2)
    for one in processes:
        one.rows["places"] = [{"used": 0}] * one.rank  # another number in every process
        one.add("places", line=12, function=b"Solver.exchange", file=b"/project/halo.py")
        one.add("sites", depth=2, frames=[(1 << 63) + one.rank, (1 << 63) + 20, *[0] * 6])
        one.call("MPI_Send", 1.0, 10, 8, site=0)
    found = merged.merge(synthetic.write(tmp_path, processes))
    assert [one.frames for one in found.sites] == [["Solver.exchange (halo.py:12)", "? (:0)"]]
    assert [(one.site, one.processes) for one in found.calls] == [(0, 2)]


def test_the_program_that_took_most_time_is_the_one(tmp_path: Path) -> None:
    long, short = synthetic.processes(2, wall_s=10.0), synthetic.processes(2, wall_s=1.0)
    for one in short:
        one.facts["first_unix_ns"] = synthetic.FIRST_UNIX_NS + 20 * 10**9
        one.facts["last_unix_ns"] = synthetic.FIRST_UNIX_NS + 21 * 10**9
    found = merged.merge(synthetic.write(tmp_path, [*long, *short]))
    assert [one.wall_s for one in found.processes] == pytest.approx([10, 10])
    assert any("2 MPI programs" in text for text in found.warnings)


def test_processes_of_one_job_are_told_apart_by_its_name(tmp_path: Path) -> None:
    processes = [
        synthetic.Process(rank=rank, ranks=2, header={"job": job}) for job in ("a", "b") for rank in range(2)
    ]
    assert len(merged.merge(synthetic.write(tmp_path, processes)).processes) == 2


def test_full_tables_are_told(tmp_path: Path) -> None:
    one = synthetic.Process(ranks=1, facts={"lost_calls": 7, "lost_sites": 2})
    found = merged.merge(synthetic.write(tmp_path, [one]))
    assert any("7 calls" in text for text in found.warnings)
    assert found.processes[0].lost == {"calls": 7, "sites": 2}


def test_what_cannot_be_merged_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{tmp_path / 'absent'}: "):
        merged.merge(tmp_path / "absent")
    with pytest.raises(ScopeError, match=f"{tmp_path}: "):
        merged.merge(tmp_path)
    (tmp_path / "a.profile").write_bytes(b"nonsense")
    with pytest.raises(ScopeError, match=f"{tmp_path / 'a.profile'}: "):
        merged.merge(tmp_path)


def test_a_damaged_file_does_not_hide_the_others(tmp_path: Path) -> None:
    synthetic.write(tmp_path, synthetic.processes(2))
    (tmp_path / "profiles" / "node1.1001.profile").write_bytes(b"scope-profile 9\n")
    found = merged.merge(tmp_path)
    assert (len(found.processes), found.missing_ranks) == (1, [1])
    assert any("version 9" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("routine", "expected"),
    [
        *[(name, "send") for name in ("MPI_Send", "MPI_Isend", "MPI_Ibsend", "MPI_Psend_init", "MPI_Send_c")],
        *[(name, "receive") for name in ("MPI_Recv", "MPI_Imrecv", "MPI_Recv_init")],
        *[(name, "wait") for name in ("MPI_Waitall", "MPI_Test", "MPI_Waitsome_c")],
        *[(name, "collective") for name in ("MPI_Allreduce", "MPI_Ibcast", "MPI_Reduce_scatter", "MPI_Exscan")],
        *[(name, "collective") for name in ("MPI_Neighbor_alltoallv", "MPI_Iallgather", "MPI_Barrier_init")],
        *[(name, "one-sided") for name in ("MPI_Put", "MPI_Rget", "MPI_Win_fence", "MPI_Get")],
        *[(name, "file") for name in ("MPI_File_write_all", "MPI_File_iread")],
        *[(name, "setup") for name in ("MPI_Comm_split", "MPI_Win_create", "MPI_File_open", "MPI_Type_commit")],
        *[(name, "other") for name in ("MPI_Wtime", "MPI_Alloc_mem", "MPI_Get_address", "none")],
        ("MPI_Sendrecv_replace", "send and receive"),
        ("MPI_Improbe", "probe"),
    ],
)
def test_what_routines_are_for(routine: str, expected: str) -> None:
    assert kind(routine) == expected
    assert expected in KINDS


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("messages", [1], "equal length"),
        ("sender", [0, 1, 2, 9], "0 to 3"),
        ("block", 0, "greater than or equal to 1"),
    ],
)
def test_damaged_traffic_is_refused(ring: Merged, key: str, value: object, said: str) -> None:
    plain = ring.model_dump()
    plain["traffic"][key] = value
    with pytest.raises(ValidationError, match=said):
        Merged.model_validate(plain)
