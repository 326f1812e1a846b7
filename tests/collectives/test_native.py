"""What needs no MPI at work: schedules on data with wrong steps injected, the topology reader, estimates."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scope.build import cmake, collectives
from scope.machine.machine import MpiInstallation
from tests.patience import PATIENCE_S


def test_the_native_tests_pass(embedded: MpiInstallation, tmp_path: Path) -> None:
    sources, compiler = str(collectives.source_directory()), f"-DCMAKE_CXX_COMPILER={embedded.compiler}"
    ninja = f"-DCMAKE_MAKE_PROGRAM={cmake.tool('ninja')}"
    program = cmake.tool("cmake")
    configure = [program, "-S", sources, "-B", str(tmp_path), "-G", "Ninja", compiler, ninja, "-DSCOPE_TESTS=ON"]
    subprocess.run(configure, check=True, capture_output=True, timeout=PATIENCE_S)
    subprocess.run([program, "--build", str(tmp_path)], check=True, capture_output=True, timeout=PATIENCE_S)
    ended = subprocess.run(
        [cmake.tool("ctest"), "--test-dir", str(tmp_path), "--output-on-failure"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stdout
    assert "100% tests passed" in ended.stdout
