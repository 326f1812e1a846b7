"""The links of a lab for real: rates as the kernel and the relays have them, latency, dead links, lost frames."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from hpcscope.errors import ScopeError, UsageError
from hpcscope.lab import faults, fidelity
from hpcscope.lab.entry import Emulation
from tests.lab.conftest import now
from tests.lab.small_lab import on_the_wire, probe, shaped_mbit, ways
from tests.patience import PATIENCE_S, until

Harm = Callable[[Emulation], Emulation]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream over a link may take long where other programs have the processors."""
    monkeypatch.setattr(fidelity, "TIMEOUT_S", float(PATIENCE_S))


def port_mbit(lab: Emulation, host: str = "a1") -> tuple[float, float]:
    """Return the rates of a port from and to its host."""
    known, switch = ways(lab), host[0]
    return float(known[f"{host} {switch}"]["rate-mbit"]), float(known[f"{switch} {host}"]["rate-mbit"])


def trunk_mbit(lab: Emulation, there: str = "c") -> tuple[float, float]:
    """Return the rates of a trunk between a and another switch, from and to a."""
    known = ways(lab)
    return float(known[f"a {there}"]["rate-mbit"]), float(known[f"{there} a"]["rate-mbit"])


def test_every_link_has_its_declared_rate(small: Emulation) -> None:
    hosts = [host.name for host in small.state.hosts]
    assert {port_mbit(small, host) for host in hosts} == {(50, 50)}
    assert {shaped_mbit(small, host, "eth0") for host in hosts} == {50}, "the kernel lets no more come to the wire"
    assert trunk_mbit(small, "b") == (10, 10)
    assert trunk_mbit(small) == (20, 20)
    known = ways(small)
    assert {(way, told["latency-us"]) for way, told in known.items() if "latency-us" in told} == {
        ("a b", "500"),
        ("b a", "500"),
    }


def test_a_check_measures_every_link_by_a_stream_over_it(small: Emulation) -> None:
    before = {host: on_the_wire(small, host, "rx") for host in ("a2", "b1", "c1")}
    checked = fidelity.check_all(small, lambda _link: None).state.checks
    assert {link.link: link.declared_bytes_per_s * 8e-6 / fidelity.PAYLOAD_SHARE for link in checked} == {
        "ports of a": pytest.approx(50),
        "trunk a-b": pytest.approx(10),
        "trunk a-c": pytest.approx(20),
    }
    assert all(link.measured_bytes_per_s > 0 for link in checked)
    assert {link.link: [message.bytes for message in link.messages] for link in checked} == {
        "ports of a": [64, 1024, 10_000],
        "trunk a-b": [64, 1024, 10_000],
        "trunk a-c": [64, 1024, 10_000],
    }
    assert all(message.measured_s >= message.wire_s for link in checked for message in link.messages)
    for host, received in before.items():
        assert on_the_wire(small, host, "rx") - received > 100_000, host


@pytest.mark.slow(
    "measures rates, which a busy machine lowers; the other tests of this file prove by words of the kernel and of"
    " the relays that every link has its rate, healthy, slowed and mended"
)
def test_declared_and_slowed_rates_are_what_is_measured(healthy: Emulation) -> None:
    for one in fidelity.probes(healthy.state.description):
        found = fidelity.streamed(healthy, one)
        assert abs(found.deviation) < 0.3, found
    lab = faults.faulty_link(healthy, "a1", "slow", 5, "out")
    slow, there = fidelity.streamed(lab, probe(lab, "ports of a")), probe(lab, "ports of a")  # a1 sends
    assert slow.deviation < -0.7
    assert not fidelity.faithful(slow)
    back = replace(there, sender=there.receiver, receiver=there.sender)
    assert fidelity.streamed(lab, back).deviation > -0.3
    lab = faults.faulty_link(faults.faulty_link(faults.clear(lab), "a-c", "slow", 2), "a-b", "slow", 2)
    for link in ("trunk a-b", "trunk a-c"):
        assert fidelity.streamed(lab, probe(lab, link)).deviation < -0.7
    assert fidelity.streamed(lab, probe(lab, "ports of a")).deviation > -0.3, "others are not harmed"
    mended = faults.clear(lab)
    assert all(
        fidelity.streamed(mended, one).deviation > -0.3 for one in fidelity.probes(mended.state.description)
    )


def test_latency_is_added_to_a_trunk(small: Emulation) -> None:
    # A refusal comes back from the other end. No machine is so busy that it would come sooner.
    ask = (
        "import socket, time; s = socket.socket(); start = time.monotonic(); s.connect_ex(('10.77.2.1', 9));"
        "print(time.monotonic() - start)"
    )
    assert float(small.run("a1", [sys.executable, "-c", ask]).stdout) >= 1e-3, "0.5 ms each way"
    until(lambda: small.state.facts().relayed[0].frames > 0, "the relay tells what it carried")


def test_a_slow_port_is_slow_in_one_direction_until_it_is_mended(healthy: Emulation) -> None:
    lab = faults.faulty_link(healthy, "a1", "slow", 5, "out")
    assert [(one.where, one.kind, one.value, one.direction) for one in lab.state.faults] == [
        ("a1", "slow", 5, "out")
    ]
    assert port_mbit(lab) == (5, 50)
    assert shaped_mbit(lab, "a1", "eth0") == 5
    assert port_mbit(lab, "a2") == (50, 50), "others are not harmed"
    mended = faults.clear(lab)
    assert mended.state.faults == []
    assert (port_mbit(mended), shaped_mbit(mended, "a1", "eth0")) == ((50, 50), 50)


def expect_nothing(lab: Emulation, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link carries nothing: a check of it says so, and no frame of data arrives."""
    asked = probe(lab, link)
    before = on_the_wire(lab, asked.receiver.name, "rx")
    with monkeypatch.context() as patch:
        patch.setattr(fidelity, "TIMEOUT_S", 1.0)
        with pytest.raises(ScopeError, match=f"{link}.*no data"):
            fidelity.streamed(lab, asked)
    carried = on_the_wire(lab, asked.receiver.name, "rx") - before
    assert carried < 20_000, "a healthy link, even a busy one, moves megabytes"


@pytest.mark.parametrize(
    ("harm", "where", "link"),
    [
        (lambda lab: faults.faulty_link(lab, "a2", "dead"), "a2", "ports of a"),
        (lambda lab: faults.faulty_link(lab, "a-c", "dead"), "a-c", "trunk a-c"),
    ],
    ids=["port", "trunk"],
)
def test_a_dead_link_carries_nothing_until_it_is_mended(
    healthy: Emulation, monkeypatch: pytest.MonkeyPatch, harm: Harm, where: str, link: str
) -> None:
    lab = harm(healthy)
    assert [(one.where, one.kind) for one in lab.state.faults] == [(where, "dead")]
    expect_nothing(lab, link, monkeypatch)
    mended = faults.clear(lab)
    assert fidelity.streamed(mended, probe(mended, link)).measured_bytes_per_s > 0


COUNT = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 7000))
# SO_RCVBUFFORCE (no name in Python): room for all of them where the receiver gets no processor meanwhile.
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)
print("ready", flush=True)
n = 0
while s.recv(100) == b"x":
    n += 1
print(n)
"""
SEND = """
import errno, socket, sys, time
# The neighbor's address may take several questions to find.
while socket.socket().connect_ex((sys.argv[1], 9)) != errno.ECONNREFUSED: pass
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 7000))
for i in range(400): s.send(b"x")
# The end overtakes none of them, and may be lost itself. Once it has arrived, nobody is there.
try:
    for i in range(10_000): s.send(b"end"); time.sleep(0.02)
except ConnectionRefusedError: pass
"""


def came_through(lab: Emulation, sender: str, receiver: str, address: str) -> int:
    """Return how many of 400 datagrams arrived."""
    counting = lab.started(receiver, [sys.executable, "-c", COUNT, address])
    assert counting.stdout is not None
    assert counting.stdout.readline() == "ready\n"
    sending = lab.started(sender, [sys.executable, "-c", SEND, address])
    arrived = int(counting.communicate(timeout=PATIENCE_S)[0])
    assert sending.wait(PATIENCE_S) == 0
    return arrived


@pytest.mark.parametrize(
    ("harm", "sender", "receiver", "address"),
    [
        (lambda lab: faults.faulty_link(lab, "a2", "lossy", 0.2), "a1", "a2", "10.77.1.2"),
        (lambda lab: faults.faulty_link(lab, "a-c", "lossy", 0.2), "a1", "c1", "10.77.3.1"),
        # Whoever receives a damaged frame sees that by its checksum.
        (lambda lab: faults.faulty_link(lab, "a2", "corrupting", 0.2), "a1", "a2", "10.77.1.2"),
    ],
    ids=["port", "trunk", "damaged"],
)
def test_frames_are_lost_where_they_are_to_be(
    healthy: Emulation, harm: Harm, sender: str, receiver: str, address: str
) -> None:
    lab = harm(healthy)
    assert 256 < came_through(lab, sender, receiver, address) < 384, "four fifths of 400, within 8 deviations"
    mended = faults.clear(lab)
    assert came_through(mended, sender, receiver, address) == 400
    assert (port_mbit(mended, "a2"), trunk_mbit(mended)) == ((50, 50), (20, 20))


def test_frames_arrive_twice(healthy: Emulation) -> None:
    twice = faults.faulty_link(healthy, "a2", "duplicating", 0.5)
    assert 512 < came_through(twice, "a1", "a2", "10.77.1.2") < 688, "half of 400 twice, within 8 deviations"


def test_a_trunk_is_slowed_in_one_direction_or_both_and_mended(healthy: Emulation) -> None:
    slow = faults.faulty_link(healthy, "a-c", "slow", 2)
    assert trunk_mbit(slow) == (2, 2)
    assert port_mbit(slow) == (50, 50), "others are not harmed"
    mended = faults.clear(slow)
    assert trunk_mbit(mended) == (20, 20)
    assert trunk_mbit(faults.faulty_link(mended, "a-c", "slow", 4, "out")) == (4, 20)


def test_a_trunk_with_latency_has_several_faults_and_is_mended(healthy: Emulation) -> None:
    slow = faults.faulty_link(faults.faulty_link(healthy, "a-b", "slow", 5), "a-b", "slow", 2, "out")
    lossy = faults.faulty_link(slow, "a-b", "lossy", 0.25, "in")
    assert ways(lossy)["a b"]["rate-mbit"] == "2"
    back = ways(lossy)["b a"]
    assert (back["rate-mbit"], back["loss"], back["latency-us"]) == ("5", "0.25", "500")
    assert lossy.state.relay == healthy.state.relay, "the same relay runs"
    mended = faults.clear(lossy)
    assert ways(mended) == ways(healthy)
    assert fidelity.streamed(mended, probe(mended, "trunk a-b")).measured_bytes_per_s > 0


ECHO = """
import socket, sys
server = socket.create_server((sys.argv[1], 0))
print(server.getsockname()[1], flush=True)
connection, _ = server.accept()
while data := connection.recv(100): connection.sendall(data)
"""
KEEP = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while line := sys.stdin.readline():
    connection.sendall(line.encode())
    print(connection.recv(100).decode(), end="", flush=True)
"""


def test_a_connection_outlives_a_fault_and_its_end(healthy: Emulation) -> None:
    server = healthy.started("a2", [sys.executable, "-c", ECHO, "10.77.1.2"])
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    words = healthy.command([sys.executable, "-c", KEEP, "10.77.1.2", port], "a1")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    client = subprocess.Popen(words, **pipes)  # type: ignore[call-overload]
    try:
        for state in ("healthy", "lossy", "half-duplex", "mended"):
            if state == "mended":
                faults.clear(now(healthy))
            elif state != "healthy":
                faults.faulty_link(now(healthy), "a2", state, 0.5)
            client.stdin.write(f"{state}\n")
            client.stdin.flush()
            assert client.stdout.readline() == f"{state}\n"
    finally:
        client.kill()
        server.kill()
        client.wait()


def test_faults_that_cannot_be_made_are_refused(small: Emulation) -> None:
    for where in ("d1", "a-d"):
        with pytest.raises(UsageError, match=rf"{where}: .*a1, a2, b1, c1, a-b, a-c"):
            faults.faulty_link(small, where, "slow", 5)
    with pytest.raises(UsageError, match=r"--queue 9000: .*\b10000\b"):
        faults.faulty_link(small, "a-c", "queue", 9000)
    with pytest.raises(UsageError, match=r"--rate 2000: .*\b20\b"):
        faults.faulty_link(small, "a-c", "slow", 2000)
    with pytest.raises(UsageError, match=r"--direction out: .*--half-duplex"):
        faults.faulty_link(small, "a-c", "half-duplex", direction="out")
