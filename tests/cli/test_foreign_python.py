"""Scope among variables and packages of other Pythons, which users of MPI programs in Python need."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.scope_command import SCOPE
from tests.patience import PATIENCE_S


@pytest.fixture
def foreign(tmp_path: Path) -> dict[str, str]:
    """Return an environment with packages of another Python, which break every import."""
    for folder in (tmp_path / "packages", tmp_path / "user/lib/python3.11/site-packages"):
        for name in ("numpy", "pydantic", "typer"):
            (package := folder / name).mkdir(parents=True)
            (package / "__init__.py").write_text("raise ImportError('of another Python')\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path / "packages"), "PYTHONUSERBASE": str(tmp_path / "user")}


@pytest.mark.parametrize(
    "variables", [{}, {"PYTHONHOME": "/nowhere"}, {"PYTHONSAFEPATH": "", "PYTHONOPTIMIZE": "2"}]
)
def test_scope_reads_no_packages_of_another_python(
    variables: dict[str, str], foreign: dict[str, str], tmp_path: Path
) -> None:
    for words in ([], ["--json"]):
        done = subprocess.run(
            [SCOPE, "list", "--mpi", "embedded", *words],
            cwd=tmp_path,
            env=foreign | variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        assert "mpi.latency" in done.stdout


def test_what_scope_starts_has_the_variables(foreign: dict[str, str], tmp_path: Path) -> None:
    script = shutil.copy2(SCOPE, tmp_path)
    (tmp_path / "python").write_text('#!/bin/sh\necho "$1 $PYTHONPATH"\n')
    (tmp_path / "python").chmod(0o755)
    done = subprocess.run([script, "list"], env=foreign, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout == f"-I {foreign['PYTHONPATH']}\n"


def test_a_python_on_the_path_reads_its_variables(foreign: dict[str, str], tmp_path: Path) -> None:
    """Packages that `spack load` brings are found by them alone."""
    script = shutil.copy2(SCOPE, tmp_path)
    (folder := tmp_path / "elsewhere").mkdir()
    (folder / "python3").write_text('#!/bin/sh\necho "${1##*/} $PYTHONPATH"\n')
    (folder / "python3").chmod(0o755)
    done = subprocess.run(
        [script, "list"],
        env={**foreign, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.stdout == f"scope {foreign['PYTHONPATH']}\n"
