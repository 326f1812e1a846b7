"""The links of a lab for real: rates as the kernel and the relays have them, latency, dead links, lost frames."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from hpcscope.errors import ScopeError, UsageError
from hpcscope.lab import faults, fidelity
from hpcscope.lab.entry import Emulation
from tests.lab.small_lab import on_the_wire, probe, relays, shaped_mbit
from tests.patience import PATIENCE_S, until

Harm = Callable[[Emulation], Emulation]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream over a link may take long where other programs have the processors."""
    monkeypatch.setattr(fidelity, "TIMEOUT_S", float(PATIENCE_S))


def port_mbit(lab: Emulation, host: str = "a1", fabric_end: str = "port0") -> tuple[float | None, float | None]:
    """Return the rates of a port from and to its host."""
    return shaped_mbit(lab, host, "eth0"), shaped_mbit(lab, None, fabric_end)


def trunk_mbit(lab: Emulation) -> tuple[float | None, float | None]:
    """Return the rates of the trunk between a and c from and to a."""
    return shaped_mbit(lab, None, "trunk1a"), shaped_mbit(lab, None, "trunk1b")


def test_every_link_is_shaped_to_its_declared_rate(small: Emulation) -> None:
    hosts = [host.name for host in small.state.hosts]
    assert {port_mbit(small, host, f"port{number}") for number, host in enumerate(hosts)} == {(50, 50)}
    assert trunk_mbit(small) == (20, 20)
    (words,) = relays(small).values()
    assert {"--rate-mbit=10", "--latency-us=500"} <= set(words)


def test_a_check_measures_every_link_by_a_stream_over_it(small: Emulation) -> None:
    before = {host: on_the_wire(small, host, "rx") for host in ("a2", "b1", "c1")}
    checked = fidelity.check_all(small, lambda _link: None).state.checks
    assert {link.link: link.declared_bytes_per_s * 8e-6 / fidelity.PAYLOAD_SHARE for link in checked} == {
        "ports of a": pytest.approx(50),
        "trunk a-b": pytest.approx(10),
        "trunk a-c": pytest.approx(20),
    }
    assert all(link.measured_bytes_per_s > 0 for link in checked)
    for host, received in before.items():
        assert on_the_wire(small, host, "rx") - received > 100_000, host


@pytest.mark.slow(
    "measures rates, which a busy machine lowers; the other tests of this file prove by words of the kernel and of"
    " the relays that every link has its rate, healthy, slowed and mended"
)
def test_declared_and_slowed_rates_are_what_is_measured(healthy: Emulation) -> None:
    for one in fidelity.probes(healthy.state.description):
        found = fidelity.check(healthy, one)
        assert abs(found.deviation) < 0.3, found
    lab = faults.slow_link(faults.port(healthy, "a1"), 5, "out")
    slow, there = fidelity.check(lab, probe(lab, "ports of a")), probe(lab, "ports of a")  # a1 sends
    assert slow.deviation < -0.7
    assert not fidelity.faithful(slow)
    back = fidelity.LinkProbe("back", there.receiver, there.sender, 50)
    assert fidelity.check(lab, back).deviation > -0.3
    lab = faults.slow_link(faults.trunk(faults.slow_link(faults.trunk(faults.clear(lab), "a-c"), 2), "a-b"), 2)
    for link in ("trunk a-b", "trunk a-c"):
        assert fidelity.check(lab, probe(lab, link)).deviation < -0.7
    assert fidelity.check(lab, probe(lab, "ports of a")).deviation > -0.3, "others are not harmed"
    mended = faults.clear(lab)
    assert all(fidelity.check(mended, one).deviation > -0.3 for one in fidelity.probes(mended.state.description))


def test_latency_is_added_to_a_trunk(small: Emulation) -> None:
    # A refusal comes back from the other end. No machine is so busy that it would come sooner.
    ask = (
        "import socket, time; s = socket.socket(); start = time.monotonic(); s.connect_ex(('10.77.2.1', 9));"
        "print(time.monotonic() - start)"
    )
    assert float(small.run("a1", [sys.executable, "-c", ask]).stdout) >= 1e-3, "0.5 ms each way"
    (relayed,) = small.state.facts().relayed
    assert relayed.link == "trunk a-b"
    until(lambda: small.state.facts().relayed[0].frames > 0, "the relay tells what it carried")


def test_a_slow_port_is_slow_in_one_direction_until_it_is_mended(healthy: Emulation) -> None:
    lab = faults.slow_link(faults.port(healthy, "a1"), 5, "out")
    assert [(one.where, one.kind, one.value, one.direction) for one in lab.state.faults] == [
        ("a1", "slow", 5, "out")
    ]
    assert port_mbit(lab) == (5, 50)
    assert port_mbit(lab, "a2", "port1") == (50, 50), "others are not harmed"
    mended = faults.clear(lab)
    assert mended.state.faults == []
    assert port_mbit(mended) == (50, 50)


def expect_nothing(lab: Emulation, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link carries nothing: a check of it says so, and no frame of data arrives."""
    asked = probe(lab, link)
    before = on_the_wire(lab, asked.receiver.name, "rx")
    with monkeypatch.context() as patch:
        patch.setattr(fidelity, "TIMEOUT_S", 1.0)
        with pytest.raises(ScopeError, match=f"{link} .*nothing"):
            fidelity.check(lab, asked)
    carried = on_the_wire(lab, asked.receiver.name, "rx") - before
    assert carried < 20_000, "a healthy link, even a busy one, moves megabytes"


@pytest.mark.parametrize(
    ("harm", "where", "link"),
    [
        (lambda lab: faults.dead_link(faults.port(lab, "a2")), "a2", "ports of a"),
        (lambda lab: faults.dead_link(faults.trunk(lab, "a-c")), "a-c", "trunk a-c"),
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
    assert fidelity.check(mended, probe(mended, link)).measured_bytes_per_s > 0


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
        (lambda lab: faults.impaired_link(faults.port(lab, "a2"), "lossy", 0.2), "a1", "a2", "10.77.1.2"),
        (lambda lab: faults.impaired_link(faults.trunk(lab, "a-c"), "lossy", 0.2), "a1", "c1", "10.77.3.1"),
    ],
    ids=["port", "trunk"],
)
def test_frames_are_lost_where_they_are_to_be(
    healthy: Emulation, harm: Harm, sender: str, receiver: str, address: str
) -> None:
    lab = harm(healthy)
    assert 256 < came_through(lab, sender, receiver, address) < 384, "four fifths of 400, within 8 deviations"
    mended = faults.clear(lab)
    assert [one.link for one in mended.state.relays] == ["trunk a-b"], "the relay of the loss has gone"
    assert came_through(mended, sender, receiver, address) == 400
    assert (port_mbit(mended, "a2", "port1"), trunk_mbit(mended)) == ((50, 50), (20, 20))


def test_frames_arrive_twice(healthy: Emulation) -> None:
    twice = faults.impaired_link(faults.port(healthy, "a2"), "duplicating", 0.5)
    assert 512 < came_through(twice, "a1", "a2", "10.77.1.2") < 688, "half of 400 twice, within 8 deviations"


def test_a_trunk_is_slowed_in_one_direction_or_both_and_mended(healthy: Emulation) -> None:
    slow = faults.slow_link(faults.trunk(healthy, "a-c"), 2)
    assert trunk_mbit(slow) == (2, 2)
    assert port_mbit(slow) == (50, 50), "others are not harmed"
    mended = faults.clear(slow)
    assert trunk_mbit(mended) == (20, 20)
    assert trunk_mbit(faults.slow_link(faults.trunk(mended, "a-c"), 4, "out")) == (4, 20)


def test_a_trunk_with_latency_is_slowed_twice_and_mended(healthy: Emulation) -> None:
    slow = faults.slow_link(faults.trunk(faults.slow_link(faults.trunk(healthy, "a-b"), 5), "a-b"), 2)
    assert {"--rate-mbit=2", "--latency-us=500"} <= set(relays(slow)["trunk a-b"])
    with pytest.raises(UsageError, match=r"a-b: .*relay"):
        faults.impaired_link(faults.trunk(slow, "a-b"), "lossy", 0.2)
    mended = faults.clear(slow)
    assert [one.link for one in mended.state.relays] == ["trunk a-b"]
    assert {"--rate-mbit=10", "--latency-us=500"} <= set(relays(mended)["trunk a-b"])
    assert fidelity.check(mended, probe(mended, "trunk a-b")).measured_bytes_per_s > 0


def test_a_link_with_a_fault_of_its_relay_is_not_slowed(healthy: Emulation) -> None:
    lossy = faults.impaired_link(faults.port(healthy, "a2"), "lossy", 0.02)
    with pytest.raises(UsageError, match=r"a2: .*relay"):
        faults.slow_link(faults.port(lossy, "a2"), 5)


def test_faults_that_cannot_be_made_are_refused(small: Emulation) -> None:
    with pytest.raises(UsageError, match=r"host d1: .*a1, a2, b1, c1"):
        faults.slow_link(faults.port(small, "d1"), 5)
    with pytest.raises(UsageError, match=r"trunk a-d: .*a-b, a-c"):
        faults.slow_link(faults.trunk(small, "a-d"), 5)
    with pytest.raises(UsageError, match=r"a-b: .*relay"):
        faults.queued_link(faults.trunk(small, "a-b"), 20_000)
    with pytest.raises(UsageError, match=r"a-b: --direction out: .*\bboth\b"):
        faults.slow_link(faults.trunk(small, "a-b"), 5, "out")
    with pytest.raises(UsageError, match=r"--queue 9000: .*\b10000\b"):
        faults.queued_link(faults.trunk(small, "a-c"), 9000)
