"""The native program under real launchers: every benchmark is right, and every check is seen to fail."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from hpcscope.build import registry
from hpcscope.catalog.benchmark import Benchmark
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from tests.installed_mpi import under_every_mpi
from tests.measure.conftest import Ended, Measure, only_case

BENCHMARKS = Path(__file__).resolve().parents[2] / "measure" / "src" / "benchmarks"

PAYLOADS = [
    ("network.latency", 2),
    ("mpi.latency message_bytes=1000", 2),
    ("mpi.bandwidth message_bytes=1000", 2),
    ("mpi.broadcast message_bytes=1000", 3),
    ("mpi.connect", 2),
    ("operation.broadcast n=30 buffers=cold", 3),
    ("operation.broadcast n=30 buffers=warm", 3),
]

RESULTS = [
    *(("node.stream kernel=" + kernel, 1) for kernel in ("copy", "scale", "add", "triad")),
    *(("node.thread_sync operation=" + operation, 1) for operation in ("lock", "atomic", "barrier", "condition")),
]

MAY_LACK = {"spawn", "scalapack", "device"}
"""Not every MPI starts further processes, nor has a ScaLAPACK here; only test_devices.py has a device."""

OF_MPI_4 = {"mpi.partitioned"}
"""Benchmarks of routines that an older library lacks: Open MPI 4 is of MPI 3.1."""


def test_the_list_and_the_folder_name_the_same_benchmarks(embedded_build: NativeBuild) -> None:
    listed = registry.load(embedded_build.program)
    # A source with a header beside it is shared by several benchmarks.
    alone = [path for path in BENCHMARKS.rglob("*.cpp") if not path.with_suffix(".hpp").exists()]
    sources = {str(path.relative_to(BENCHMARKS)) for path in alone}
    specifications = {str(path.relative_to(BENCHMARKS)) for path in BENCHMARKS.rglob("*.md")}
    assert {benchmark.source for benchmark in listed} == sources
    assert {benchmark.specification for benchmark in listed} == specifications
    for benchmark in listed:
        text = (BENCHMARKS / benchmark.specification).read_text()
        for part in ("Objective", "Inputs", "Outputs", "Timing procedure", "Metrics", "Rules", "Reference"):
            assert f"**{part}.**" in text, f"{benchmark.specification} lacks {part}"


TWO = pytest.mark.slow(
    "every benchmark on two ranks is right in test_resynchronization.py, with slow checks there"
)
FOUR = pytest.mark.slow(
    "every benchmark once more; there, two ranks have all that run on two, and five ranks have the collectives"
)


@under_every_mpi("test_other_mpis.py has a few benchmarks of each kind on two and on three ranks")
@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=TWO), pytest.param(4, marks=FOUR)])
def test_every_benchmark_is_right_under_every_mpi(
    ranks: int, build: NativeBuild, embedded: MpiInstallation, measure: Measure
) -> None:
    listed = registry.load(build.program)
    # What knows no MPI, and is the same program for all of them, runs with the first.
    only = None
    if build.mpi.compiler != embedded.compiler:
        # The launcher of Open MPI 4 may wait for children for ever.
        hangs = build.mpi.name == "openmpi" and build.mpi.version.startswith("4.")
        left_out = {"mpi.spawn"} if hangs else set()
        only = [
            one.name
            for one in listed
            if one.level not in ("node", "device", "network")
            and one.ranks.allows(ranks)
            and one.name not in left_out
        ]
    if ranks > (os.cpu_count() or 1) and build.mpi.name == "mpich" and build.mpi.version.startswith("4."):
        # Its waiting ranks keep the processors of those that work: what sends most is left to the other MPIs.
        only = [
            each.name for each in listed if each.name.startswith(("mpi.", "operation.")) and each.ranks.allows(4)
        ]
    ended = measure(ranks, only, native=build)
    all_are_right(ended, listed)
    assert len(ended.launch.processes) == ranks


def all_are_right(ended: Ended, listed: Sequence[Benchmark]) -> None:
    """Assert that every case is right, or that its MPI or this machine lacks what it needs."""
    assert ended.code == 0, ended.errors
    assert ended.cases
    lacking = {each.name for each in listed if MAY_LACK & set(each.requires)}
    if ended.launch.mpi_standard < "4":
        lacking |= OF_MPI_4
    for case in ended.cases:
        assert case.status == "ok" or (case.status == "unavailable" and case.benchmark in lacking), case.reason


OTHER_STARTS = pytest.mark.slow("every benchmark once more; there, two and four ranks have either way by default")


@pytest.mark.parametrize(
    ("ranks", "how"),
    [
        pytest.param(2, "dissemination", marks=OTHER_STARTS),
        pytest.param(3, "window", marks=OTHER_STARTS),
        pytest.param(3, "dissemination", marks=OTHER_STARTS),
    ],
)
def test_every_benchmark_is_right_however_ranks_are_synchronized(
    ranks: int, how: str, embedded_build: NativeBuild, measure: Measure
) -> None:
    """With an odd number of ranks, some have no partner; none may wait for those that do not come."""
    fitting = [each.name for each in registry.load(embedded_build.program) if each.ranks.allows(ranks)]
    rounds = [f"mpi.pairs round={number} load={load}" for number in (0, 1) for load in ("isolated", "concurrent")]
    ended = measure(ranks, [f"{line} sampling.synchronization={how}" for line in (*fitting, *rounds)])
    assert ended.code == 0, ended.errors
    allowed = {"mpi.pairs", *(each.name for each in registry.load(embedded_build.program) if each.requires)}
    for case in ended.cases:
        assert case.status == "ok" or (case.status == "unavailable" and case.benchmark in allowed), case.reason


@pytest.mark.parametrize("ranks", [5, 8, 9])
def test_more_ranks_than_cores_and_odd_numbers_of_them(ranks: int, measure: Measure) -> None:
    plan = ["mpi.barrier", "mpi.broadcast message_bytes=100", "operation.broadcast n=30"]
    ended = measure(ranks, plan)
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["ok"] * len(plan)


@pytest.mark.parametrize("completion", ["blocking", "nonblocking"])
@pytest.mark.parametrize("mode", ["standard", "buffered", "synchronous", "ready"])
def test_every_send_mode_delivers_every_size(mode: str, completion: str, measure: Measure) -> None:
    sizes = (0, 1, 1000, 70_000, 4_194_304)
    ended = measure(2, [f"mpi.latency mode={mode} completion={completion} message_bytes={size}" for size in sizes])
    assert ended.code == 0, ended.errors
    for case, size in zip(ended.cases, sizes, strict=True):
        # Both ranks compare every byte, once at least.
        assert case.status == "ok"
        assert case.verification is not None
        assert case.verification.checks >= 2 * size


@pytest.mark.parametrize(("case", "ranks"), PAYLOADS)
def test_a_corrupted_payload_fails_its_case_alone(case: str, ranks: int, measure: Measure) -> None:
    name = case.split()[0]
    ended = measure(ranks, [case, "mpi.barrier"], SCOPE_FAULT=f"corrupt-payload:{name}")
    assert ended.code == 1
    broken, sound = ended.cases
    assert (broken.status, sound.status) == ("failed", "ok")
    assert f"rank {ranks - 1} on " in broken.reason


@pytest.mark.parametrize(("case", "ranks"), RESULTS)
def test_a_wrong_result_fails_its_case(case: str, ranks: int, measure: Measure) -> None:
    ended = measure(ranks, [case], SCOPE_FAULT=f"wrong-result:{case.split()[0]}")
    assert ended.code == 1
    assert only_case(ended).status == "failed"
    assert "rank 0 on " in only_case(ended).reason


BROKEN_LIBRARY = """
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>
int pthread_barrier_wait(pthread_barrier_t* barrier) {  /* all but the first thread are late, and none waits */
  if (gettid() != getpid()) usleep(100);
  return barrier == NULL;
}
int MPI_Barrier(MPI_Comm comm) { return comm == MPI_COMM_NULL; }
double MPI_Wtime(void) { static double now = 1e6; return now -= 1e-6; }
"""


@pytest.mark.parametrize(
    ("case", "ranks", "complaint"),
    [
        ("mpi.barrier", 2, "left the barrier"),
        ("node.timer clock=mpi_wtime", 1, "backwards"),
        ("node.thread_sync operation=barrier rounds=20", 1, "left the barrier"),
    ],
)
def test_a_library_that_does_not_keep_its_word_is_caught(
    case: str, ranks: int, complaint: str, measure: Measure, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    assert only_case(measure(ranks, [case])).status == "ok"
    source, library = tmp_path / "broken.c", tmp_path / "broken.so"
    source.write_text(BROKEN_LIBRARY)
    compiler = embedded_build.mpi.compiler.replace("mpicxx", "mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    ended = measure(ranks, [case], LD_PRELOAD=str(library))
    assert ended.code == 1, ended.errors
    assert only_case(ended).status == "failed"
    assert complaint in only_case(ended).reason
