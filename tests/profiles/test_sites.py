"""Names of call sites: Fortran modules, wrappers of MPI, functions of files without symbols."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hpcscope.programs.profiles import elf
from hpcscope.programs.profiles.sites import Name, fortran_name, unwrapped


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("__mpi__r8_v_MOD_mpi_send_t", "mpi__r8_v::mpi_send_t"),
        ("halo_mp_exchange_", "halo::exchange"),
        ("_QMhaloPexchange", "halo::exchange"),
        ("_QMhaloFexchangePpack", "halo::pack"),
        ("MAIN__", "MAIN__"),
        ("exchange_", "exchange_"),
    ],
)
def test_procedures_of_fortran_modules(symbol: str, name: str) -> None:
    assert fortran_name(symbol) == name


@pytest.mark.parametrize(
    "function", ["mpi__r8_v::mpi_send_t", "xmpi_sum", "mpibcast", "PMPI_Send", "CommMPI::send", "boost::mpi::send"]
)
def test_what_only_passes_on_is_left_out(function: str) -> None:
    path = [Name(function), Name("solve"), Name("main")]
    assert [one.function for one in unwrapped(path)] == ["solve", "main"]


@pytest.mark.parametrize("function", ["compile", "simpinge", "solve", "impinge::step"])
def test_what_only_sounds_like_it_stays(function: str) -> None:
    path = [Name(function), Name("mpi_solve"), Name("main")]
    assert unwrapped(path) == path


def test_libraries_and_patterns_are_left_out_and_the_outermost_stays() -> None:
    path = [Name("f", "", "libmpi_mpifh.so.40"), Name("mp::mp_sum"), Name("solve"), Name("mpi_main")]
    assert [one.function for one in unwrapped(path)] == ["mp::mp_sum", "solve", "mpi_main"]
    assert [one.function for one in unwrapped(path, ["MP::*", "solve"])] == ["mpi_main"]
    assert unwrapped([Name("mpi_main")]) == [Name("mpi_main")]


def test_functions_of_a_file(tmp_path: Path) -> None:
    """The interpreter has functions that can be unwound; what is no program, or cut, has none."""
    program = Path(sys.executable).resolve()
    found = elf.read(program)
    assert len(found.starts)
    assert (found.starts[1:] >= found.starts[:-1]).all()
    first = int(found.starts[0])
    assert (found.start(first), found.start(first - 1)) == (first, None)
    for name, data in (("text", b"no program"), ("empty", b""), ("cut", program.read_bytes()[:200])):
        (tmp_path / name).write_bytes(data)
        nothing = elf.read(tmp_path / name)
        assert (nothing.start(first), nothing.has_symbol(first)) == (None, False)
    assert elf.read(tmp_path / "gone").start(first) is None
