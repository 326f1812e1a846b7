"""Building the native program: with every MPI, once, and with clear words when it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scope.build import cmake, native, registry, scalapack
from scope.errors import ScopeError, UsageError
from scope.machine.machine import MpiInstallation, NativeBuild
from tests.declared import described

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_executable(scope-measure main.cpp)
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny native program and an empty cache."""
    sources = tmp_path / "measure"
    sources.mkdir()
    (sources / "CMakeLists.txt").write_text(CMAKE)
    (sources / "main.cpp").write_text('#include <cstdio>\nint main() { std::puts("[]"); }\n')
    monkeypatch.setattr(native, "source_directory", lambda: sources)
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    return sources


def test_every_mpi_gets_its_program_and_its_registry(build: NativeBuild, mpi: MpiInstallation) -> None:
    assert os.access(build.program, os.X_OK)
    assert build.mpi == mpi
    assert build.scalapack == scalapack.find(mpi)
    assert build.flags.split()[-2:] == ["-O2", "-std=c++20"], "of every source, not of one"
    names = [benchmark.name for benchmark in registry.load(build.program)]
    assert names == sorted(names)
    assert "mpi.latency" in names


def test_a_build_is_made_once(small: Path, embedded: MpiInstallation) -> None:
    first, second = native.build(embedded), native.build(embedded)
    assert first == second
    assert list(registry.load(first.program)) == []


def test_another_source_or_flag_is_another_build(
    small: Path, embedded: MpiInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprints = {native.fingerprint_of(embedded, small)}
    monkeypatch.setenv("CXXFLAGS", "-march=native")
    fingerprints.add(native.fingerprint_of(embedded, small))
    monkeypatch.delenv("CXXFLAGS")
    (small / "main.cpp").write_text("int main() {}\n")
    fingerprints.add(native.fingerprint_of(embedded, small))
    fingerprints.add(native.fingerprint_of(embedded.model_copy(update={"version": "0"}), small))
    assert len(fingerprints) == 4


def test_benchmarks_from_outside_make_another_build(
    small: Path, embedded: MpiInstallation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = native.fingerprint_of(embedded, small)
    folder = tmp_path / "more"
    folder.mkdir()
    monkeypatch.setenv(native.EXTRA_BENCHMARKS, str(folder))
    with pytest.raises(UsageError, match=r"SCOPE_EXTRA_BENCHMARKS=.*more: must be a folder with benchmarks"):
        native.fingerprint_of(embedded, small)
    fingerprints = {without}
    for text in ("", "// changed\n"):
        (folder / "ring.cpp").write_text(text)
        fingerprints.add(native.fingerprint_of(embedded, small))
    assert len(fingerprints) == 3


def test_a_failed_build_shows_the_first_error_and_the_log(small: Path, embedded: MpiInstallation) -> None:
    (small / "main.cpp").write_text("int main() { return nothing; }\n")
    with pytest.raises(ScopeError) as failure:
        native.build(embedded)
    message = str(failure.value)
    assert "error: 'nothing' was not declared" in message.replace("‘", "'").replace("’", "'")
    assert "\n" not in message
    assert Path(message.rpartition("log: ")[2]).is_file()
    assert failure.value.exit_code == 1


def test_a_failed_build_is_tried_again_after_the_repair(small: Path, embedded: MpiInstallation) -> None:
    good = (small / "main.cpp").read_text()
    (small / "main.cpp").write_text("broken")
    with pytest.raises(ScopeError):
        native.build(embedded)
    (small / "main.cpp").write_text(good)
    assert list(registry.load(native.build(embedded).program)) == []


def test_two_builds_at_the_same_time_make_one(small: Path, embedded: MpiInstallation) -> None:
    code = (
        "import sys; from pathlib import Path; from scope.build import native, installations\n"
        f"native.source_directory = lambda: Path({str(small)!r})\n"
        f"print(native.build(installations.find({embedded.compiler!r})).built_unix_s)"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    times = {process.communicate(timeout=120)[0] for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(times) == 1


def test_a_cache_that_cannot_be_written_names_the_way_out(
    small: Path, embedded: MpiInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCOPE_CACHE", "/proc/nowhere")
    with pytest.raises(ScopeError, match="SCOPE_CACHE chooses another folder"):
        native.build(embedded)


def test_cmake_that_is_missing_is_named(
    small: Path, embedded: MpiInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cmake.shutil, "which", lambda *arguments, **keywords: None)
    with pytest.raises(UsageError, match="cmake: not found"):
        native.build(embedded)


def test_a_program_that_lists_nonsense_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "scope-measure"
    program.write_text("#!/bin/sh\necho '[{\"name\": 3}]'\n")
    program.chmod(0o755)
    with pytest.raises(ScopeError, match="its list of benchmarks"):
        registry.load(str(program))


def test_a_program_that_does_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScopeError, match="does not run: No such file"):
        registry.load(str(tmp_path / "gone"))


def test_two_benchmarks_of_one_name_are_refused(tmp_path: Path) -> None:
    (one,) = described("mpi.barrier")
    listed = json.dumps([one, one | {"source": "/elsewhere/barrier.cpp"}])
    program = tmp_path / "scope-measure"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{listed}\nEND\n")
    program.chmod(0o755)
    with pytest.raises(ScopeError, match=r"/elsewhere/barrier\.cpp: mpi\.barrier: declared by mpi/"):
        registry.load(str(program))
