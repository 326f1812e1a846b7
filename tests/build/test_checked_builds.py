"""The native parts' own tests, and all of the native program under the sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hpcscope.build import active_messages, cmake, native, registry
from hpcscope.build.compiler import system_compiler
from hpcscope.launch.launch_environment import launch_environment
from hpcscope.launch.launcher import MpiProgram, Site
from hpcscope.launch.site import start_command
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from tests import native_tests
from tests.fake_cuda import driver as driver
from tests.measure.conftest import start
from tests.patience import PATIENCE_S

WITHOUT_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}
"""The MPI library keeps memory to the end."""


def test_the_tests_of_the_native_program_pass(embedded_build: NativeBuild, tmp_path: Path) -> None:
    """Some start MPI, each as a single process."""
    mpi = embedded_build.mpi
    with launch_environment(alone(mpi)) as variables:
        native_tests.check(native.project(mpi, native.source_directory()), tmp_path, variables)


def test_the_tests_of_active_messages_pass(tmp_path: Path) -> None:
    """The protocol on an impaired wire in memory, hostile frames, tags, shared memory: no wire is at work."""
    native_tests.check(native_tests.without_provider(), tmp_path)


@pytest.mark.slow("compiles them once more; in make test the same tests run without sanitizers")
def test_no_sanitizer_complains_of_active_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # the sanitizer's library must come first
    compile_checked(active_messages.source_directory(), system_compiler("")[-1], tmp_path, "tests")
    native_tests.run(tmp_path)


@pytest.mark.slow(
    "builds all benchmarks once more, 3 to 7 min; in make test the program's own tests and every benchmark run"
    " verified without sanitizers"
)
@pytest.mark.timeout(1800)  # a whole build without optimization, on processors that others may share
def test_no_sanitizer_complains_of_any_benchmark(
    embedded: MpiInstallation, tmp_path: Path, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    compile_checked(native.source_directory(), embedded.compiler, tmp_path, "tests", native.PROGRAM)
    with launch_environment({**alone(embedded), **WITHOUT_LEAKS}) as variables:
        native_tests.run(tmp_path, variables)
    program = tmp_path / native.PROGRAM
    listed = registry.load(str(program))
    for ranks in (1, 2, 4):
        output, plan = tmp_path / f"{ranks}.jsonl", tmp_path / f"{ranks}.txt"
        # Children of the library do not get the sanitizer's options and cannot start. Four ranks do what two do.
        fitting = [
            each for each in listed if each.ranks.allows(ranks) and not (ranks == 2 and each.ranks.allows(4))
        ]
        plan.write_text("".join(f"{each.name}\n" for each in fitting if "spawn" not in each.requires))
        options = ["--action=test", f"--plan={plan}", f"--output={output}"]
        libraries = dict.fromkeys(("SCOPE_CUDA", "SCOPE_NVRTC", "SCOPE_CUBLAS", "SCOPE_NVML"), driver)
        device = {**libraries, "FAKE_CUDA_FOLDER": str(tmp_path)}
        code, errors = start(str(program), embedded, ranks, options, **WITHOUT_LEAKS, **device)
        assert code == 0, errors
        assert "runtime error" not in errors
        assert "AddressSanitizer" not in errors


def alone(mpi: MpiInstallation) -> dict[str, str]:
    """Return the environment in which a process starts MPI by itself."""
    return dict(start_command(MpiProgram("", (), 1), Site(mpi, mpi.launcher)).environment)


def compile_checked(sources: Path, compiler: str, folder: Path, *targets: str) -> None:
    """Build targets under the sanitizers."""
    program, tools = cmake.tool("cmake"), (f"-DCMAKE_CXX_COMPILER={compiler}", "-DFABRIC_HEADERS=")
    configure = [program, "-S", str(sources), "-B", str(folder), "-G", "Ninja", *tools]
    options = [f"-DCMAKE_MAKE_PROGRAM={cmake.tool('ninja')}", "-DCMAKE_BUILD_TYPE=Sanitize", "-DSCOPE_TESTS=ON"]
    build = [program, "--build", str(folder), "--target", *targets]
    for command in ([*configure, *options], build):
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
