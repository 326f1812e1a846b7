"""Messages of MPI from and to memory of devices: staged on PoCL, direct on a fake CUDA driver."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from hpcscope.machine.machine import NativeBuild
from tests.fake_cuda import driver as driver
from tests.measure.conftest import Ended, Measure
from tests.measure.test_cuda import cuda as cuda
from tests.measure.test_cuda import folder as folder
from tests.measure.test_devices import kernels as kernels
from tests.measure.test_devices import pocl as pocl
from tests.measure.test_one_wrong_byte import AT_RANK_0, COMBINED, FEW, MOVED, ONE_SIDED, expect_all_failed
from tests.measure.test_one_wrong_byte import corrupting as corrupting
from tests.messages import mentions

SIZES = (
    "mpi.latency message_bytes={}",
    "mpi.comms2 message_bytes={}",
    "mpi.bandwidth message_bytes={} window=5",
)
COLLECTIVES = [
    *("mpi.broadcast", "mpi.scatter", "mpi.scatterv", "mpi.gather", "mpi.gatherv", "mpi.allgather"),
    *("mpi.allgatherv", "mpi.alltoall", "mpi.alltoallv", *COMBINED),
]
WINDOWS = [case for case in ONE_SIDED if "accumulate" not in case]
EXCHANGES = [*(line.format(size) for line in SIZES for size in (1, 100_001)), "mpi.latency message_bytes=0"]


def between(sender: str, receiver: str, exchanges: list[str] = EXCHANGES) -> list[str]:
    return [f"{line} sender_memory={sender} receiver_memory={receiver}" for line in exchanges]


def mixed(*memories: str) -> list[str]:
    """Every exchange between every two kinds of memory, except from host to host."""
    pairs = itertools.product(memories, repeat=2)
    return [line for pair in pairs if pair != ("host", "host") for line in between(*pair)]


def all_right(ended: Ended, planned: list[str]) -> None:
    assert len(ended.cases) == len(planned), ended.errors
    for case in ended.cases:
        assert case.status == "ok", (case.parameters, case.reason)
        assert case.verification is not None
        bytes_each = int(case.parameters["message_bytes"])
        receivers = 1 if case.benchmark == "mpi.bandwidth" else 2
        assert case.verification.checks >= receivers * bytes_each


@pytest.fixture(scope="session")
def aware(embedded_build: NativeBuild, tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("aware") / "device_aware.so"
    source = Path(__file__).with_name("device_aware.c")
    compiler = embedded_build.mpi.compiler.replace("mpicxx", "mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
    return str(library)


@pytest.mark.usefixtures("pocl")
def test_staged_messages_are_right_at_both_ends(measure: Measure) -> None:
    planned = mixed("host", "staged")
    ended = measure(2, planned)
    all_right(ended, planned)
    for case in ended.cases:
        assert ("device_name" in case.settings) == (case.parameters["sender_memory"] == "staged")
        assert "device_memory_in_mpi" not in case.settings


@pytest.mark.usefixtures("pocl")
@pytest.mark.parametrize(
    ("fault", "sizes"), [("wrong-result", SIZES[:2]), ("corrupt-payload", SIZES)], ids=["rank 0", "rank 1"]
)
def test_every_wrong_message_is_noticed(fault: str, sizes: tuple[str, ...], measure: Measure) -> None:
    planned = between("staged", "staged", [line.format(100_001) for line in sizes])
    ended = measure(2, planned, SCOPE_FAULT=" ".join(f"{fault}:{line.split()[0]}" for line in sizes))
    assert [case.status for case in ended.cases] == ["failed"] * len(planned), ended.errors


@pytest.mark.usefixtures("cuda")
def test_a_copy_that_loses_a_byte_is_noticed(measure: Measure) -> None:
    planned = between("staged", "staged", [line.format(100_001) for line in SIZES])
    ended = measure(2, planned, FAKE_CUDA="copy")
    assert [case.status for case in ended.cases] == ["failed"] * len(planned), ended.errors
    assert all(mentions(case.reason, "bytes 100000 to 100000") for case in ended.cases)


@pytest.mark.usefixtures("pocl")
def test_memory_that_only_the_driver_knows_is_not_given_to_mpi(measure: Measure) -> None:
    for receiver in ("host", "staged", "device"):
        for case in measure(2, between("device", receiver)).cases:
            assert case.status == "unavailable"
            assert mentions(case.reason, "MPI cannot use this driver's pointers; ... `staged` works")


@pytest.mark.usefixtures("cuda")
def test_a_library_that_takes_memory_of_devices_is_proven_first(measure: Measure, aware: str) -> None:
    planned = mixed("host", "device", "staged")
    ended = measure(2, planned, LD_PRELOAD=aware, DEVICE_AWARE="yes")
    all_right(ended, planned)
    for case in ended.cases:
        direct = "device" in (case.parameters["sender_memory"], case.parameters["receiver_memory"])
        said = str(case.settings.get("device_memory_in_mpi", ""))
        proof = f"one message of {case.parameters['message_bytes']} B each way arrived right"
        assert said == (f"MPIX_Query_cuda_support: yes; {proof}" if direct else "")


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("aware_of", "status", "words"),
    [
        ("no", "unavailable", "does not accept device memory (MPIX_Query_cuda_support: no)"),
        ("lost", "failed", "MPIX_Query_cuda_support: yes, but ... bytes 100000 to 100000"),
    ],
)
def test_a_library_that_does_not_is_not_believed(
    aware_of: str, status: str, words: str, measure: Measure, aware: str
) -> None:
    planned = between("device", "device", [line.format(100_001) for line in SIZES])
    ended = measure(2, planned, LD_PRELOAD=aware, DEVICE_AWARE=aware_of)
    assert [case.status for case in ended.cases] == [status] * len(planned), ended.errors
    assert all(mentions(case.reason, words) for case in ended.cases), ended.cases[0].reason


@pytest.mark.usefixtures("pocl")
@pytest.mark.parametrize(
    ("case", "only"),
    [
        ("mpi.latency mode=ready", "mode=standard"),
        ("mpi.latency buffers=one", "buffers=two"),
        ("mpi.comms2 cache=cold", "cache=warm"),
        ("mpi.bandwidth rotation=2", "rotation=1"),
        ("mpi.bandwidth completion=blocking", "completion=nonblocking"),
    ],
)
def test_what_is_not_measured_is_said(case: str, only: str, measure: Measure) -> None:
    (refused,) = measure(2, between("staged", "host", [case])).cases
    assert refused.status == "unavailable"
    assert mentions(refused.reason, f"device memory is measured only with {only}")


def in_memory(memory: str, names: list[str]) -> list[str]:
    return [f"{name} memory={memory} message_bytes={size}" for name in names for size in (8, 100_008)]


def every_rank_right(ended: Ended, planned: list[str]) -> None:
    assert len(ended.cases) == len(planned), ended.errors
    for case in ended.cases:
        assert case.status == "ok", (case.benchmark, case.parameters, case.reason)
        assert case.verification is not None
        assert case.verification.checks > 0
        direct = case.parameters["memory"] == "device"
        assert case.settings.get("device_memory_in_mpi") == ("MPIX_Query_cuda_support: yes" if direct else None)
        assert "device_name" in case.settings


@pytest.mark.usefixtures("pocl")
@pytest.mark.parametrize(("ranks", "names"), [(3, COLLECTIVES), (2, WINDOWS)], ids=["collectives", "windows"])
def test_staged_operations_are_right_on_every_rank(ranks: int, names: list[str], measure: Measure) -> None:
    planned = in_memory("staged", names)
    every_rank_right(measure(ranks, planned), planned)


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(("ranks", "names"), [(3, COLLECTIVES), (2, WINDOWS)], ids=["collectives", "windows"])
def test_a_library_operates_on_memory_of_devices(
    ranks: int, names: list[str], measure: Measure, aware: str
) -> None:
    planned = [*in_memory("device", names), *in_memory("staged", names[-2:])]
    every_rank_right(measure(ranks, planned, LD_PRELOAD=aware, DEVICE_AWARE="yes"), planned)
    for case in measure(ranks, planned[:2], LD_PRELOAD=aware, DEVICE_AWARE="no").cases:
        assert case.status == "unavailable"
        assert mentions(case.reason, "does not accept device memory (MPIX_Query_cuda_support: no)")


@pytest.mark.usefixtures("cuda")
def test_one_wrong_byte_in_memory_of_a_device_fails_the_case(
    measure: Measure, aware: str, corrupting: str
) -> None:
    planned, rules = [], []
    for number, name in enumerate([*COLLECTIVES, *WINDOWS]):
        length = 8 * (1201 + number)
        planned.append(f"{name} memory={('device', 'staged')[number % 2]} message_bytes={length} {FEW}")
        rules.append(f"{length * MOVED.get(name, 1)}:2:{0 if name in AT_RANK_0 else 1}:37%")
    preloaded = {"LD_PRELOAD": f"{aware}:{corrupting}", "DEVICE_AWARE": "yes", "CORRUPT": ";".join(rules)}
    ended = measure(2, planned, action="run", **preloaded)
    assert ended.errors.count("corrupted byte") == len(planned), ended.errors
    expect_all_failed(ended, len(planned))
    assert not [case.reason for case in ended.cases if case.status != "failed"]


@pytest.mark.usefixtures("cuda")
def test_what_a_copy_of_a_device_loses_is_noticed(measure: Measure) -> None:
    planned = [
        f"{name} memory=staged message_bytes=100008" for name in ("mpi.broadcast", "mpi.allreduce", *WINDOWS[::3])
    ]
    ended = measure(2, planned, FAKE_CUDA="copy")
    assert [case.status for case in ended.cases] == ["failed"] * len(planned), ended.errors


@pytest.mark.usefixtures("pocl")
@pytest.mark.parametrize(
    ("case", "only"),
    [
        ("mpi.allreduce call=nonblocking", "call=blocking"),
        ("mpi.broadcast rotation=2", "rotation=1"),
        ("mpi.one_sided operation=accumulate", "operation=put and operation=get"),
    ],
)
def test_operations_that_are_not_measured_say_so(case: str, only: str, measure: Measure) -> None:
    (refused,) = measure(2, [f"{case} memory=staged"]).cases
    assert mentions(refused.reason, f"device memory is measured only with {only}")
