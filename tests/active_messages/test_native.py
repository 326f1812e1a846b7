"""What needs no wire at work: the protocol on an impaired wire in memory, hostile frames, tags, shared memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scope.build import active_messages, cmake
from tests.patience import PATIENCE_S


def test_the_native_tests_pass(tmp_path: Path) -> None:
    project = cmake.Project(
        "the tests of active messages",
        active_messages.source_directory(),
        None,
        ("all",),
        # Compiled more quickly without optimization, and run as quickly. Objects are kept.
        definitions=("-DSCOPE_TESTS=ON", "-DFABRIC_HEADERS=", "-DCMAKE_CXX_FLAGS_BASELINE=-O0"),
    )
    cmake.compile_in(tmp_path, project)
    command = [cmake.tool("ctest"), "--test-dir", str(project.objects), "--output-on-failure"]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stdout
    assert "100% tests passed" in ended.stdout
