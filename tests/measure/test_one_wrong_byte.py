"""One wrong byte in one of many thousand operations fails its case, wherever and whenever it comes; so do lost data.

A message-passing library that goes wrong is preloaded under the native program. Each case has messages of a length of
its own, by which the library knows its operations.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scope.machine.machine import NativeBuild
from tests.measure.conftest import Ended, Measure

RANKS = 2
MOVED = {
    # Bytes that an operation receives, over the length that its case names.
    "mpi.allgather": RANKS,
    "mpi.allgatherv": RANKS,
    "mpi.alltoall": RANKS,
    "mpi.alltoallv": RANKS,
    "mpi.gather": RANKS,
    "mpi.gatherv": RANKS,
}
COMBINED = ("mpi.reduce", "mpi.allreduce", "mpi.scan", "mpi.exscan", "mpi.reduce_scatter_block", "mpi.reduce_scatter")
ONE_SIDED = [
    f"mpi.one_sided operation={operation} epoch={epoch}"
    for operation in ("put", "get", "accumulate")
    for epoch in ("fence", "lock", "pscw")
]
AT_RANK_0 = ("mpi.gather", "mpi.gatherv", "mpi.reduce", *ONE_SIDED)
MESSAGES = [
    *("mpi.broadcast", "mpi.scatter", "mpi.scatterv", "mpi.gather", "mpi.gatherv", "mpi.allgather"),
    *("mpi.allgatherv", "mpi.alltoall", "mpi.alltoallv", *COMBINED, "mpi.latency", "mpi.bandwidth", "mpi.comms1", "mpi.comms2"),
    *("mpi.shift", "mpi.hot_potato", "mpi.message_rate", "mpi.overlap", "mpi.overheads", "mpi.pairs", "mpi.datatypes"),
    *("mpi.persistent", *ONE_SIDED),
]
# So many repetitions, however busy the machine is.
SAMPLING = "sampling.budget_s=60 sampling.minimum_repetitions=40 sampling.maximum_repetitions=40 sampling.minimum_span_s=0"


@pytest.fixture(scope="module")
def corrupting(embedded_build: NativeBuild, tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("corrupting") / "corrupting.so"
    source = Path(__file__).with_name("corrupting.c")
    compiler = embedded_build.mpi.compiler.replace("mpicxx", "mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
    return str(library)


def messages(what: str) -> tuple[list[str], str]:
    """Return every case of messages, and the rules by which `what` (CALL, PLACE) goes wrong in each."""
    call, place = what.split()
    plan, rules = [], []
    for number, name in enumerate(MESSAGES):
        # Lengths that no message of the program's own has.
        length = 8 * (1201 + number) if name in (*COMBINED, *ONE_SIDED) else 513 + 16 * number
        block = " block_bytes=1" if name == "mpi.datatypes" else ""
        plan.append(f"{name} message_bytes={length}{block} {SAMPLING}")
        rank = 0 if name in AT_RANK_0 else RANKS - 1
        rules.append(f"{length * MOVED.get(name, 1)}:{call}:{rank}:{place}")
    return plan, ";".join(rules)


def expect_all_failed(ended: Ended) -> None:
    assert [case.benchmark for case in ended.cases if case.status == "ok"] == []
    for case in ended.cases:
        assert "rank " in case.reason and "repetition " in case.reason, case
    assert ended.code == 1


@pytest.mark.parametrize("what", ["2 0%", "13 100%", "29 37%"])
def test_one_wrong_byte_fails_the_case_of_its_message(what: str, measure: Measure, corrupting: str) -> None:
    plan, rules = messages(what)
    ended = measure(RANKS, plan, action="run", LD_PRELOAD=corrupting, CORRUPT=rules)
    assert ended.errors.count("corrupted byte") == len(MESSAGES)
    expect_all_failed(ended)


@pytest.mark.parametrize("what", ["1 lost", "20 lost"])
def test_lost_data_fail_the_case_of_their_message(what: str, measure: Measure, corrupting: str) -> None:
    plan, rules = messages(what)
    ended = measure(RANKS, plan, action="run", LD_PRELOAD=corrupting, CORRUPT=rules)
    assert ended.errors.count("lost ") == len(MESSAGES)
    expect_all_failed(ended)


@pytest.mark.parametrize("what", ["90:37%", "1:lost"])
def test_threads_notice(what: str, measure: Measure, corrupting: str) -> None:
    call, place = what.split(":")
    plan = [f"mpi.threads threads=2 oversubscription=allowed message_bytes=641 {SAMPLING}"]
    options = ["--placement=threads"]
    ended = measure(
        RANKS, plan, *options, action="run", LD_PRELOAD=corrupting, CORRUPT=f"641:{call}:{RANKS - 1}:{place}"
    )
    expect_all_failed(ended)


STREAMS = ("network.bandwidth", "network.bidirectional", "network.message_rate", "network.bisection")
PROTOCOLS = ("tcp", "udp", "unix", "shm", "cma")
TRANSPORTED = [f"{name} protocol={protocol}" for name in ("network.latency", *STREAMS) for protocol in PROTOCOLS]


@pytest.mark.parametrize("fault", ["flip-byte:{}:3", "flip-byte:{}:61", "lose-data:{}"])
def test_benchmarks_below_mpi_notice(fault: str, measure: Measure) -> None:
    plan = [f"{case} message_bytes=777 {SAMPLING}" for case in TRANSPORTED]
    faults = " ".join(fault.format(protocol) for protocol in PROTOCOLS)
    expect_all_failed(measure(RANKS, plan, action="run", SCOPE_FAULT=faults))


ALGORITHMS: dict[str, int] = {}


def test_without_a_wrong_byte_all_pass(measure: Measure, corrupting: str) -> None:
    plan = [f"{name} message_bytes=1024 {SAMPLING}" for name in MESSAGES]
    plan += [f"{case} message_bytes=777 {SAMPLING}" for case in TRANSPORTED]
    ended = measure(RANKS, plan, action="run", LD_PRELOAD=corrupting)
    assert [case.benchmark for case in ended.cases if case.status != "ok"] == []
    assert ended.code == 0
