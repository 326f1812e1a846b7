"""Unmodified programs of the system: LAMMPS, and the tests of ScaLAPACK under both MPIs."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.installed_mpi import installed
from tests.monitor.conftest import HERE, Ended, Run, killing
from tests.patience import PATIENCE_S

MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 50
run 200
"""

FACTORIZATION = """'ScaLAPACK, LU factorization input file'
'MPI Machine'
'LU.out'
6
1
17
17
1
4
1
3
1
3
1
{rows}
{columns}
1.0
T
"""
GRIDS = {1: (1, 1), 2: (1, 2), 4: (2, 2)}
"""Rows and columns of processes."""

FEW_CALLS = 200
FACTORS = Path("/usr/lib/x86_64-linux-gnu/scalapack")


@pytest.fixture
def lammps(tmp_path: Path) -> tuple[str, ...]:
    if shutil.which("lmp") is None:
        pytest.skip("lmp (LAMMPS) is not installed")
    (tmp_path / "in.melt").write_text(MELT)
    return ("-in", "in.melt", "-log", "none")


def sums_are_the_wall(ended: Ended) -> None:
    """Rows add up to the time in MPI, and that with the computation to the wall clock, on every rank."""
    for one in ended.profiles:
        process = one.process
        assert one.state == "finalized"
        assert int(process["mpi_ticks"]) == int(one.tables["calls"]["ticks"].sum())
        assert int(process["lost_calls"]) == int(process["lost_requests"]) == 0
        assert 0 < float(process["mpi_ticks"]) * one.tick_s < one.wall_s
        assert float(process["user_s"]) + float(process["system_s"]) > 0


def counts_of(name: str, run: Run, folder: Path, ranks: int, program: str, words: tuple[str, ...]) -> set[str]:
    """Return the lines of the independent counter for the same start."""
    mpi, library, counts = installed(name), folder / "libcounter.so", folder / "counts"
    flags = ["-std=c++20", "-shared", "-fPIC", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    source = str(HERE / "counter.cpp")
    subprocess.run([mpi.compiler, *flags, source, "-o", str(library)], check=True, timeout=PATIENCE_S)
    counted = run(mpi, ranks, *words, program=program, folder=folder, LD_PRELOAD=str(library), COUNTS=str(counts))
    assert counted.code == 0, counted.errors
    return set(counts.read_text().splitlines())


def same_counts(ended: Ended, counted: set[str]) -> None:
    routines = {line.split()[1] for line in counted}
    assert {"Bcast", "Send"} <= routines
    told = {
        f"{rank} {routine} {calls} {size}"
        for rank in range(len(ended.profiles))
        for routine, (calls, size) in ended.totals(rank).items()
        if routine in routines
    }
    assert told == counted


SLOW = pytest.mark.slow("one more real program; there, tests of ScaLAPACK run unmodified, and are counted twice")


@SLOW
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_lammps(run: Run, lammps: tuple[str, ...], tmp_path: Path, ranks: int) -> None:
    mpi = installed("openmpi-debian")
    begin = time.perf_counter()
    ended = run(mpi, ranks, *lammps, program="lmp", folder=tmp_path)
    outside_s = time.perf_counter() - begin
    assert ended.code == 0, ended.errors
    assert len(ended.profiles) == ranks
    sums_are_the_wall(ended)
    loop = re.search(r"Loop time of ([\d.e+-]+) on", ended.output)
    assert loop is not None
    for one in ended.profiles:
        # By three clocks: that of the program inside the register's and the calendar's, these inside of ours.
        process = one.process
        calendar_s = (int(process["last_unix_ns"]) - int(process["first_unix_ns"])) * 1e-9
        register_s = (int(process["last_sample_tick"]) - int(process["first_tick"])) * one.tick_s
        for seen_s in (one.wall_s, register_s, calendar_s):
            assert float(loop[1]) < seen_s < outside_s
    if ranks == 4:
        same_counts(ended, counts_of("openmpi-debian", run, tmp_path, ranks, "lmp", lammps))


@pytest.mark.slow("a real program that is killed; there, test_ends.py kills a rank of one whose calls are known")
def test_lammps_is_killed(run: Run, lammps: tuple[str, ...], tmp_path: Path) -> None:
    """One rank gets kill -9 in the middle: what both did until then is there to be read."""
    (tmp_path / "in.melt").write_text(MELT.replace("run 200", "run 10000000"))
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    with killing(profiles, 1, lambda found: 1 in found and int(found[1].process["calls"]) >= FEW_CALLS):
        ended = run(installed("openmpi-debian"), 2, *lammps, program="lmp", folder=tmp_path, directory=profiles)
    assert ended.code != 0
    assert [one.state for one in ended.profiles][1] == "running"
    for rank, one in enumerate(ended.profiles):
        assert int(one.process["calls"]) == sum(calls for calls, _ in ended.totals(rank).values()) >= FEW_CALLS
        assert one.wall_s > 0
    assert int(ended.profiles[1].process["finalize_tick"]) == 0


@pytest.mark.slow("a real program that aborts; there, test_ends.py has one whose calls are known")
def test_lammps_aborts(run: Run, lammps: tuple[str, ...], tmp_path: Path) -> None:
    """The first rank, which alone reads the input, finds a file missing and calls MPI_Abort."""
    (tmp_path / "in.melt").write_text(MELT.replace("run 200", "run 20\ninclude nowhere"))
    ended = run(installed("openmpi-debian"), 2, *lammps, program="lmp", folder=tmp_path)
    assert ended.code != 0
    assert ended.profiles[0].state == "aborted"
    assert all(int(one.process["calls"]) >= FEW_CALLS for one in ended.profiles)


OTHERS = pytest.mark.slow("other numbers of ranks and the system's Open MPI; there, MPICH with two ranks")
STARTS = [("mpich", 1), ("mpich", 4), ("openmpi", 1), ("openmpi", 2), ("openmpi", 4)]


@pytest.mark.parametrize(("name", "ranks"), [("mpich", 2), *(pytest.param(*one, marks=OTHERS) for one in STARTS)])
def test_scalapack(run: Run, tmp_path: Path, name: str, ranks: int) -> None:
    program = FACTORS / f"{name}-tests" / "xdlu"
    if not program.exists():
        pytest.skip(f"{program} (scalapack-mpi-test) is not installed")
    rows, columns = GRIDS[ranks]
    (tmp_path / "LU.dat").write_text(FACTORIZATION.format(rows=rows, columns=columns))
    ended = run(installed(f"{name}-debian"), ranks, program=program, folder=tmp_path)
    assert (ended.code, len(ended.profiles)) == (0, ranks), ended.errors
    assert ended.output.count("PASSED") >= 1
    sums_are_the_wall(ended)
    if ranks == 2:
        same_counts(ended, counts_of(f"{name}-debian", run, tmp_path, ranks, str(program), ()))
