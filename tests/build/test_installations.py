"""Finding MPI installations and the launcher that belongs to each compiler."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

import pytest

from hpcscope.build import installations
from hpcscope.errors import UsageError
from hpcscope.launch.launchers import choose
from hpcscope.machine.machine import MpiInstallation


def wrapper(folder: Path, name: str, macros: str) -> Path:
    """A compiler wrapper whose mpi.h says what it is told."""
    include = folder / f"include-{name}"
    include.mkdir(parents=True)
    (include / "mpi.h").write_text(macros)
    compiler = folder / name
    compiler.write_text(f'#!/bin/sh\nexec g++ -I{include} "$@"\n')
    compiler.chmod(0o755)
    return compiler


def launcher(folder: Path, name: str, banner: str) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{banner}'\n")
    program.chmod(0o755)
    return program


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")


def test_compiler_and_launcher_are_of_one_installation(mpi: MpiInstallation) -> None:
    assert mpi.origin == "asked"
    assert mpi.name in ("openmpi", "mpich")
    assert mpi.version[0].isdigit()
    assert os.access(mpi.launcher, os.X_OK)
    assert Path(mpi.launcher).parent == Path(mpi.compiler).parent


def test_the_embedded_one_is_found_by_name() -> None:
    found = installations.find("embedded")
    assert Path(found.compiler).parent == Path(sysconfig.get_path("scripts"))


def test_a_folder_that_is_called_like_an_mpi_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "embedded").mkdir()
    monkeypatch.chdir(tmp_path)
    assert Path(installations.find("embedded").compiler).parent == Path(sysconfig.get_path("scripts"))


def test_path_comes_before_the_embedded_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = wrapper(tmp_path, "mpicxx", '#define MPICH_VERSION "9.1"\n')
    launcher(tmp_path, "mpiexec", "HYDRA build details:\n    Version:   9.1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = installations.find()
    assert (found.compiler, found.name, found.version, found.origin) == (str(compiler), "mpich", "9.1", "path")


def test_without_any_on_path_the_embedded_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Path(shutil.which("c++") or pytest.skip("no compiler here"))
    (tmp_path / "c++").symlink_to(compiler)
    for tool in ("as", "ld", "cc1plus"):
        if found := shutil.which(tool):
            (tmp_path / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installations.find().origin == "embedded"


@needs_compiler
def test_a_launcher_of_another_mpi_is_not_taken(tmp_path: Path) -> None:
    compiler = wrapper(tmp_path, "mpicxx", '#define MPICH_VERSION "4.2"\n')
    launcher(tmp_path, "mpiexec", "mpiexec (Open MPI) 5.0.1")
    assert installations.find(str(compiler)).launcher == ""
    launcher(tmp_path, "mpiexec.hydra", "HYDRA build details:\n    Version:    4.1")
    assert installations.find(str(compiler)).launcher == ""
    launcher(tmp_path, "mpirun", "HYDRA build details:\n    Version:    4.2")
    assert installations.find(str(compiler)).launcher == str(tmp_path / "mpirun")


@needs_compiler
def test_intel_mpi_is_not_taken_for_mpich(tmp_path: Path) -> None:
    compiler = wrapper(tmp_path, "mpicxx", '#define MPICH_VERSION "3.4"\n#define I_MPI_VERSION "2021.18.1"\n')
    found = installations.find(str(compiler))
    assert (found.name, found.version) == ("intelmpi", "2021.18.1")


@needs_compiler
def test_what_simulates_must_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = wrapper(tmp_path, "smpicxx", "#define SMPI_H\n")
    version = compiler.parent / "include-smpicxx" / "simgrid" / "version.h"
    version.parent.mkdir()
    version.write_text("#define SIMGRID_VERSION_MAJOR 4\n#define SIMGRID_VERSION_MINOR 1\n")
    launcher(tmp_path, "smpirun", "SimGrid version 4.1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert installations.find().name != "simgrid"
    found = installations.find("simgrid")
    assert (found.version, found.launcher) == ("4.1", str(tmp_path / "smpirun"))
    with pytest.raises(UsageError, match="simgrid"):
        choose(found)


@needs_compiler
def test_an_unknown_mpi_is_used_under_that_name(tmp_path: Path) -> None:
    compiler = wrapper(tmp_path, "mpicxx", "#define MPI_VERSION 4\n#define MPI_SUBVERSION 1\n")
    found = installations.find(str(compiler))
    assert (found.name, found.version) == ("unknown", "MPI 4.1")


def test_a_name_that_is_not_here_names_what_is() -> None:
    with pytest.raises(UsageError, match=r"--mpi lam: .*openmpi"):
        installations.find("lam")


def test_a_path_that_is_no_compiler_says_what_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"{tmp_path}.*mpicxx"):
        installations.find(str(tmp_path))


def test_a_wrapper_that_cannot_compile_says_why(tmp_path: Path) -> None:
    broken = launcher(tmp_path, "mpicxx", "")
    broken.write_text("#!/bin/sh\necho 'g++: error: gone' >&2; exit 1\n")
    with pytest.raises(UsageError, match=r"mpicxx: .*: g\+\+: error: gone"):
        installations.find(str(broken))


def test_a_wrapper_may_speak_any_encoding(tmp_path: Path) -> None:
    broken = launcher(tmp_path, "mpicxx", "")
    broken.write_bytes(b"#!/bin/sh\necho 'g++: erreur fatale: \351chec' >&2; exit 1\n")
    with pytest.raises(UsageError, match=r"mpicxx: .*: g\+\+: erreur fatale: \ufffdchec"):
        installations.find(str(broken))
    broken.write_bytes(b"#!/bin/sh\necho '#define SITE \"\351cole\"'\n")
    assert installations.find(str(broken)).name == "unknown"
