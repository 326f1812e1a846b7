"""The native program's own tests, and all of it under the sanitisers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scope.build import cmake, native, registry
from scope.launch.launch_environment import launch_environment
from scope.launch.launcher import MpiProgram, Site
from scope.launch.site import start_command
from scope.machine.machine import MpiInstallation
from tests.measure.conftest import start
from tests.patience import PATIENCE_S


def test_no_sanitiser_complains_of_what_all_benchmarks_share(embedded: MpiInstallation, tmp_path: Path) -> None:
    """The program's own tests pass, too: without optimisation, which the tests of every benchmark have."""
    built_and_tested(embedded, tmp_path, ["tests"])


@pytest.mark.slow(
    "builds all benchmarks once more, 3 to 7 min; in make test every benchmark runs verified without sanitisers, "
    "and what they share runs with them"
)
@pytest.mark.timeout(1800)  # a whole build without optimisation, on processors that others may share
def test_no_sanitiser_complains_of_any_benchmark(embedded: MpiInstallation, tmp_path: Path) -> None:
    program = built_and_tested(embedded, tmp_path, ["tests", "scope-measure"]) / "scope-measure"
    listed = registry.load(str(program))
    # The MPI library keeps memory to the end: leaks are not looked for.
    for ranks in (1, 2, 4):
        output, plan = tmp_path / f"{ranks}.jsonl", tmp_path / f"{ranks}.txt"
        # Children of the library do not get the sanitiser's options and cannot start. Four ranks do what two do.
        fitting = [
            each for each in listed if each.ranks.allows(ranks) and not (ranks == 2 and each.ranks.allows(4))
        ]
        plan.write_text("".join(f"{each.name}\n" for each in fitting if "spawn" not in each.requires))
        options = ["--action=test", f"--plan={plan}", f"--output={output}"]
        code, errors = start(str(program), embedded, ranks, options, ASAN_OPTIONS="detect_leaks=0")
        assert code == 0, errors
        assert "runtime error" not in errors
        assert "AddressSanitizer" not in errors


def built_and_tested(mpi: MpiInstallation, directory: Path, targets: list[str]) -> Path:
    """Build the targets under the sanitisers, run the program's own tests, and return where they stand."""
    program, sources = cmake.tool("cmake"), str(native.source_directory())
    tools = [f"-DCMAKE_CXX_COMPILER={mpi.compiler}", f"-DCMAKE_MAKE_PROGRAM={cmake.tool('ninja')}"]
    configure = [program, "-S", sources, "-B", str(directory), "-G", "Ninja", *tools]
    subprocess.run(
        [*configure, "-DCMAKE_BUILD_TYPE=Sanitize", "-DSCOPE_TESTS=ON"], check=True, capture_output=True
    )
    build = [program, "--build", str(directory), "--target", *targets]
    subprocess.run(build, check=True, capture_output=True, timeout=PATIENCE_S)
    # Some tests start MPI, each as a single process.
    alone = start_command(MpiProgram("", (), 1), Site(mpi, mpi.launcher))
    with launch_environment({**alone.environment, "ASAN_OPTIONS": "detect_leaks=0"}) as variables:
        ended = subprocess.run(
            [cmake.tool("ctest"), "--test-dir", str(directory), "--output-on-failure"],
            env=variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    assert ended.returncode == 0, ended.stdout
    assert "100% tests passed" in ended.stdout
    return directory
