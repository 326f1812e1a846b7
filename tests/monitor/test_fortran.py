"""Programs in Fortran, by all three interfaces, under both MPIs of the system."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hpcscope.programs.profiles.files import LAYERS
from tests.installed_mpi import installed
from tests.monitor.conftest import HERE, Run
from tests.patience import PATIENCE_S

RANKS = 3
SLOW = pytest.mark.slow("the system's Open MPI; there, all three interfaces are counted under MPICH")
INTERFACES = {"mpif.h": "-DUSE_MPIF", "mpi": "-DUSE_MPI", "mpi_f08": "-DUSE_F08"}


def expected(rank: int) -> dict[str, tuple[int, int]]:
    """Calls and bytes of calls.F90."""
    return {
        "Comm_rank": (1, 0),
        "Comm_size": (1, 0),
        "Irecv": (11, 0),
        "Isend": (11, 8000 + 200),
        "Waitall": (10, 0),
        "Sendrecv": (1, 12),
        **({"Send": (1, 56)} if rank == 0 else {"Recv": (1, 56)} if rank == 1 else {}),
        "Send_init": (1, 0),
        "Recv_init": (1, 0),
        "Startall": (3, 1200),
        "Wait": (6, 0),
        "Request_free": (2, 0),
        "Barrier": (1, 0),
        "Bcast": (2, 256 + 4),
        "Allreduce": (1, 64),
        "Allgather": (1, 32),
        "Alltoall": (1, 16 * RANKS),
        "Comm_split": (1, 0),
        "Comm_free": (1, 0),
        "Initialized": (1, 0),
        "Wtime": (1, 0),
        "File_open": (1, 0),
        "File_write_at_all": (1, 80),
        "File_close": (1, 0),
    }


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("name", [pytest.param("openmpi", marks=SLOW), "mpich"])
def test_fortran(run: Run, tmp_path: Path, name: str, interface: str) -> None:
    compiler = shutil.which(f"mpifort.{name}")
    if compiler is None or shutil.which("gfortran") is None:
        pytest.skip(f"mpifort.{name} with gfortran is not installed")
    program = tmp_path / "calls"
    source = str(HERE / "calls.F90")
    command = [compiler, "-w", INTERFACES[interface], source, "-o", str(program)]
    subprocess.run(command, check=True, cwd=tmp_path, timeout=PATIENCE_S)
    written = tmp_path / "written"
    ended = run(installed(f"{name}-debian"), RANKS, str(written), program=program)
    assert (ended.code, len(ended.profiles)) == (0, RANKS), ended.errors
    for rank, one in enumerate(ended.profiles):
        totals = ended.totals(rank)
        waitsome, _ = totals.pop("Waitsome")
        assert 1 <= waitsome <= 2
        for converted in ("File_c2f", "File_f2c"):  # by MPICH's Fortran library, outside of any call
            totals.pop(converted, None)
        assert totals == expected(rank)
        assert ended.waits(rank) == {
            "Irecv": (11, 8200),
            "Isend": (11, 8200),
            "Send_init": (3, 1200),
            "Recv_init": (3, 1200),
        }
        assert one.state == "finalized"
        files = {(row["path"].decode(), LAYERS[int(row["layer"])]): row for row in one.tables["files"]}
        assert int(files[str(written), "mpi-io"]["written_bytes"]) == 80
        assert int(files[f"{written}{rank}", "posix"]["written_bytes"]) == 8000
        # The caller is the program and not MPI's Fortran library.
        own = [row for row in one.tables["modules"] if row["path"].decode() == one.header.program]
        for row in one.tables["calls"]:
            routine = one.routine(int(row["routine"]))
            if routine in ("MPI_Isend", "MPI_Waitall", "MPI_Barrier", "MPI_Allreduce"):
                frame = one.tables["sites"][row["site"]]["frames"][0]
                assert any(part["begin"] <= frame < part["end"] for part in own), routine
