"""Every collective, in every way of calling it, at every number of processes; and every check seen to fail."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hpcscope.build import registry
from hpcscope.machine.machine import NativeBuild
from hpcscope.samples.records import CaseRecord
from tests.installed_mpi import NAMES, under_every_mpi
from tests.measure.conftest import Ended, Measure
from tests.messages import mentions

ROOTED = ["broadcast", "scatter", "scatterv", "gather", "gatherv"]
MOVEMENTS = [*ROOTED, "allgather", "allgatherv", "alltoall", "alltoallv"]
REDUCTIONS = ["reduce", "allreduce", "scan", "exscan", "reduce_scatter_block", "reduce_scatter"]
UNEQUAL = ["scatterv", "gatherv", "allgatherv", "alltoallv", "reduce_scatter"]
CALLS = ["blocking", "nonblocking", "overlapped", "persistent"]


def in_every_way(root: int) -> Iterator[str]:
    """Every collective and call, with a size that no number of processes divides."""
    for call in CALLS:
        yield f"mpi.barrier call={call}"
        for name in MOVEMENTS:
            at = f" root={root}" if name in ROOTED else ""
            yield f"mpi.{name} call={call} message_bytes=1001{at}"
        yield from (f"mpi.{name} call={call} message_bytes=1000" for name in REDUCTIONS)


def of_every_shape() -> Iterator[str]:
    """The smallest sizes, the other operator, and blocks that differ, some of them empty."""
    for size in (0, 1):
        yield from (f"mpi.{name} message_bytes={size}" for name in MOVEMENTS)
    for operator, size in (("sum", 0), ("sum", 8), ("lor", 4), ("lor", 1004)):
        yield from (f"mpi.{name} operator={operator} message_bytes={size}" for name in REDUCTIONS)
    for blocks in ("proportional", "one_empty", "one_has_all"):
        yield from (f"mpi.{name} blocks={blocks} message_bytes=1000" for name in UNEQUAL)


def in_groups(root: int) -> Iterator[str]:
    """Every collective among groups of two and of three ranks; a root of -1 is the last rank of each."""
    for size in (2, 3):
        yield f"mpi.barrier group_ranks={size}"
        for name in MOVEMENTS:
            at = f" root={root % size}" if name in ROOTED else ""
            yield f"mpi.{name} group_ranks={size} message_bytes=1001{at}"
        for name in REDUCTIONS:
            at = f" root={root % size}" if name == "reduce" else ""
            yield f"mpi.{name} group_ranks={size} message_bytes=1000{at}"


def wrong(ended: Ended) -> list[str]:
    """Return what is not right of a launch that should be all right."""
    return [ended.errors] * (ended.code != 0) + [
        f"{case.benchmark} {case.parameters}: {case.reason}" for case in ended.cases if case.status != "ok"
    ]


def is_stale(case: CaseRecord, build: NativeBuild) -> bool:
    """Say whether MPICH 4.0 is known to give stale data: of persistent scatter, gather and allgather."""
    names = ("mpi.scatter", "mpi.gather", "mpi.allgather")
    known = case.benchmark in names and case.parameters["call"] == "persistent"
    return known and build.mpi.name == "mpich" and build.mpi.version.startswith("4.0")


SLOW = pytest.mark.slow(
    "further numbers of ranks; there, 1 and 3, every benchmark runs on 2 and 4, and every collective on 5"
)


# Small numbers, with powers of two and their neighbors, and a large odd one.
@pytest.mark.parametrize("ranks", [1, 3, *(pytest.param(n, marks=SLOW) for n in (2, 4, 5, 6, 7, 8, 9, 17))])
def test_every_collective_is_right_at_many_numbers_of_processes(ranks: int, measure: Measure) -> None:
    plan = [*in_every_way(ranks - 1), *of_every_shape()]
    if ranks > 9:  # each call has been seen to end at every number; many more ranks than cores take long
        plan = [line for line in plan if "call=" not in line or "call=blocking" in line]
    ended = measure(ranks, plan)
    assert wrong(ended) == []
    assert len(ended.cases) == len(plan)
    for case in ended.cases:
        assert case.work is not None
        assert ranks > 1 or case.work.bytes == 0, "one process moves nothing and has no bandwidth"
        assert case.verification is not None
        gets_something = ranks > 1 or case.benchmark != "mpi.exscan"
        if case.parameters.get("message_bytes") != 0 and gets_something:
            assert case.verification.checks > 0


@pytest.mark.slow("every collective under the other MPIs; there, test_other_mpis.py calls seven of all kinds")
@pytest.mark.parametrize("mpi", NAMES[1:], indirect=True)
def test_every_collective_is_right_under_every_other_mpi(build: NativeBuild, measure: Measure) -> None:
    ended = measure(2, [*in_every_way(1), *of_every_shape()], native=build)
    assert ended.cases
    for case in ended.cases:
        if case.status == "unavailable":
            assert "persistent" in case.reason
            assert not build.mpi.version.startswith("4.1"), "Open MPI 4.1 has them as extensions"
        elif is_stale(case, build):
            assert case.status in ("ok", "failed")
        else:
            assert case.status == "ok", f"{case.benchmark} {case.parameters}: {case.reason}"


def test_groups_call_every_collective_at_the_same_time(measure: Measure) -> None:
    """Each among its own ranks only, and every byte that any of them received is right."""
    ended = measure(6, list(in_groups(1)))
    assert wrong(ended) == []
    for case in ended.cases:
        assert case.work is not None
        size = int(case.parameters["group_ranks"])
        if case.benchmark == "mpi.alltoall":
            assert case.work.bytes == 6 / size * 1001 * size**2
            assert case.work.messages == 6 / size * size * (size - 1)
        if case.benchmark == "mpi.allreduce":
            assert case.work.bytes == 6 * 1000


def test_a_group_of_one_rank_sends_nothing_and_ranks_that_fill_no_groups_are_refused(measure: Measure) -> None:
    alone, refused = measure(3, ["mpi.alltoall group_ranks=1", "mpi.alltoall group_ranks=2"]).cases
    assert (alone.status, alone.work and alone.work.bytes) == ("ok", 0)
    assert refused.status == "unavailable"
    assert mentions(refused.reason, ": group_ranks=2: ... 3")


@pytest.mark.parametrize(("fault", "root"), [("wrong-result", 0), ("corrupt-payload", -1)])
def test_a_wrong_result_in_the_first_or_last_group_is_noticed(fault: str, root: int, measure: Measure) -> None:
    faults = " ".join(f"{fault}:mpi.{name}" for name in (*MOVEMENTS, *REDUCTIONS))
    # The first rank receives nothing from MPI_Exscan.
    plan = [line for line in in_groups(root) if "barrier" not in line and (root or "exscan" not in line)]
    ended = measure(6, plan, SCOPE_FAULT=faults)
    assert len(ended.cases) == len(plan), ended.errors
    for case in ended.cases:
        assert case.status == "failed", f"{case.benchmark} {case.parameters}"


def test_groups_call_in_every_way(measure: Measure) -> None:
    plan = [f"mpi.{name} group_ranks=3 call={call}" for name in ("alltoallv", "allreduce") for call in CALLS]
    plan += [f"mpi.alltoallv group_ranks=3 blocks={blocks}" for blocks in ("proportional", "one_empty")]
    plan += ["mpi.broadcast group_ranks=2 cache=cold", "mpi.gather group_ranks=2 root=2"]
    *others, refused = measure(6, plan).cases
    assert [case.reason for case in others if case.status != "ok" and "persistent" not in case.reason] == []
    assert mentions(refused.reason, "root=2: ... 2")


@under_every_mpi("test_other_mpis.py calls seven collectives of all kinds")
def test_five_processes_under_every_mpi(build: NativeBuild, measure: Measure) -> None:
    plan = [line for line in in_every_way(3) if "call=blocking" in line]
    ended = measure(5, plan, native=build)
    assert wrong(ended) == []
    assert len(ended.cases) == len(plan)


def test_a_corrupted_payload_is_noticed_in_every_row_and_call(measure: Measure) -> None:
    rows = [line for line in in_every_way(2) if "barrier" not in line]
    # The last rank must be the root of what only the root gets.
    plan = [f"{line} root=2" if line.startswith("mpi.reduce ") else line for line in rows]
    faults = " ".join(f"corrupt-payload:mpi.{name}" for name in (*MOVEMENTS, *REDUCTIONS))
    ended = measure(3, [*plan, "mpi.barrier"], SCOPE_FAULT=faults)
    *broken, sound = ended.cases
    assert sound.status == "ok"
    assert len(broken) == len(plan)
    for case in broken:
        assert case.status == "failed", f"{case.benchmark} {case.parameters}"
        assert "rank 2 on " in case.reason


@pytest.mark.parametrize("operator", ["sum", "lor"])
def test_a_wrong_result_is_noticed_in_every_row(operator: str, measure: Measure) -> None:
    # What rank 0 gets of an exscan is undefined.
    combining = [name for name in REDUCTIONS if name != "exscan"]
    plan = [f"mpi.{name} message_bytes=1001" for name in MOVEMENTS]
    plan += [f"mpi.{name} operator={operator} message_bytes=1000" for name in combining]
    plan += [f"mpi.{name} blocks=proportional message_bytes=1000 call=nonblocking" for name in UNEQUAL]
    faults = " ".join(f"wrong-result:mpi.{name}" for name in (*MOVEMENTS, *combining))
    ended = measure(3, plan, SCOPE_FAULT=faults)
    assert len(ended.cases) == len(plan)
    for case in ended.cases:
        assert case.status == "failed", f"{case.benchmark} {case.parameters}"
        assert "rank 0 on " in case.reason


BROKEN_BARRIERS = """
#include <mpi.h>
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
  return comm == MPI_COMM_NULL ? MPI_ERR_COMM : PMPI_Ibarrier(MPI_COMM_SELF, request);
}
int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  return comm == MPI_COMM_NULL ? MPI_ERR_COMM : PMPI_Barrier_init(MPI_COMM_SELF, info, request);
}
"""


def test_a_barrier_that_does_not_wait_is_noticed(
    measure: Measure, embedded_build: NativeBuild, tmp_path: Path
) -> None:
    source, library = tmp_path / "broken.c", tmp_path / "broken.so"
    source.write_text(BROKEN_BARRIERS)
    compiler = embedded_build.mpi.compiler.replace("mpicxx", "mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    plan = [f"mpi.barrier call={call}" for call in CALLS]
    ended = measure(2, plan, LD_PRELOAD=str(library))
    assert [case.status for case in ended.cases] == ["ok", "failed", "failed", "failed"], ended.errors
    assert "left the barrier" in ended.cases[1].reason


def test_what_hides_behind_a_computation_is_observed_by_overlapped_calls_alone(measure: Measure) -> None:
    plan = [f"mpi.allreduce call={call} sampling.budget_s=0.05" for call in ("blocking", "overlapped")]
    blocking, overlapped = measure(2, plan, action="run").cases
    assert blocking.series[0].observed == {}
    series = overlapped.series[0]
    parts = np.array([series.observed[name] for name in ("exchange_s", "computation_s", "hidden_share")])
    assert (parts[:, 0] == parts[:, 1]).all(), "all ranks agree on the slowest one's times"
    exchange_s, computation_s, share = parts[:, 0]
    both_s = np.max(series.elapsed_s, axis=0) / series.operations
    shorter_s = np.maximum(np.minimum(exchange_s, computation_s), 1e-9)
    hidden_s = exchange_s + computation_s - both_s
    # Times have nine digits: the error of the difference is that of the longest.
    longest_s = max(exchange_s.max(), computation_s.max(), both_s.max())
    np.testing.assert_allclose(share * shorter_s, hidden_s, rtol=1e-4, atol=1e-8 * longest_s)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("mpi.reduce message_bytes=1001", "message_bytes=1001: ... 8"),
        ("mpi.reduce message_bytes=1001 operator=lor", "message_bytes=1001: ... 4"),
        ("mpi.broadcast root=2", "root=2: ... 2"),
        (f"mpi.broadcast message_bytes={3 << 30}", "large-count calls of MPI 4"),
        (f"mpi.gatherv message_bytes={3 << 29}", "3221225472 ... large-count calls"),
        (f"mpi.allreduce message_bytes={1 << 40}", "large-count calls"),
    ],
)
def test_what_does_not_fit_is_unavailable_with_its_reason(line: str, reason: str, measure: Measure) -> None:
    ended = measure(2, [line])
    assert ended.code == 0
    assert [case.status for case in ended.cases] == ["unavailable"]
    assert mentions(ended.cases[0].reason, reason)


def test_buffers_that_the_host_cannot_hold_are_unavailable(measure: Measure) -> None:
    # 2 x 17 x 17 x 2 GiB.
    (case,) = measure(17, [f"mpi.alltoall message_bytes={(1 << 31) - 1}"]).cases
    assert case.status == "unavailable"
    assert "MB of memory on this host" in case.reason


def test_one_process_is_looped_until_the_clock_can_tell_its_time(measure: Measure) -> None:
    # An interrupt of the machine may make the very operation long that tells how many are needed, but not in all.
    ended = measure(1, ["mpi.broadcast sampling.budget_s=0.02"] * 5, action="run")
    isolated = [case.series[0] for case in ended.cases]
    assert {series.synchronization for series in isolated} == {"none"}
    assert max(series.operations for series in isolated) >= 32


def test_the_tables_are_all_registered(embedded_build: NativeBuild) -> None:
    listed = {benchmark.name for benchmark in registry.load(embedded_build.program)}
    assert {f"mpi.{name}" for name in ("barrier", *MOVEMENTS, *REDUCTIONS)} <= listed
