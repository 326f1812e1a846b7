"""Programs in Fortran: `use mpi` under both MPIs of the system, `use mpi_f08` where the library can see it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.collectives.conftest import HERE, Job
from tests.collectives.test_correctness import MULTILEVEL, words
from tests.installed_mpi import installed
from tests.patience import PATIENCE_S


@pytest.mark.slow(
    "compiles the library for the system's MPIs; there, programs in C, and programs in Fortran under the monitor"
)
@pytest.mark.parametrize(
    ("name", "source"),
    [("openmpi", "verify_mpi.f90"), ("openmpi", "verify_f08.f90"), ("mpich", "verify_mpi.f90")],
)
def test_fortran(job: Job, tmp_path: Path, name: str, source: str) -> None:
    compiler = shutil.which(f"mpifort.{name}")
    if compiler is None or shutil.which("gfortran") is None:
        pytest.skip(f"mpifort.{name} with gfortran is not installed")
    program = tmp_path / "verify"
    subprocess.run(
        [compiler, "-w", str(HERE / source), "-o", str(program)], check=True, cwd=tmp_path, timeout=PATIENCE_S
    )
    ended = job(installed(f"{name}-debian"), 3, source, program=program, SCOPE_COLLECTIVES=words(MULTILEVEL))
    assert (ended.code, ended.output.strip()) == (0, "0 failures"), ended.errors
    taken = {decision["operation"] for decision in ended.decisions}
    assert taken >= ({"broadcast", "allreduce", "barrier"} if "f08" in source else set(MULTILEVEL))
