"""Which BLAS is found: the site's before the embedded one, and only one that has what is needed."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcscope.build import blas, libraries
from hpcscope.machine.machine import MpiInstallation
from tests.installed_mpi import embedded  # noqa: F401


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    blas.find.cache_clear()
    yield
    blas.find.cache_clear()


@pytest.fixture
def without_a_site_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MKLROOT", raising=False)
    monkeypatch.setattr(libraries, "of_pkg_config", lambda package: [])
    monkeypatch.setattr(libraries, "of_compiler", lambda compiler, name: "")


def library(path: Path, *routines: str, more: str = "") -> Path:
    """Compile a library that has these names and nothing behind them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text("".join(f"void {name}_(void) {{}}\n" for name in routines) + more)
    subprocess.run([shutil.which("gcc") or "cc", "-shared", "-fPIC", str(source), "-o", str(path)], check=True)
    return path


@pytest.mark.usefixtures("without_a_site_s_own")
def test_the_embedded_one_says_what_it_is() -> None:
    found = blas.find("c++")
    assert found is not None
    assert (found.name, found.origin, found.prefix) == ("OpenBLAS", "embedded", "scipy_")
    assert found.version[0].isdigit()
    assert found.core
    assert found.core in found.configuration
    assert Path(found.library).is_file()
    assert found.version in blas.described(found)


def test_a_site_s_own_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = """
    void mkl_get_version_string(char* text, int length) {
      const char said[] = "Intel(R) oneAPI Math Kernel Library Version 2025.1-Product";
      for (int i = 0; i < length && i < (int)sizeof said; ++i) text[i] = said[i];
    }"""
    made = library(tmp_path / "mkl" / "lib" / "libmkl_rt.so", *blas.NEEDED, more=version)
    monkeypatch.setenv("MKLROOT", str(tmp_path / "mkl"))
    found = blas.find("c++")
    assert found is not None
    assert (found.name, found.version, found.origin, found.prefix) == ("MKL", "2025.1", "MKLROOT", "")
    assert found.library == str(made)


def test_one_without_lapack_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library(tmp_path / "mkl" / "lib" / "libmkl_rt.so", "sgemm", "dgemm")
    monkeypatch.setenv("MKLROOT", str(tmp_path / "mkl"))
    found = blas.find("c++")
    assert found is None or found.origin != "MKLROOT"


def test_the_compiler_s_folders_are_searched(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    embedded: MpiInstallation,  # noqa: F811
) -> None:
    made = library(tmp_path / "libopenblas.so", *blas.NEEDED)
    monkeypatch.delenv("MKLROOT", raising=False)
    monkeypatch.setattr(libraries, "of_pkg_config", lambda package: [])
    monkeypatch.setenv("LIBRARY_PATH", str(tmp_path))
    found = blas.find(embedded.compiler)
    assert found is not None
    # A library of the system stands before those of LIBRARY_PATH.
    systems = Path(libraries.of_compiler(embedded.compiler, "libopenblas.so")).resolve()
    assert found.origin == "compiler's path"
    assert Path(found.library) in (made, systems)


def test_pkg_config_s_word_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    made = library(tmp_path / "lib" / "libmyblas.so", *blas.NEEDED)
    (tmp_path / "openblas.pc").write_text(
        f"Name: openblas\nDescription: ours\nVersion: 1\nLibs: -L{tmp_path / 'lib'} -lmyblas\n"
    )
    monkeypatch.delenv("MKLROOT", raising=False)
    monkeypatch.setenv("PKG_CONFIG_PATH", str(tmp_path))
    found = blas.find("c++")
    assert found is not None
    assert (found.origin, Path(found.library)) == ("pkg-config openblas", made)


@pytest.mark.usefixtures("without_a_site_s_own")
def test_none_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda scheme: str(tmp_path))
    assert blas.find("c++") is None
