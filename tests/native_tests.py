"""The tests of the native parts that are programs of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hpcscope.build import active_messages, cmake
from tests.patience import PATIENCE_S


def check(project: cmake.Project, folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Compile the tests of a project, whose objects they share, and run them."""
    asked = replace(
        project, targets=(*project.targets, "tests"), definitions=(*project.definitions, "-DSCOPE_TESTS=ON")
    )
    cmake.compile_in(folder, asked)
    run(asked.objects, environment)


def without_provider(*targets: str) -> cmake.Project:
    """Return the active messages without what only MPI libraries load."""
    definitions = ("-DFABRIC_HEADERS=", "-DSCOPE_TESTS=ON")
    return replace(active_messages.project(), targets=targets, definitions=definitions)


def run(compiled: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run the tests that stand in a folder of objects."""
    ended = subprocess.run(
        [cmake.tool("ctest"), "--test-dir", str(compiled), "--output-on-failure"],
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stdout
    assert "100% tests passed" in ended.stdout
