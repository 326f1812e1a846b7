"""The ring of tests/profiles, started under the monitor by a launcher, and what its profiles must say."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles import merged as profiles
from tests.patience import PATIENCE_S

SOURCE = Path(__file__).parent / "profiles" / "ring.cpp"
ROUNDS = 20
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def compiled(mpi: MpiInstallation, folder: Path) -> Path:
    """Return the program of the ring, compiled by this MPI's own compiler."""
    program = folder / "ring"
    subprocess.run([mpi.compiler, "-g", "-o", program, SOURCE], check=True, timeout=PATIENCE_S)
    return program


def check_profiles(run: Path, hosts: list[str]) -> None:
    """Check that every call of every process on these hosts was counted, and that all ended well."""
    merged = profiles.read(run)
    assert [process.host for process in merged.processes] == hosts
    assert {process.state for process in merged.processes} == {"finalized"}
    for routine, size in (("MPI_Isend", 4096), ("MPI_Irecv", 0), ("MPI_Waitall", 0), ("MPI_Allreduce", 1024)):
        rows = [row for row in merged.calls if row.routine == routine]
        assert sum(row.calls for row in rows) == len(hosts) * ROUNDS, routine
        assert sum(row.bytes for row in rows) == len(hosts) * ROUNDS * size, routine
