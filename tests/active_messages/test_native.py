"""What needs no wire at work: the protocol on an impaired wire in memory, hostile frames, tags, shared memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scope.build import active_messages, cmake
from scope.build.compiler import system_compiler
from tests.patience import PATIENCE_S


def test_the_native_tests_pass(tmp_path: Path) -> None:
    sources, program = str(active_messages.source_directory()), cmake.tool("cmake")
    options = [
        f"-DCMAKE_CXX_COMPILER={';'.join(system_compiler('the tests must be compiled'))}",
        f"-DCMAKE_MAKE_PROGRAM={cmake.tool('ninja')}",
        # Compiled more quickly without optimization, and run as quickly.
        *("-DSCOPE_TESTS=ON", "-DFABRIC_HEADERS=", "-DCMAKE_BUILD_TYPE=None"),
    ]
    configure = [program, "-S", sources, "-B", str(tmp_path), "-G", "Ninja", *options]
    subprocess.run(configure, check=True, capture_output=True, timeout=PATIENCE_S)
    subprocess.run([program, "--build", str(tmp_path)], check=True, capture_output=True, timeout=PATIENCE_S)
    command = [cmake.tool("ctest"), "--test-dir", str(tmp_path), "--output-on-failure", "--timeout", "60"]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stdout
    assert "100% tests passed" in ended.stdout
