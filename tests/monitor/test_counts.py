"""Calls and bytes against numbers known in advance, under every MPI that is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.machine.machine import MpiInstallation
from tests.monitor.conftest import Ended, Run, under_every_mpi

RANKS = 3
pytestmark = under_every_mpi


@pytest.fixture(scope="module")
def counted(mpi: MpiInstallation, run: Run, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return run(mpi, RANKS, "calls", str(tmp_path_factory.mktemp("file") / "written"))


def expected(rank: int, ranks: int) -> dict[str, tuple[int, int]]:
    """Calls and bytes of what program.cpp does in its mode `calls`, by docs/method/monitor.md."""
    root = rank == 0
    half = (ranks + 1 - rank % 2) // 2
    first, second = rank >= ranks - 2 and half > 1, ranks - 4 <= rank < ranks - 2 and half > 1
    triangle = ranks * (ranks + 1) // 2
    return {
        "Irecv": (10, 0),  # classed by what arrived, in the waits
        "Isend": (10, 8000),
        "Waitall": (10, 0),
        "Sendrecv": (1, 12),
        "Sendrecv_replace": (1, 20),
        "Send": (1 + root + first, 56 * root + 4 * first),
        "Recv": (1 + (rank == 1) + second, 56 * (rank == 1) + 4 * second),
        "Send_init": (1, 0),
        "Recv_init": (1, 0),
        "Startall": (3, 3 * 400),
        "Waitany": (3, 0),
        "Request_free": (2, 0),
        "Issend": (1, 44),
        "Mprobe": (1, 0),
        "Mrecv": (1, 44),
        "Waitsome": (1, 0),
        "Barrier": (5, 0),
        "Bcast": (3, 256 + 4 + 192),
        "Reduce": (1, 64),
        "Allreduce": (5, 320),
        "Gather": (1, 24),
        "Gatherv": (1, 8 * (rank + 1)),
        "Scatter": (1, 24 * ranks * root),
        "Scatterv": (1, 8 * triangle * root),
        "Allgather": (1, 32),
        "Allgatherv": (1, 8 * (rank + 1)),
        "Alltoall": (1, 16 * ranks),
        "Alltoallv": (1, 8 * triangle),
        "Alltoallw": (1, 8 * triangle),
        "Reduce_scatter": (1, 8 * triangle),
        "Reduce_scatter_block": (1, 16 * ranks),
        "Scan": (1, 48),
        "Iallreduce": (1, 128),
        "Wait": (1, 0),
        "Comm_split": (1, 0),
        "Comm_size": (2, 0),
        "Comm_rank": (2, 0),
        "Comm_free": (2, 0),
        "Type_contiguous": (1, 0),
        "Type_commit": (1, 0),
        "Type_free": (1, 0),
        "Cart_create": (1, 0),
        "Neighbor_alltoall": (1, 2 * 32),
        "Win_create": (1, 0),
        "Win_fence": (3, 0),
        "Put": (1, 32),
        "Get": (1, 16),
        "Win_free": (1, 0),
        "File_open": (1, 0),
        "File_write_at": (1, 32),
        "File_close": (1, 0),
    }


def test_every_call_and_byte_is_counted_once(counted: Ended) -> None:
    assert counted.code == 0, counted.errors
    assert [one.rank for one in counted.profiles] == list(range(RANKS))
    for rank in range(RANKS):
        totals = counted.totals(rank)
        tests, _ = totals.pop("Test")  # as often as the message took
        assert tests >= 3
        assert totals == expected(rank, RANKS)
        process = counted.profiles[rank].process
        assert int(process["calls"]) == tests + sum(calls for calls, _ in totals.values())
        assert not any(int(process[name]) for name in process.dtype.names or () if name.startswith("lost_"))
        assert int(process["open_requests"]) == 0


def test_waits_know_the_operation_and_what_arrived(counted: Ended) -> None:
    for rank in range(RANKS):
        assert counted.waits(rank) == {
            "Irecv": (10, 8000),
            "Isend": (10, 8000),
            "Send_init": (3, 1200),
            "Recv_init": (3, 1200),
            "Issend": (1, 44),
            "Iallreduce": (1, 128),
        }


def test_partners_are_ranks_of_the_world(counted: Ended) -> None:
    ring_messages, ring_bytes = 10 + 1 + 1 + 3 + 1, 8000 + 12 + 20 + 1200 + 44
    for rank in range(RANKS):
        sent = dict.fromkeys(range(RANKS), (0, 0))
        received = dict.fromkeys(range(RANKS), (0, 0))
        sent[(rank + 1) % RANKS] = received[(rank - 1) % RANKS] = (ring_messages, ring_bytes)

        def add(into: dict[int, tuple[int, int]], partner: int, size: int) -> None:
            into[partner] = into[partner][0] + 1, into[partner][1] + size

        if rank == 0:
            add(sent, 1, 56)
        if rank == 1:
            add(received, 0, 56)
        if rank == 2:  # first in its half, where ranks run backwards: rank 0 is second
            add(sent, 0, 4)
        if rank == 0:
            add(received, 2, 4)
        table = counted.profiles[rank].tables["partners"]
        told = {int(row["rank"]): row for row in table}
        for partner in range(RANKS):
            if partner == rank:
                assert partner not in told
                continue
            row = told[partner]
            assert (int(row["sent_messages"]), int(row["sent_bytes"])) == sent[partner]
            assert (int(row["received_messages"]), int(row["received_bytes"])) == received[partner]
        right, left = told[(rank + 1) % RANKS], told[(rank - 1) % RANKS]
        assert (int(right["put_operations"]), int(right["put_bytes"])) == (1, 32)
        assert (int(left["get_operations"]), int(left["get_bytes"])) == (1, 16)


def test_sizes_of_communicators_and_classes_of_bytes(counted: Ended) -> None:
    one = counted.profiles[0]
    rows = [(one.routine(int(row["routine"])), row) for row in one.tables["calls"]]
    broadcasts = {
        (int(row["communicator_size"]), int(row["size_class"])): int(row["calls"])
        for name, row in rows
        if name == "MPI_Bcast"
    }
    assert broadcasts == {(RANKS, 9): 1, (2, 3): 1, (RANKS, 8): 1}
    for name, row in rows:
        assert int(row["histogram"].sum()) == int(row["calls"]), name
        assert 0 < int(row["min_ticks"]) <= int(row["max_ticks"]) <= int(row["ticks"])


def test_the_sums_of_times_agree(counted: Ended) -> None:
    for one in counted.profiles:
        process = one.process
        assert int(one.tables["calls"]["ticks"].sum()) == int(process["mpi_ticks"])
        assert int(process["mpi_ticks"]) <= int(process["finalize_tick"]) - int(process["first_tick"])
        assert int(one.tables["timeline"]["mpi_ticks"].sum()) == int(process["mpi_ticks"])
        assert int(one.tables["timeline"]["calls"].sum()) == int(process["calls"])
        assert int(one.tables["regions"]["mpi_ticks"].sum()) == int(process["mpi_ticks"])
        assert one.state == "finalized"


def test_sites_lie_in_the_program(counted: Ended) -> None:
    one = counted.profiles[0]
    program = [row for row in one.tables["modules"] if row["path"].decode() == one.header.program]
    for row in one.tables["calls"]:
        site = one.tables["sites"][row["site"]]
        assert any(part["begin"] <= site["frames"][0] < part["end"] for part in program)


def test_the_header_says_what_ran(counted: Ended, tmp_path: Path) -> None:
    header = counted.profiles[1].header
    assert header.ranks == RANKS
    assert header.arguments[1] == "calls"
    assert header.mpi.startswith(("Open MPI v", "MPICH Version:"))
    assert 1e6 < header.tick_rate_hz < 1e10
    assert header.other_tool == ""
