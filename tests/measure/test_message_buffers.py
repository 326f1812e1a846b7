"""Message buffers lie where a case asks for them, rotate, and are verified in every layout."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from hpcscope.machine.machine import NativeBuild
from tests.measure.conftest import Measure
from tests.messages import mentions

PAGE = 4096
SAMPLING = "sampling.budget_s=600 sampling.minimum_span_s=0 sampling.precision=0 sampling.maximum_repetitions=12"
PAIRS = ("mpi.latency", "mpi.bandwidth window=4", "mpi.comms2", "mpi.broadcast", "mpi.allreduce")
"""Cases whose messages go through the calls that addresses.c notes."""
LAYOUTS = {
    "alignment=page": (PAGE, 0, 1),
    "alignment=page offset_bytes=24 rotation=4": (PAGE, 24, 4),
    "offset_bytes=8 rotation=4 cache=cold": (64, 8, 4),
}
"""Of each layout the alignment and the offset in bytes, and how many buffers there are at least."""
EVERYWHERE = [
    *(
        f"mpi.latency mode={mode} completion={completion} message_bytes=3000"
        for mode in ("standard", "synchronous", "ready")
        for completion in ("blocking", "nonblocking")
    ),
    *(
        f"mpi.{name} message_bytes=3000"
        for name in ("bandwidth", "comms2", "scatter", "gatherv", "allgather", "alltoall", "alltoallv")
    ),
    *(f"mpi.{name} message_bytes=3200" for name in ("reduce", "scan", "reduce_scatter")),
    *(f"mpi.broadcast call={call} message_bytes=3000" for call in ("nonblocking", "overlapped")),
    *(
        f"network.{name} protocol={protocol} message_bytes=3000"
        for name in ("latency", "bandwidth", "bidirectional", "message_rate", "bisection")
        for protocol in ("tcp", "shm", "cma")
    ),
]


@pytest.fixture(scope="module")
def addresses(embedded_build: NativeBuild, tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("addresses") / "addresses.so"
    source = Path(__file__).with_name("addresses.c")
    compiler = embedded_build.mpi.compiler.replace("mpicxx", "mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
    return str(library)


def test_messages_begin_where_the_layout_says(measure: Measure, addresses: str) -> None:
    wanted: dict[int, tuple[str, tuple[int, int, int]]] = {}
    for layout, meaning in LAYOUTS.items():
        for name in PAIRS:
            # By its length a message is known to be of this case.
            length = 8 * (4000 + len(wanted))
            wanted[length] = (f"{name} message_bytes={length} {layout} {SAMPLING}", meaning)
    plan = [line for line, _ in wanted.values()]
    ended = measure(2, plan, action="run", LD_PRELOAD=addresses, BYTES=str(min(wanted)))
    assert [(case.benchmark, case.reason) for case in ended.cases if case.status != "ok"] == []
    found: dict[int, set[int]] = {length: set() for length in wanted}
    for length, address in re.findall(r"buffer (\d+) (\d+)", ended.errors):
        found.get(int(length), set()).add(int(address))
    for length, (line, (alignment, offset, least)) in wanted.items():
        assert len(found[length]) >= least, line
        assert {address % alignment for address in found[length]} == {offset}, line


def test_defaults_have_the_buffers_of_other_suites(measure: Measure, addresses: str) -> None:
    """Ping-pongs send from one buffer and receive into another; windows are sent from one and arrive in one.

    Those that last over 100 µs: a shorter one follows another, which has places of its own.
    """
    wanted = {
        "mpi.latency message_bytes=4000000": 4,
        "mpi.latency message_bytes=4000008 buffers=one": 2,
        "mpi.bandwidth message_bytes=4000016 window=4": 2,
        "mpi.bandwidth message_bytes=4000024 window=4 receive_buffers=many": 5,
    }
    plan = [f"{case} {SAMPLING} sampling.complete=1" for case in wanted]
    ended = measure(2, plan, action="run", LD_PRELOAD=addresses, BYTES="4000000")
    lengths = re.findall(r"buffer (\d+)", ended.errors)
    assert [lengths.count(str(4000000 + 8 * number)) for number in range(len(wanted))] == list(wanted.values())


def test_messages_that_overwrite_each_other_are_said_to(measure: Measure) -> None:
    """The record states how much of what arrived was still there to be verified."""
    cases = ("source=rewritten receive_buffers=many", "source=rewritten", "")
    sampling = f"{SAMPLING} sampling.complete=1"
    plan = [f"mpi.bandwidth message_bytes=70000 window=4 {case} {sampling}" for case in cases]
    ended = measure(2, plan, action="run")
    assert [case.status for case in ended.cases] == ["ok"] * 3
    assert [case.verification.digested_share for case in ended.cases if case.verification] == [1, 1 / 4, 1 / 4]


@pytest.mark.parametrize("layout", ["cache=cold rotation=3", "alignment=page offset_bytes=8 rotation=5"])
def test_every_layout_is_verified(layout: str, measure: Measure) -> None:
    ended = measure(2, [f"{case} {layout} {SAMPLING}" for case in EVERYWHERE], action="run")
    assert [(case.benchmark, case.parameters, case.reason) for case in ended.cases if case.status != "ok"] == []
    assert all(case.verification is not None and case.verification.passed for case in ended.cases)
    assert all(series.operations == 1 for case in ended.cases if "cold" in layout for series in case.series)


def test_layouts_that_are_impossible_are_refused(measure: Measure) -> None:
    plan = [
        "mpi.allreduce message_bytes=800 offset_bytes=3",
        "mpi.broadcast call=persistent rotation=2",
    ]
    reduction, persistent = measure(2, plan).cases
    assert mentions(reduction.reason, "offset_bytes=3: ... 8")
    assert mentions(persistent.reason, "rotation: ... 1 ... call=persistent")
    assert {reduction.status, persistent.status} == {"unavailable"}


def test_a_corrupted_message_is_noticed_in_every_layout(measure: Measure) -> None:
    names = ("mpi.latency", "mpi.bandwidth", "mpi.comms2", "mpi.broadcast", "mpi.alltoall", "network.latency")
    plan = [f"{name} message_bytes=3000 rotation=3 cache=cold" for name in names]
    ended = measure(2, plan, SCOPE_FAULT=" ".join(f"corrupt-payload:{name}" for name in names))
    assert ended.code == 1
    assert [(case.benchmark, case.status) for case in ended.cases] == [(name, "failed") for name in names]
