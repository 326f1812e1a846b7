"""One wrong byte in one of many operations fails its case, wherever and whenever it comes; so do lost data.

A message-passing library that goes wrong is preloaded under the native program. Each case has messages of a
length of its own, by which the library knows its operations.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from hpcscope.machine.machine import NativeBuild
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
    "mpi.neighbor_exchange call=neighbor_alltoall": 2,
}
COMBINED = (
    "mpi.reduce",
    "mpi.allreduce",
    "mpi.scan",
    "mpi.exscan",
    "mpi.reduce_scatter_block",
    "mpi.reduce_scatter",
)
ONE_SIDED = [
    f"mpi.one_sided operation={operation} epoch={epoch}"
    for operation in ("put", "get", "accumulate")
    for epoch in ("fence", "lock", "pscw")
]
AT_RANK_0 = ("mpi.gather", "mpi.gatherv", "mpi.reduce", *ONE_SIDED)
MESSAGES = [
    *("mpi.broadcast", "mpi.scatter", "mpi.scatterv", "mpi.gather", "mpi.gatherv", "mpi.allgather"),
    *(
        "mpi.allgatherv",
        "mpi.alltoall",
        "mpi.alltoallv",
        *COMBINED,
        "mpi.latency",
        "mpi.bandwidth receive_buffers=many",
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
    *("mpi.persistent", *ONE_SIDED),
    "mpi.neighbor_exchange",
    "mpi.neighbor_exchange call=neighbor_alltoall",
    "mpi.latency buffers=one",
]
# So many repetitions, however busy the machine is, in several groups.
COMPLETE = "sampling.complete=1 sampling.budget_s=600 sampling.minimum_span_s=0 sampling.precision=0"
REPETITIONS = f"{COMPLETE} sampling.maximum_repetitions="
SAMPLING = f"{REPETITIONS}40 sampling.minimum_repetitions=8"
FEW = f"{REPETITIONS}3 sampling.minimum_repetitions=3"
NAMED = r"rank \d+.*: .*repetition \d+: .*\d"
"""Rank, repetition and place in the reason of a failure."""


@pytest.fixture(scope="module")
def corrupting(embedded_build: NativeBuild, tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("corrupting") / "corrupting.so"
    source = Path(__file__).with_name("corrupting.c")
    compiler = embedded_build.mpi.compiler.replace("mpicxx", "mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
    return str(library)


def expect_all_failed(ended: Ended, planned: int) -> None:
    """Every planned case fails and names rank, repetition and place; the launch ends with exit code 1."""
    assert len(ended.cases) == planned, ended.errors
    cases = [case for case in ended.cases if case.status != "unavailable"]
    assert [(case.benchmark, case.parameters) for case in cases if case.status == "ok"] == []
    for case in cases:
        assert re.search(NAMED, case.reason), f"{case.benchmark}: {case.reason}"
    assert ended.code == 1


@pytest.mark.parametrize("faults", [("2:{}:0%", "20:{}:lost"), ("1:{}:lost", "29:{}:100%")])
def test_a_wrong_byte_and_lost_data_fail_the_case_of_their_message(
    faults: tuple[str, str], measure: Measure, corrupting: str
) -> None:
    plan, rules = [], []
    for number, name in enumerate(MESSAGES):
        # Lengths that no message of the program's own has.
        length = 8 * (1201 + number) if name in (*COMBINED, *ONE_SIDED) else 513 + 16 * number
        block = " block_bytes=1" if name == "mpi.datatypes" else ""
        plan.append(f"{name} message_bytes={length}{block} {SAMPLING}")
        rank = 0 if name in AT_RANK_0 else RANKS - 1
        rules.append(f"{length * MOVED.get(name, 1)}:{faults[number % 2].format(rank)}")
    ended = measure(RANKS, plan, action="run", LD_PRELOAD=corrupting, CORRUPT=";".join(rules))
    assert ended.errors.count("corrupted byte") + ended.errors.count("lost ") == len(MESSAGES)
    expect_all_failed(ended, len(plan))


def test_threads_notice(measure: Measure, corrupting: str) -> None:
    rules = {641: "15:{}:37%", 642: "1:{}:lost"}
    plan = [f"mpi.threads threads=2 rounds=5 oversubscription=allowed message_bytes={n} {FEW}" for n in rules]
    faults = ";".join(f"{length}:{rule.format(RANKS - 1)}" for length, rule in rules.items())
    ended = measure(RANKS, plan, "--placement=threads", action="run", LD_PRELOAD=corrupting, CORRUPT=faults)
    expect_all_failed(ended, len(plan))


def test_a_child_that_answers_wrongly_is_named(measure: Measure, corrupting: str) -> None:
    plan = [f"mpi.spawn children=1 {FEW}"]
    # An answer has 1003 bytes. The child of the preparation answers first, then that of each repetition.
    ended = measure(1, plan, "--placement=none", action="run", LD_PRELOAD=corrupting, CORRUPT="1003:3:0:40%")
    expect_all_failed(ended, 1)
    assert "repetition 2: answer of child 0: bytes 400 to 407" in ended.cases[0].reason


STREAMS = [
    f"network.{name} receive_buffers=many" for name in ("bandwidth", "bidirectional", "message_rate", "bisection")
]
PROTOCOLS = ("tcp", "udp", "unix", "shm", "cma")
TRANSPORTED = [f"{name} protocol={protocol}" for name in ("network.latency", *STREAMS) for protocol in PROTOCOLS]


def test_benchmarks_below_mpi_notice(measure: Measure) -> None:
    plan = [f"{case} message_bytes=777 {SAMPLING}" for case in TRANSPORTED]
    flipped, lost = PROTOCOLS[::2], PROTOCOLS[1::2]
    faults = [*(f"flip-byte:{one}:31" for one in flipped), *(f"lose-data:{one}" for one in lost)]
    expect_all_failed(measure(RANKS, plan, action="run", SCOPE_FAULT=" ".join(faults)), len(plan))


# Of each case a message of two processes: its bytes, how many of this length a run receives, and the number of one
# whose data are computed with.
COMPUTED = {
    # First those whose lengths others have, too.
    "application.npb_ep": (96, 1, 1),
    "algorithm.scalapack_band_cholesky n=320": (440, 1, 1),
    "algorithm.scalapack_qr n=61 block=8": (3904, 1, 1),
    "operation.broadcast n=31": (7688, 1, 1),
    "operation.scatter n=38": (5776, 1, 1),
    "operation.gather n=35": (9800, 1, 1),
    "operation.shift n=37": (10952, 1, 1),
    "algorithm.matmul_striped n=46": (8464, 1, 1),
    "algorithm.matmul_cannon n=44": (7744, 3, 2),
    "algorithm.summa n=52 block=8 panel=16": (3328, 3, 2),
    "algorithm.relaxation n=93": (744, 99, 90),
    "algorithm.sort_psrs n=5000": (10056, 1, 1),
    "algorithm.linpack n=60 block=8": (2368, 1, 1),
    "algorithm.scalapack_lu n=57 block=8": (2112, 1, 1),
    "algorithm.scalapack_cholesky n=59 block=8": (2240, 1, 1),
    "algorithm.scalapack_pdgemm n=70 block=8": (17920, 1, 1),
    "algorithm.scalapack_inverse n=63 block=8": (3520, 1, 1),
    "algorithm.scalapack_symmetric_eigen n=78 block=8": (6080, 1, 1),
    "algorithm.scalapack_band_lu n=300": (1680, 1, 1),
    "application.npb_is": (130640, 1, 1),
    "application.npb_cg": (5600, 416, 100),
    "application.npb_mg": (800, 30, 21),
    "application.npb_ft": (2097152, 8, 5),
    "application.npb_lu": (8000, 53, 30),
    "application.npb_sp": (8800, 202, 181),
    "application.npb_bt": (12000, 122, 60),
}


SIXTH_ITERATION_OF_IS = 130632
"""Bytes of the keys that rank 1 receives there; the entry above is those of the tenth and last."""


@pytest.mark.parametrize(("run", "byte"), [(0, 6), (2, 4)])
def test_one_wrong_byte_fails_what_is_computed_from_it(
    run: int, byte: int, measure: Measure, corrupting: str
) -> None:
    plan, rules = [], []
    for case, (length, in_run, call) in COMPUTED.items():
        receiver = 0 if case.startswith("operation.gather") else RANKS - 1
        if "npb_is" in case and run == 0:
            length = SIXTH_ITERATION_OF_IS
        # A number inside the message; of keys, which are indices, the lowest byte.
        place = length // 20 * 8 + (byte if "npb_is" not in case else 0)
        plan.append(f"{case} {FEW}")
        rules.append(f"{length}:{run * in_run + call}:{receiver}:{place}")
    ended = measure(RANKS, plan, action="run", LD_PRELOAD=corrupting, CORRUPT=";".join(rules))
    expect_all_failed(ended, len(plan))


def test_of_a_panel_of_linpack_every_bit_that_is_used_is_noticed(measure: Measure, corrupting: str) -> None:
    """A panel travels with its upper triangle and the rows above L, which nobody reads (n = 500, block = 128)."""
    panel, own, leading, column = 644096, 128 + 128 * 128, 500, 3
    used, unused = (8 * (own + column * leading + row) for row in (300, 60))
    rules = f"{panel}:2:1:{used};{panel}:5:1:{unused}"  # in the second of three repetitions of each case
    ended = measure(
        RANKS, [f"algorithm.linpack n=500 {FEW}"] * 2, action="run", LD_PRELOAD=corrupting, CORRUPT=rules
    )
    assert ended.errors.count("corrupted byte") == 2
    hit, spared = ended.cases
    assert (hit.status, spared.status) == ("failed", "ok")
    assert "repetition 2: bytes" in hit.reason, "the lowest bits of a number: the residual is as before"
    assert "residual" not in hit.reason


def test_without_a_wrong_byte_all_pass(measure: Measure, corrupting: str) -> None:
    plan = [f"{name} message_bytes=1024 {SAMPLING}" for name in MESSAGES]
    plan += [f"{case} message_bytes=777 {SAMPLING}" for case in TRANSPORTED]
    ended = measure(RANKS, plan, action="run", LD_PRELOAD=corrupting)
    assert [case.benchmark for case in ended.cases if case.status != "ok"] == []
    assert ended.code == 0
