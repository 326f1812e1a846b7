"""The table of routines against the mpi.h of every MPI that is here."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from hpcscope.build import monitor
from hpcscope.machine.machine import MpiInstallation
from tests.installed_mpi import quickly
from tests.monitor.conftest import under_every_mpi
from tests.patience import PATIENCE_S

SOURCES = monitor.source_directory()

EXCEPTIONS = re.compile(
    r"T_\w+|"  # the tools' interface, which is not between program and library
    r"\w+_function\w*|Delete_function|"  # types of callbacks
    r"\w+_(c2f|f2c|toint|fromint)|"  # macros in some libraries
    r"NULL_\w+_FN|DUP_FN|\w+_(FN|NULL)|"  # callbacks of the library
    r"Aint|Fint|Comm|Datatype|Errhandler|File|Group|Info|Message|Op|Request|Session|Win"  # types
)


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    specification = importlib.util.spec_from_file_location("generate", SOURCES / "generate.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    import sys

    sys.modules["generate"] = module
    specification.loader.exec_module(module)
    return module


@under_every_mpi
def test_every_routine_of_mpi_h_is_in_the_table_and_in_the_library(
    mpi: MpiInstallation, generate: ModuleType, tmp_path: Path
) -> None:
    source = tmp_path / "mpi.cpp"
    source.write_text("#include <mpi.h>\n")
    flags = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-E", "-P"]
    header = subprocess.run(
        [mpi.compiler, *flags, str(source)], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout
    # A declaration: a type, the name, a list of arguments, an end.
    declared = set(re.findall(r"[\w*]\s+\*?MPI_(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)[^;{]*;", header))
    declared = {name for name in declared if not EXCEPTIONS.fullmatch(name)}
    assert len(declared) > 350
    known = {one.name: one.kind for one in generate.routines((SOURCES / "routines.txt").read_text())}
    assert declared - set(known) == set()
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", str(quickly(monitor.build, mpi))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    behind = {name for name, kind in known.items() if kind == generate.BEHIND}
    assert behind
    assert declared - set(re.findall(r"\bMPI_(\w+)$", symbols, re.MULTILINE)) == behind


def test_what_cannot_be_understood_is_refused(generate: ModuleType) -> None:
    for line in (
        "3.1 sent message Send(const void* buf)",
        "3.1 send letters Send(const void* buf)",
        "Send(const void* buf)",
        "3.1 local none Odd(int)",
    ):
        with pytest.raises(SystemExit) as refused:
            list(generate.routines(line))
        assert "routines.txt" in str(refused.value)


def test_a_line_with_two_types_is_two_routines(generate: ModuleType) -> None:
    line = "3.1 send message Send(const void* buf, int|MPI_Count count, MPI_Datatype datatype)"
    small, large = generate.routines(line)
    assert (small.name, large.name) == ("Send", "Send_c")
    assert [one.arguments[1].declaration for one in (small, large)] == ["int count", "MPI_Count count"]
