"""Building the monitor: once per MPI, found again, and with clear words when it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.build import monitor
from hpcscope.errors import ScopeError
from hpcscope.machine.machine import MpiInstallation

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_library(scope-monitor SHARED small.cpp)
install(TARGETS scope-monitor DESTINATION .)
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny library of the same name and an empty cache."""
    sources = tmp_path / "monitor"
    sources.mkdir()
    (sources / "CMakeLists.txt").write_text(CMAKE)
    (sources / "small.cpp").write_text("int nothing() { return 0; }\n")
    monkeypatch.setattr(monitor, "source_directory", lambda: sources)
    monkeypatch.setenv("SCOPE_CACHE", str(tmp_path / "cache"))
    return sources


def test_it_is_built_once_and_found(small: Path, embedded: MpiInstallation) -> None:
    assert monitor.built(embedded) is None
    library = monitor.build(embedded)
    assert library.name == "libscope-monitor.so"
    made = library.stat().st_mtime_ns
    assert monitor.built(embedded) == monitor.build(embedded) == library
    assert library.stat().st_mtime_ns == made
    (small / "small.cpp").write_text("int nothing() { return 1; }\n")
    assert monitor.built(embedded) is None


def test_a_failed_build_shows_the_first_error_and_the_log(small: Path, embedded: MpiInstallation) -> None:
    (small / "small.cpp").write_text("int nothing() { return missing; }\n")
    with pytest.raises(ScopeError, match=r"scope-monitor .*openmpi .*log: ") as failure:
        monitor.build(embedded)
    assert "\n" not in str(failure.value)
    assert monitor.built(embedded) is None


def test_the_sources_come_with_scope() -> None:
    assert {"CMakeLists.txt", "routines.txt", "generate.py", "exports.map"} <= {
        path.name for path in monitor.source_directory().iterdir()
    }
