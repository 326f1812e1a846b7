"""The cache of builds: what it holds is listed, and what was not used is removed."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from pathlib import Path

import pytest

from hpcscope.build import identity
from hpcscope.cli import answer
from tests.messages import mentions

DAY_S = 86400


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with an old build and its objects, a new build, and an old small program."""
    root = tmp_path / "cache"
    for name, days in (("build/old", 40), ("objects/old", 40), ("build/new", 1)):
        folder = root / name
        folder.mkdir(parents=True)
        (folder / "program").write_bytes(b"x" * 1000)
        (folder / "again").hardlink_to(folder / "program")
        lock = folder.with_suffix(".lock")
        lock.touch()
        os.utime(lock, (time.time() - days * DAY_S,) * 2)
    (root / "build/old/build.log").write_text("$ cmake -S /x/measure -B y -DCMAKE_CXX_COMPILER=/x/mpicxx\n")
    (root / "objects/old/CMakeCache.txt").write_text(
        "CMAKE_HOME_DIRECTORY:INTERNAL=/x/measure\nCMAKE_CXX_COMPILER:STRING=/x/mpicxx\n"
    )
    (root / "wire").mkdir()
    (root / "wire/abc").write_bytes(b"x" * 10)
    os.utime(root / "wire/abc", (time.time() - 40 * DAY_S,) * 2)
    monkeypatch.setenv("SCOPE_CACHE", str(root))
    return root


def test_it_is_listed_with_sizes(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["cache", "list", "--json"]) == 0
    listed = {(each["kind"], each["path"]): each for each in json.loads(capsys.readouterr().out)}
    assert next(iter(listed)) == ("build", str(cache / "build/new"))
    assert listed["build", str(cache / "build/new")]["size_bytes"] == 1000
    assert listed["build", str(cache / "build/old")]["of"] == "measure, /x/mpicxx"
    assert listed["objects", str(cache / "objects/old")]["of"] == "measure, /x/mpicxx"
    assert listed["program", str(cache / "wire/abc")]["of"] == "wire"
    assert answer(["cache"]) == 0
    assert str(cache) in capsys.readouterr().out


def test_what_was_not_used_for_a_month_is_removed(cache: Path) -> None:
    assert answer(["cache", "prune"]) == 0
    left = {str(path.relative_to(cache)) for path in cache.glob("*/*") if path.suffix != ".lock"}
    assert left == {"build/new"}


def test_a_build_that_goes_on_is_kept(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = os.open(cache / "build/old.lock", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        assert answer(["cache", "prune", "--older", "0"]) == 0
    finally:
        os.close(held)
    assert re.search(r"\b1$", capsys.readouterr().out.strip()), "how many were in use, and kept"
    assert (cache / "build/old/program").exists()
    assert not (cache / "build/new").exists()


def test_a_cache_that_others_may_write_is_refused(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache.chmod(0o777)
    assert answer(["cache", "prune", "--older", "0"]) == 1
    assert mentions(capsys.readouterr().err, f"{cache} ... chmod")
    assert (cache / "build/new/program").exists()


@pytest.mark.parametrize("change", ["begin", "end", "size"])
def test_a_large_program_is_known_by_its_size_begin_and_end(change: str, tmp_path: Path) -> None:
    program = tmp_path / "cc1plus"
    content = bytearray(5 * identity.END_BYTES)
    program.write_bytes(content)
    before = identity.digest(program)
    assert identity.digest(program) == before
    if change == "size":
        content += b"\0"
    else:
        content[0 if change == "begin" else -1] = 1
    other = tmp_path / "other"
    other.write_bytes(content)
    assert identity.digest(other) != before
