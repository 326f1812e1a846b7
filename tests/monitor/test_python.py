"""Programs in Python over real mpi4py, which loads its MPI late: counts, and call sites in Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hpcscope.build import identity, monitor
from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles.sites import Sites
from tests.installed_mpi import installed, quickly, slow_under_others
from tests.monitor.conftest import Ended, Run

RANKS = 2
PROGRAM = """\
from mpi4py import MPI

world = MPI.COMM_WORLD
kept = world.Dup()  # freed by the end of the interpreter


class Ring:
    def exchange(self):
        out, received = bytearray(40), bytearray(40)
        world.Sendrecv(
            out, (world.rank + 1) % world.size, recvbuf=received)


def agree():
    world.Bcast(bytearray(16))


for _ in range(5):
    Ring().exchange()
agree()
"""
EXCHANGE, AGREE = "Ring.exchange (ring.py:10)", "agree (ring.py:15)"
THREADS = """\
import threading
from mpi4py import MPI

world = MPI.COMM_WORLD
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE


def left(comm):
    for _ in range(200):
        comm.Barrier()


def right(comm):
    for _ in range(300):
        comm.Barrier()


def compute():
    for _ in range(300):
        sum(range(1000))


works = [(left, world.Dup()), (right, world.Dup())]
threads = [threading.Thread(target=work, args=(comm,)) for work, comm in works]
threads.append(threading.Thread(target=compute))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def library(mpi: MpiInstallation) -> Path:
    """Return the library of an installation, as mpi4py is told to load it."""
    folder = identity.library_folder(mpi)
    if folder is None:
        shown = subprocess.run([mpi.compiler, "-show"], capture_output=True, text=True, check=True).stdout
        folder = Path(next(word.removeprefix("-L") for word in shown.split() if word.startswith("-L")))
    # The last name is that of a script for the linker, where there are others.
    return sorted(folder.glob("libmpi.so*"))[-1]


def sites(ended: Ended, rank: int) -> dict[tuple[str, str], int]:
    """Return the calls of each routine at each place of a rank."""
    places = Sites()
    one = ended.profiles[rank]
    numbers = places.of(one)
    named = places.named()
    found: dict[tuple[str, str], int] = {}
    for row in one.tables["calls"]:
        frames = named.sites[named.number[numbers[row["site"]]]].frames
        # With MPI 4 the binding calls the forms for large counts.
        key = one.routine(int(row["routine"])).removesuffix("_c"), " < ".join(frames)
        found[key] = found.get(key, 0) + int(row["calls"])
    return found


def check(ended: Ended) -> None:
    assert ended.code == 0, ended.errors
    assert [one.state for one in ended.profiles] == ["finalized"] * RANKS
    for rank in range(RANKS):
        totals = ended.totals(rank)
        assert totals.get("Sendrecv", totals.get("Sendrecv_c")) == (5, 200)
        found = sites(ended, rank)
        assert found["MPI_Sendrecv", EXCHANGE] == 5
        assert found["MPI_Bcast", AGREE] == 1
        assert found["MPI_Comm_dup", "<module> (ring.py:4)"] == 1


@pytest.mark.parametrize("name", slow_under_others("MPICH 4.0 stands for the others", "mpich-debian"))
def test_calls_have_their_lines_under_every_mpi(run: Run, name: str, tmp_path: Path) -> None:
    program = tmp_path / "ring.py"
    program.write_text(PROGRAM)
    mpi = installed(name)
    file = library(mpi)
    search = {}
    if name == "mpich-debian":  # Debian calls it libmpich, the wheel of mpi4py libmpi
        (tmp_path / "libmpi.so.12").symlink_to(file.with_name("libmpich.so.12"))
        file = tmp_path / "libmpi.so.12"
        search = {"LD_LIBRARY_PATH": str(tmp_path)}
    check(run(mpi, RANKS, str(program), program=sys.executable, MPI4PY_LIBMPI=str(file), **search))


def test_the_binding_finds_its_mpi_as_without_the_monitor(
    run: Run, embedded: MpiInstallation, tmp_path: Path
) -> None:
    program = tmp_path / "ring.py"
    program.write_text(PROGRAM)
    check(run(embedded, RANKS, str(program), program=sys.executable))


def test_more_frames_lead_outwards(run: Run, embedded: MpiInstallation, tmp_path: Path) -> None:
    program = tmp_path / "ring.py"
    program.write_text(PROGRAM)
    words = [str(program)]
    ended = run(embedded, RANKS, *words, program=sys.executable, SCOPE_MONITOR_OPTIONS="depth=3")
    found = sites(ended, 0)
    assert found["MPI_Sendrecv", f"{EXCHANGE} < <module> (ring.py:19)"] == 5
    assert found["MPI_Bcast", f"{AGREE} < <module> (ring.py:20)"] == 1
    none = run(embedded, RANKS, *words, program=sys.executable, SCOPE_MONITOR_OPTIONS="depth=0")
    assert none.totals(0)["Sendrecv"] == (5, 200)
    assert not len(none.profiles[0].tables["places"])


def test_threads_of_python_lose_no_call(run: Run, embedded: MpiInstallation, tmp_path: Path) -> None:
    program = tmp_path / "threads.py"
    program.write_text(THREADS)
    ended = run(embedded, RANKS, str(program), program=sys.executable)
    assert ended.code == 0, ended.errors
    for rank in range(RANKS):
        found = sites(ended, rank)
        assert found["MPI_Barrier", "left (threads.py:10)"] == 200
        assert found["MPI_Barrier", "right (threads.py:15)"] == 300


def test_a_binding_over_another_mpi_runs_unmonitored(run: Run, embedded: MpiInstallation, tmp_path: Path) -> None:
    program = tmp_path / "ring.py"
    program.write_text(PROGRAM)
    other = str(quickly(monitor.build, installed("mpich-debian")))
    ended = run(embedded, RANKS, str(program), program=sys.executable, LD_PRELOAD=other)
    assert (ended.code, ended.profiles) == (0, [])
    assert ended.errors.count("unmonitored") == RANKS
