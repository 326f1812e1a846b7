"""Which ScaLAPACK is found: one that was made for the MPI of the build, under whatever name it asks for it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcscope.build import libraries, scalapack
from hpcscope.machine.machine import MpiInstallation


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    scalapack._find.cache_clear()
    yield
    scalapack._find.cache_clear()


def shared(path: Path, *needed: Path) -> Path:
    """Compile a library that is called like its file and needs others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text("int nothing;\n")
    words = ["gcc", "-shared", "-fPIC", str(source), "-o", str(path), f"-Wl,-soname,{path.name},--no-as-needed"]
    subprocess.run([*words, *map(str, needed)], check=True)
    return path


def site(monkeypatch: pytest.MonkeyPatch, found: dict[str, Path], shown: str = "g++ -lmpi") -> None:
    """A host whose compiler finds these libraries."""
    monkeypatch.setattr(libraries, "of_pkg_config", lambda package: [])
    monkeypatch.setattr(libraries, "of_compiler", lambda compiler, name: str(found.get(name, "")))
    monkeypatch.setattr(libraries, "told", lambda compiler, word: shown)


def installation(name: str) -> MpiInstallation:
    return MpiInstallation(name=name, version="1", origin="asked", compiler="mpicxx", launcher="")


def test_one_that_was_made_for_another_mpi_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = shared(tmp_path / "other" / "libscalapack.so", shared(tmp_path / "libmpi.so.40"))
    right = shared(tmp_path / "libscalapack-mpich.so", shared(tmp_path / "libmpich.so.12"))
    site(monkeypatch, {"libscalapack.so": other, "libscalapack-mpich.so": right}, "g++ -lmpich")
    found = scalapack.find(installation("mpich"))
    assert found is not None
    assert (found.library, found.mpi_name, found.origin) == (str(right), "", "compiler's path")
    found = scalapack.find(installation("openmpi"))
    assert found is not None
    assert (found.library, found.mpi_name) == (str(other), "")


def test_a_versioned_name_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = shared(tmp_path / "libscalapack-openmpi.so.2.2", shared(tmp_path / "libmpi.so.40"))
    site(monkeypatch, {"libscalapack-openmpi.so.2.2": right})
    found = scalapack.find(installation("openmpi"))
    assert found is not None
    assert (found.library, found.version) == (str(right), "2.2")
    assert scalapack.described(found) == f"ScaLAPACK 2.2 (compiler's path), {right}"


def test_without_any_there_is_advice_for_this_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    site(monkeypatch, {})
    assert scalapack.find(installation("openmpi")) is None
    assert "libscalapack-openmpi2.2" in scalapack.advice(installation("openmpi"))
    assert "libscalapack-mpich2.2" in scalapack.advice(installation("intelmpi"))


def test_the_mpi_gets_the_name_that_it_is_asked_for_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = shared(tmp_path / "libscalapack-mpich.so", shared(tmp_path / "libmpich.so.12"))
    site(monkeypatch, {"libscalapack-mpich.so": right})
    found = scalapack.find(installation("mpich"))
    assert found is not None
    assert found.mpi_name == "libmpich.so.12"
    # The program's own MPI, as its loader finds it.
    own = shared(tmp_path / "lib" / "libmpi.so.12")
    program = tmp_path / "program"
    (tmp_path / "main.c").write_text("extern int nothing; int main(void) { return nothing; }\n")
    link = ["gcc", str(tmp_path / "main.c"), str(own), "-o", str(program), f"-Wl,-rpath,{own.parent}"]
    subprocess.run(link, check=True)
    for _ in range(2):
        scalapack.link_mpi_name(program, found)
        assert (tmp_path / "mpi-name" / "libmpich.so.12").resolve() == own


def test_mkl_has_a_part_for_each_kind_of_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["scalapack_lp64", "intel_lp64", "sequential", "core", "blacs_openmpi_lp64"]
    parts = [str(shared(tmp_path / "lib" / f"libmkl_{name}.so.2")) for name in names]
    site(monkeypatch, {"libscalapack-mpich.so": shared(tmp_path / "l.so", shared(tmp_path / "libmpich.so.12"))})
    monkeypatch.setenv("MKLROOT", str(tmp_path))
    found = scalapack.find(installation("openmpi"))
    assert found is not None
    assert (found.origin, found.library, found.parts) == ("MKLROOT", parts[0], parts)
    assert f"-DSCOPE_SCALAPACK_PARTS={';'.join(parts)}" in scalapack.definitions(found)
    # Without MKL's messages for MPICH, another ScaLAPACK serves it.
    other = scalapack.find(installation("mpich"))
    assert other is not None
    assert (other.origin, other.parts) == ("compiler's path", [])
