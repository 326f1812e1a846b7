"""Whether `make` installs CMake and Ninja: only where the system's are absent or too old."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("cmake", "ninja", "enough"),
    [
        ("3.25.1", "1.11.1", True),
        ("3.25.0", "1.11.1", True),
        ("4.1.0", "1.13.2", True),
        ("3.18.4", "1.11.1", False),
        ("3.9.6", "1.11.1", False),
        ("4.1.0", None, False),
        (None, "1.11.1", False),
    ],
)
def test_the_system_s_are_taken_where_they_are_new_enough(
    cmake: str | None, ninja: str | None, enough: bool, tmp_path: Path
) -> None:
    for name in ("printf", "grep", "sort"):
        (tmp_path / name).symlink_to(shutil.which(name) or pytest.skip(f"{name} is not installed"))
    for name, printed in (("cmake", cmake and f"cmake version {cmake}\n\nCMake suite 1.0"), ("ninja", ninja)):
        if printed:
            (tmp_path / name).write_text(f"#!/bin/sh\necho '{printed}'\n")
            (tmp_path / name).chmod(0o755)
    make = shutil.which("make") or pytest.skip("make is not installed")
    words = [make, "--eval", "asked: ; @$(NEW_CMAKE_AND_NINJA)", "asked"]
    environment = {**os.environ, "PATH": str(tmp_path), "MAKEFLAGS": ""}
    ended = subprocess.run(words, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert (ended.returncode == 0) == enough, ended.stderr
    assert ended.stderr == "" if enough else "Error" in ended.stderr
