"""Reductions of Fortran's LOGICAL: right for the compiler that is here, and wrong ones are found."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from hpcscope.build import logicals
from hpcscope.engine import doctor
from hpcscope.machine.machine import MpiInstallation
from tests.installed_mpi import embedded
from tests.messages import mentions

__all__ = ["embedded"]

COMPILER = """#!{python}
# Stands in for a Fortran compiler: its programs print the bits of .true. and .false. and read bits by a rule.
import pathlib, sys
made = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
made.write_text('''#!{python}
import sys
print(-1, 0, *("T" if {rule} else "F" for bits in map(int, sys.stdin.read().split())))
''')
made.chmod(0o755)
"""


@pytest.fixture
def nvfortran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A compiler whose .true. is -1, and by whose rule other bits read as .true., too."""
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(logicals, "COMPILERS", ("nvfortran",))
    program = tmp_path / "nvfortran"
    program.write_text(COMPILER.format(python=sys.executable, rule=request.param))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return program.name


@pytest.mark.parametrize("nvfortran", ["bits == -1"], indirect=True)
def test_a_compiler_that_reads_true_otherwise_than_mpi_writes_it_is_found(
    nvfortran: str,
    embedded: MpiInstallation,
) -> None:
    known = logicals.of(nvfortran)
    assert (known.true, known.false, known.read([1, -1, 0])) == (-1, 0, [False, True, False])
    found = logicals.wrong(known, embedded)
    assert found is not None
    assert "MPI_LAND of .true. and .true. gives .false." in found
    assert not any("gives .true." in each for each in found), "always .false., as the source says"
    (check,) = doctor.logical(embedded)
    assert (check.ok, check.name) == (False, f"LOGICAL, openmpi {embedded.version}")
    assert mentions(check.found, "nvfortran ... -1 ... MPI_LAND of .true. and .true. gives .false.")
    assert check.advice


@pytest.mark.parametrize("nvfortran", ["bits % 2"], indirect=True)
def test_a_compiler_that_reads_the_lowest_bit_gets_along_with_mpi(
    nvfortran: str,
    embedded: MpiInstallation,
) -> None:
    assert logicals.wrong(logicals.of(nvfortran), embedded) == []
    (check,) = doctor.logical(embedded)
    said = "reductions are correct for nvfortran (.true. is -1); there is no second compiler to compare with"
    assert (check.ok, check.found) == (True, said)


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed")
def test_the_compiler_of_this_host(embedded: MpiInstallation) -> None:
    known = logicals.of("gfortran")
    assert (known.true, known.false) == (1, 0)
    assert known.read([1, 0]) == [True, False]
    assert logicals.wrong(known, embedded) in ([], None)


def test_without_a_fortran_compiler_nothing_is_checked(
    embedded: MpiInstallation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logicals, "COMPILERS", ("no-such-fortran",))
    (check,) = doctor.logical(embedded)
    assert check.ok
    assert "Fortran" in check.found
