"""Other tools over the profiling interface, preloaded beside the monitor: each gets the calls, or it is said."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcscope.build import monitor
from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles.merged import merge
from hpcscope.programs.profiles.monitored_run import Options
from hpcscope.programs.profiles.monitored_run import run as run_monitored
from tests.messages import mentions
from tests.monitor.conftest import Run
from tests.monitored_ring import AS_ROOT
from tests.patience import PATIENCE_S

RANKS = 2
BARRIERS = 11
"""Of each rank in mode `regions` of program.cpp; MPI_Pcontrol hides four of them from the monitor."""
TOOL = """
#include <mpi.h>
#include <cstdio>
static int calls = 0;
extern "C" int MPI_Barrier(MPI_Comm comm) {
  ++calls;
  return PMPI_Barrier(comm);
}
extern "C" int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++calls;
  return PMPI_Allreduce(in, out, n, type, op, comm);
}
__attribute__((destructor)) static void say() {
  if (calls) std::fprintf(stderr, "tool: %d\\n", calls);
}
"""


@pytest.fixture(scope="module")
def tool(embedded: MpiInstallation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tool")
    (folder / "tool.cpp").write_text(TOOL)
    library = folder / "libtool.so"
    words = [embedded.compiler, "-shared", "-fPIC", str(folder / "tool.cpp"), "-o", str(library)]
    subprocess.run(words, check=True, timeout=PATIENCE_S)
    return library


def test_a_tool_behind_the_monitor_gets_its_calls(run: Run, embedded: MpiInstallation, tool: Path) -> None:
    ended = run(embedded, RANKS, "regions", LD_PRELOAD=f"{monitor.build(embedded)}:{tool}")
    assert ended.errors.count(f"tool: {BARRIERS}\n") == RANKS, ended.errors
    for one in ended.profiles:
        assert (one.header.other_tool, one.header.hidden_routines) == (str(tool), ())
        assert ended.totals(one.rank)["Barrier"] == (BARRIERS - 4, 0)


def test_what_a_tool_before_the_monitor_hides_is_said(run: Run, embedded: MpiInstallation, tool: Path) -> None:
    ended = run(embedded, RANKS, "regions", LD_PRELOAD=f"{tool}:{monitor.build(embedded)}")
    assert ended.errors.count(f"tool: {BARRIERS}\n") == RANKS, ended.errors
    told = [line for line in ended.errors.splitlines() if "MPI_Allreduce MPI_Barrier" in line]
    assert len(told) == 1
    assert str(tool) in told[0]
    for one in ended.profiles:
        assert one.header.other_tool == str(tool)
        assert one.header.hidden_routines == ("MPI_Allreduce", "MPI_Barrier")
        assert "Barrier" not in ended.totals(one.rank)
    warnings = merge(ended.profiles[0].path.parent).warnings
    assert any(mentions(text, f"{tool} ... MPI_Allreduce, MPI_Barrier") for text in warnings)


def test_a_tool_of_the_environment_is_kept(
    embedded: MpiInstallation, compiled: Callable[[MpiInstallation], Path], tool: Path, tmp_path: Path
) -> None:
    words = ["--map-by", ":oversubscribe", "-n", str(RANKS), str(compiled(embedded)), "regions"]
    with (tmp_path / "errors").open("wb") as errors:
        ended = run_monitored(
            [embedded.launcher, *words],
            tmp_path / "run",
            Options(),
            environment={**AS_ROOT, "LD_PRELOAD": str(tool)},
            stderr=errors,
        )
    assert ended.code == 0
    assert (tmp_path / "errors").read_text().count(f"tool: {BARRIERS}\n") == RANKS
    merged = merge(tmp_path / "run")
    assert merged.other_tools == [str(tool)]
    assert sum(one.calls for one in merged.calls if one.routine == "MPI_Barrier") == RANKS * (BARRIERS - 4)
