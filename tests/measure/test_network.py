"""The transports under MPI: each delivers every byte, says when it cannot, and counts what is lost."""

from __future__ import annotations

import os

import pytest

from hpcscope.build import fabrics
from hpcscope.machine.machine import MpiInstallation, NativeBuild
from tests.installed_mpi import embedded, under_every_mpi  # noqa: F401
from tests.measure.conftest import Measure
from tests.messages import mentions

BENCHMARKS = ("latency", "bandwidth", "bidirectional", "message_rate", "bisection")
LOCAL = ("unix", "shm", "cma")
FABRICS = ("libfabric", "ucx")
PROTOCOLS = ("tcp", "udp", *LOCAL, "active_messages", "ethernet")
SIZES = (1, 24, 25, 8193, 300_001)
"""Half a shared line is full at 24 B, a slot of the queue at 8 KiB; the last takes several datagrams and slots."""

root = pytest.mark.skipif(os.geteuid() != 0, reason="packet sockets need root")


def lines(protocols: tuple[str, ...], names: tuple[str, ...], sizes: tuple[int, ...], more: str = "") -> list[str]:
    return [
        f"network.{name} protocol={protocol} message_bytes={size} {more}".strip()
        for protocol in protocols
        for name in names
        for size in sizes
    ]


@pytest.mark.parametrize("protocol", [*PROTOCOLS[:-1], pytest.param("ethernet", marks=root)])
def test_every_transport_delivers_every_byte(protocol: str, measure: Measure) -> None:
    ended = measure(2, lines((protocol,), BENCHMARKS, SIZES))
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["ok"] * len(BENCHMARKS) * len(SIZES)
    for case in ended.cases:
        receivers = 1 if case.benchmark in ("network.bandwidth", "network.message_rate") else 2
        assert case.verification is not None
        assert case.verification.checks >= receivers * int(case.parameters["message_bytes"])


@under_every_mpi("the transports are the same code, and test_every_transport_delivers_every_byte tries each")
def test_the_transports_of_every_mpi_s_processes(build: NativeBuild, measure: Measure) -> None:
    ended = measure(2, lines(PROTOCOLS[:-1], ("latency", "bisection"), (1, 100_000)), native=build)
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}


@pytest.mark.parametrize("ranks", [4, 6])
def test_every_pair_has_a_connection_of_its_own(ranks: int, measure: Measure) -> None:
    protocols = PROTOCOLS if os.geteuid() == 0 else PROTOCOLS[:-1]
    ended = measure(ranks, lines(protocols, ("bisection", "message_rate"), (5000,), "window=4"))
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}
    for case in ended.cases:
        ways = 2 if case.benchmark == "network.bisection" else 1
        assert case.work is not None
        assert case.work.bytes == ways * ranks / 2 * 4 * 5000


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_corrupted_payload_fails_its_case_alone(name: str, measure: Measure) -> None:
    case = f"network.{name} protocol=shm message_bytes=1000"
    ended = measure(2, [case, "mpi.barrier"], SCOPE_FAULT=f"corrupt-payload:network.{name}")
    assert ended.code == 1
    broken, sound = ended.cases
    assert (broken.status, sound.status) == ("failed", "ok")
    assert "rank 1 on " in broken.reason


def test_requests_arrive_in_pieces_and_over_new_connections(measure: Measure) -> None:
    lines = [
        f"network.request pieces={pieces} connection={connection} nodelay={nodelay} message_bytes=1000"
        for pieces in (1, 4)
        for connection in ("used", "fresh")
        for nodelay in ("on", "off")
    ]
    ended = measure(2, [*lines, "network.request pieces=3 message_bytes=10"])
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases[:-1]} == {"ok"}
    assert "pieces=3" in ended.cases[-1].reason
    for fault, rank in (("corrupt-payload", 1), ("wrong-result", 0)):
        (case,) = measure(2, lines[:1], SCOPE_FAULT=f"{fault}:network.request").cases
        assert case.status == "failed"
        assert f"rank {rank} on " in case.reason


def test_sleeping_in_the_kernel_delivers_too(measure: Measure) -> None:
    protocols = ("tcp", "udp", "unix", "active_messages", *(("ethernet",) if os.geteuid() == 0 else ()))
    plan = lines(protocols, ("latency",), (1, 300_001), "wait=blocking")
    plan += lines(protocols, ("bandwidth", "bidirectional"), (1, 300_001), "wait=blocking window=4")
    ended = measure(2, plan)
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}


@pytest.fixture(params=FABRICS)
def fabric(request: pytest.FixtureRequest, build: NativeBuild) -> str:
    """A fabric library for which the program of every MPI was compiled."""
    name = str(request.param)
    if name not in {found.name for found in fabrics.find(build.mpi.compiler)}:
        pytest.skip(f"{name}: its header or library is not here")
    return name


@under_every_mpi("the fabrics are the same code, and the embedded MPI is tried beside each")
def test_a_fabric_delivers_every_byte_beside_every_mpi(fabric: str, build: NativeBuild, measure: Measure) -> None:
    sizes = (1, 65, 8193, 3_000_001)
    plan = lines((fabric,), ("latency", "bidirectional"), sizes, "")
    ended = measure(2, [*plan, "mpi.latency message_bytes=100000"], native=build)
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}
    assert len(ended.cases) == len(plan) + 1
    for case in ended.cases[: len(plan)]:
        assert case.verification is not None
        assert case.verification.checks >= 2 * int(case.parameters["message_bytes"])


@pytest.mark.parametrize("name", FABRICS)
def test_pairs_over_a_fabric_and_a_corrupted_payload(
    name: str,
    embedded: MpiInstallation,  # noqa: F811
    measure: Measure,
) -> None:
    if name not in {found.name for found in fabrics.find(embedded.compiler)}:
        pytest.skip(f"{name}: its header or library is not here")
    plan = lines((name,), ("bandwidth", "message_rate", "bisection"), (1000,), "window=8")
    ended = measure(4, plan[1:])
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["ok", "ok"]
    ended = measure(2, plan, SCOPE_FAULT="corrupt-payload:network.bandwidth")
    assert ended.code == 1
    assert [case.status for case in ended.cases] == ["failed", "ok", "ok"]


def test_libfabric_sleeps_where_its_provider_can(embedded: MpiInstallation, measure: Measure) -> None:  # noqa: F811
    if "libfabric" not in {found.name for found in fabrics.find(embedded.compiler)}:
        pytest.skip("libfabric: its header or library is not here")
    plan = lines(("libfabric",), ("latency", "bidirectional"), (1, 300_001), "wait=blocking")
    ended = measure(2, plan, FI_PROVIDER="tcp")
    assert ended.code == 0, ended.errors
    assert {case.status for case in ended.cases} == {"ok"}


def test_a_provider_that_is_not_there_is_unavailable(embedded: MpiInstallation, measure: Measure) -> None:  # noqa: F811
    if "libfabric" not in {found.name for found in fabrics.find(embedded.compiler)}:
        pytest.skip("libfabric: its header or library is not here")
    ended = measure(2, ["network.latency protocol=libfabric", "mpi.barrier"], FI_PROVIDER="none")
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["unavailable", "ok"]
    assert "protocol=libfabric: fi_getinfo: " in ended.cases[0].reason


def test_everything_arrives_without_flow_control_too(measure: Measure) -> None:
    # 64 datagrams of 64 KB for a buffer of 8 KB: what is lost, if the receiver is not quick enough, comes again.
    small = "socket_buffer_bytes=8192 message_bytes=4000000 window=2"
    plan = [f"network.{name} protocol=udp flow=none {small}" for name in ("bandwidth", "bidirectional")]
    ended = measure(2, plan)
    assert ended.code == 0, ended.errors
    for case in ended.cases:
        assert case.status == "ok"
        assert case.series[0].observed is not None
        assert len(case.series[0].observed["retransmitted_packets"]) == 2
        assert case.verification is not None
        assert case.verification.checks >= 4_000_000


def test_packets_that_the_kernel_drops_are_sent_again(measure: Measure) -> None:
    # One packet in ten, of more than a hundred of each protocol: that none is lost, nobody will see.
    few = "message_bytes=30000 window=300 lost_per_million=100000"
    ended = measure(2, [f"network.bandwidth protocol={name} {few}" for name in ("tcp", "udp")])
    assert ended.code == 0, ended.errors
    for case in ended.cases:
        assert case.status == "ok", case.reason
        assert case.series[0].observed is not None
        assert any(packets > 0 for rank in case.series[0].observed["retransmitted_packets"] for packets in rank)


def test_the_granted_buffer_is_recorded(measure: Measure) -> None:
    asked = 16384
    ended = measure(2, lines(("tcp", "udp", "unix"), ("bandwidth",), (1000,), f"socket_buffer_bytes={asked}"))
    assert len(ended.cases) == 3, ended.errors
    for case in ended.cases:
        assert case.status == "ok"
        assert case.series[0].observed is not None
        assert {value for rank in case.series[0].observed["granted_buffer_bytes"] for value in rank} == {asked}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("network.latency protocol=shm wait=blocking", "protocol=shm wait=blocking: this protocol only polls"),
        ("network.latency protocol=ucx wait=blocking", "protocol=ucx wait=blocking: this protocol only polls"),
        ("network.latency protocol=cma socket_buffer_bytes=1024", "=1024: ... socket"),
        ("network.latency protocol=tcp wire=xdp", "protocol=tcp wire=xdp: "),
        ("network.latency protocol=active_messages wire=xdp", "one host, where messages go through shared memory"),
        ("network.latency protocol=udp nodelay=off", "protocol=udp nodelay=off: ... TCP"),
        ("network.bandwidth protocol=shm lost_per_million=5", "tcp, udp ... active_messages"),
        ("network.bandwidth protocol=unix flow=none", "protocol=unix flow=none: the flow control of"),
    ],
)
def test_what_a_transport_has_not_is_unavailable(line: str, reason: str, measure: Measure) -> None:
    ended = measure(2, [line, "mpi.barrier"])
    assert ended.code == 0, ended.errors
    assert [case.status for case in ended.cases] == ["unavailable", "ok"]
    assert mentions(ended.cases[0].reason, reason)
