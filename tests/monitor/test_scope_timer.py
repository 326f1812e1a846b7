"""The clock for application programs: built, installed, linked from C, C++ and Fortran, seen by the monitor."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from hpcscope.build import cmake, timer
from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles import regions
from tests.cli.scope_command import answered, scope
from tests.messages import mentions
from tests.monitor.conftest import Run
from tests.monitor.test_call_paths import functions, paths
from tests.patience import PATIENCE_S

RANKS = 2
TRIAD = re.compile(r"triad +[\d.Ee+-]+ u?s, +[\d.Ee+-]+ G?B/s, last item 200002\.?\n")
KNOWN_INTERVAL = r"""
#include <scope_timer.h>
#include <stdio.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main(void) {
  scope_stopwatch watch = {0};
  double inside = 0, outside = 0;
  for (int i = 0; i < 5; ++i) {
    const double before = now();
    scope_stopwatch_start(&watch);
    const double begin = now();
    while (now() - begin < 0.02) continue;
    inside += now() - begin;
    scope_stopwatch_stop(&watch);
    outside += now() - before;
  }
  printf("%.9g %.9g %.9g %d %s [%s] %g %g\n", scope_stopwatch_seconds(&watch), inside, outside,
         (int)watch.intervals, scope_timer_source(), scope_timer_fallback_reason(), scope_timer_resolution(),
         scope_timer_overhead());
  scope_stopwatch_reset(&watch);
  return scope_stopwatch_seconds(&watch) == 0 && watch.intervals == 0 ? 0 : 1;
}
"""


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `scope build --timer --prefix` installed it, found as its user finds it."""
    folder = tmp_path_factory.mktemp("timer")
    ended = answered(folder, "build", "--timer", "--prefix", "here", "--json")
    assert ended.code == 0, ended.errors
    told = json.loads(ended.output)
    assert told["prefix"] == str(folder / "here")
    return folder / "here"


@pytest.fixture(scope="module")
def flags(prefix: Path) -> list[str]:
    asked = ("pkg-config", "--cflags", "--libs", "scope-timer")
    return run(*asked, folder=prefix, PKG_CONFIG_PATH=str(timer.packages(prefix))).split()


def test_a_prefix_belongs_to_the_timer(tmp_path: Path) -> None:
    assert mentions(answered(tmp_path, "build", "--prefix", "x").refusal(), "--prefix: ... --timer")
    (tmp_path / "file").touch()
    failed = scope(tmp_path, "build", "--timer", "--prefix", "file/below")
    assert (failed.code, failed.errors.count("\n")) == (1, 1), failed
    assert mentions(failed.errors, "file/below: ... Not a directory")


@pytest.mark.parametrize("language", ["c", "cpp", "f90"])
def test_the_examples_run(language: str, prefix: Path, flags: list[str], tmp_path: Path) -> None:
    (source,) = prefix.rglob(f"examples/triad.{language}")
    compilers = {
        "c": ["cc", "-std=c11", source, *flags],
        "cpp": ["c++", "-std=c++17", source, *[one for one in flags if one.startswith("-I")]],
        "f90": ["gfortran", prefix / timer.INCLUDES / "scope_timer.f90", source, *flags],
    }
    strict = [] if language == "f90" else ["-Wall", "-Wextra", "-Werror"]
    run(*compilers[language], *strict, "-O2", "-o", "triad", folder=tmp_path)
    printed = run("./triad", folder=tmp_path, LD_LIBRARY_PATH=str(timer.packages(prefix).parent))
    assert TRIAD.search(printed), printed


def test_a_known_interval_is_measured(prefix: Path, flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "known.c").write_text(KNOWN_INTERVAL)
    # By CMake's package, from a prefix that was moved, and without the run-time library of C++.
    moved = (tmp_path / "moved").resolve()
    subprocess.run(["cp", "-a", prefix, moved], check=True)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(known LANGUAGES C)\n"
        "find_package(scope-timer 1.0 REQUIRED)\n"
        "add_executable(known known.c)\ntarget_link_libraries(known scope-timer::static)\n"
    )
    tools = ("-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={cmake.tool('ninja')}", f"-DCMAKE_PREFIX_PATH={moved}")
    run(cmake.tool("cmake"), "-S", ".", "-B", "build", *tools, folder=tmp_path)
    run(cmake.tool("cmake"), "--build", "build", folder=tmp_path)
    told = run("build/known", folder=tmp_path).split()
    # Between an interval inside and one outside of it, by another clock.
    watched_s, inside_s, outside_s = map(float, told[:3])
    assert 0.99 * inside_s <= watched_s <= 1.01 * outside_s
    assert told[3] == "5"
    assert (told[4] == "clock_gettime") == (told[5] != "[]")
    resolution_s, overhead_s = map(float, told[-2:])
    assert 0 < resolution_s < 1e-3
    assert 0 < overhead_s < 1e-3


def test_the_manual_page_has_every_function(prefix: Path) -> None:
    (page,) = prefix.rglob("scope_timer.3")
    declared = set(re.findall(r"\b(scope_\w+)\((?!3)", (prefix / timer.HEADER).read_text()))
    assert len(declared) == 14
    assert declared <= set(re.findall(r"scope_\w+", page.read_text()))
    module = (prefix / timer.INCLUDES / "scope_timer.f90").read_text()
    assert declared <= set(re.findall(r"scope_\w+", module.partition("contains")[0]))


def test_regions_have_their_names(run: Run, embedded: MpiInstallation, prefix: Path, tmp_path: Path) -> None:
    source = Path(__file__).with_name("regions.cpp")
    include = f"-I{prefix / timer.INCLUDES}"
    compiler = [embedded.compiler, "-std=c++17", include, str(source), "-o", str(tmp_path / "regions")]
    subprocess.run(compiler, check=True, timeout=PATIENCE_S)
    ended = run(embedded, RANKS, program=tmp_path / "regions", SCOPE_MONITOR_OPTIONS="depth=2")
    assert ended.code == 0, ended.errors
    found = {one.name: one for one in regions.regions(ended.profiles)}
    assert set(found) == {"", "solve", "exchange of halos", "x" * 63, "inner", "deep"}
    assert {one.processes for one in found.values()} == {RANKS}
    # An outer region is entered again when an inner one ends.
    assert found["solve"].entries == 2 * 3 * RANKS
    assert found["exchange of halos"].entries == 3 * RANKS
    assert found["x" * 63].entries == 2 * RANKS
    assert found[""].number == 0
    calls: dict[str, int] = {}
    names = regions.region_names(ended.profiles)
    for one in ended.profiles:
        for row in one.tables["calls"]:
            if one.routine(int(row["routine"])) == "MPI_Barrier":
                name = names.get(int(row["region"]), "")
                calls[name] = calls.get(name, 0) + int(row["calls"])
    assert calls == {"": 2 * RANKS, "solve": 6 * RANKS, "exchange of halos": 12 * RANKS, "deep": RANKS}
    beginnings = {path.partition(" < ")[0] for path, one in paths(functions(ended)) if one.name == "MPI_Barrier"}
    assert beginnings == {"outside of regions", "solve", "exchange of halos", "deep"}
