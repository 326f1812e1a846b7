"""A wheel has everything that an installed Scope compiles, reads and shows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from hpcscope.version import VERSION
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
NATIVE = ("measure", "monitor", "collectives", "active-messages", "scope-timer", "timer", "json")
IGNORED = {"__pycache__", ".ruff_cache", ".mypy_cache", "build"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    (built,) = WheelBuilder(str(ROOT)).build(
        directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"]
    )
    return Path(built)


def files(folder: Path) -> set[str]:
    found = (one.relative_to(folder) for one in folder.rglob("*") if one.is_file())
    return {str(one) for one in found if not IGNORED.intersection(one.parts)}


def test_it_has_every_file_of_the_tree_that_scope_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"hpcscope/{one}" for one in files(ROOT / "hpcscope")} <= names
    for folder in (*NATIVE, "reference", "schemas"):
        assert {f"hpcscope/{folder}/{one}" for one in files(ROOT / folder)} - names <= {
            "hpcscope/schemas/generate.py"
        }
    assert {name.partition(".data/scripts/")[2] for name in names} >= {"scope", "hpcscope"}
    assert not any("__pycache__" in name or name.startswith("tests/") for name in names)


def test_what_it_installs_finds_its_sources_inside_itself(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = (
        "import json, sys; from hpcscope.build.cmake import sources_of;"
        " from hpcscope.models.published import reference;"
        " from hpcscope.lab.description import PRESETS;"
        f" found = [str(sources_of(name, name)) for name in {NATIVE[:5]!r}];"
        " print(json.dumps([*found, str(reference.directory()), str(PRESETS), *reference.names()]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    places = json.loads(done.stdout)
    assert all(place.startswith(str(tmp_path)) for place in places[:7])
    assert len(places) > 6


def test_the_script_runs_where_no_python_stands_beside_it(tmp_path: Path) -> None:
    """As `pip install --user` and a module of a site put it."""
    script = Path(shutil.copy2(ROOT / "bin/scope", tmp_path))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [script, "--version"], env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout == f"scope {VERSION}\n"
    (tmp_path / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    (tmp_path / "python3").chmod(0o755)
    environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [script, "--version"], env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 1
    assert "package hpcscope" in done.stderr
    assert done.stderr.count("\n") == 1
