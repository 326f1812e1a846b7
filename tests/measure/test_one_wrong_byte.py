"""One wrong byte in one of many thousand operations fails its case, wherever and whenever it comes.

A message-passing library that flips one byte is preloaded under the native program. Each case has messages of
a length of its own, by which the library knows its operations.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scope.machine.machine import NativeBuild
from tests.measure.conftest import Measure

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
COMBINED = (
    "mpi.reduce",
    "mpi.allreduce",
    "mpi.scan",
    "mpi.exscan",
    "mpi.reduce_scatter_block",
    "mpi.reduce_scatter",
)
AT_THE_ROOT = ("mpi.gather", "mpi.gatherv", "mpi.reduce")
MESSAGES = [
    *("mpi.broadcast", "mpi.scatter", "mpi.scatterv", "mpi.gather", "mpi.gatherv", "mpi.allgather"),
    *(
        "mpi.allgatherv",
        "mpi.alltoall",
        "mpi.alltoallv",
        *COMBINED,
        "mpi.latency",
        "mpi.bandwidth",
        "mpi.comms1",
        "mpi.comms2",
    ),
    *(
        "mpi.shift",
        "mpi.hot_potato",
        "mpi.message_rate",
        "mpi.overlap",
        "mpi.overheads",
        "mpi.pairs",
        "mpi.datatypes",
    ),
]
OTHERS = [
    "operation.broadcast n=30",
    "operation.scatter n=30",
    "operation.gather n=30",
    "operation.shift n=30",
    "algorithm.matmul_striped n=48",
    "algorithm.matmul_cannon n=48",
    "algorithm.summa n=48",
    "algorithm.sort_psrs n=4096",
    "algorithm.relaxation n=48",
    "application.npb_ft",
    "application.npb_mg",
    "application.npb_cg",
]
SAMPLING = "sampling.budget_s=0.1 sampling.minimum_span_s=0.1"


@pytest.fixture
def corrupting(embedded_build: NativeBuild, tmp_path: Path) -> str:
    library = tmp_path / "corrupting.so"
    source = Path(__file__).with_name("corrupting.c")
    compiler = embedded_build.mpi.compiler.replace("mpicxx", "mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
    return str(library)


@pytest.mark.parametrize(("call", "place"), [(2, 0), (13, 100), (29, 37)])
def test_one_wrong_byte_fails_the_case_of_its_message(
    call: int, place: int, measure: Measure, corrupting: str
) -> None:
    plan, rules = [], []
    for number, name in enumerate(MESSAGES):
        # Lengths that no message of the program's own has.
        length = 8 * (1201 + number) if name in COMBINED else 513 + 16 * number
        block = " block_bytes=1" if name == "mpi.datatypes" else ""
        plan.append(f"{name} message_bytes={length}{block} {SAMPLING}")
        rank = 0 if name in AT_THE_ROOT else RANKS - 1
        rules.append(f"{length * MOVED.get(name, 1)}:{call}:{rank}:{place}")
    ended = measure(RANKS, plan, action="run", LD_PRELOAD=corrupting, CORRUPT=";".join(rules))
    assert ended.errors.count("corrupted byte") == len(MESSAGES)
    passed = [case.benchmark for case in ended.cases if case.status == "ok"]
    assert passed == []
    for case in ended.cases:
        assert "rank " in case.reason, case
        assert "repetition " in case.reason, case
    assert ended.code == 1


@pytest.mark.parametrize("case", OTHERS)
def test_one_wrong_byte_fails_what_is_computed_from_it(case: str, measure: Measure, corrupting: str) -> None:
    plan = [f"{case} {SAMPLING}"]
    receiver = 0 if case.startswith("operation.gather") else RANKS - 1
    ended = measure(RANKS, plan, action="run", LD_PRELOAD=corrupting, CORRUPT=f"0:12:{receiver}:90")
    assert "corrupted byte" in ended.errors
    (found,) = ended.cases
    assert found.status == "failed"
    assert ended.code == 1


def test_without_a_wrong_byte_all_pass(measure: Measure, corrupting: str) -> None:
    plan = [f"{name} message_bytes=1024 {SAMPLING}" for name in MESSAGES]
    ended = measure(RANKS, plan, action="run", LD_PRELOAD=corrupting)
    assert [case.benchmark for case in ended.cases if case.status != "ok"] == []
    assert ended.code == 0
