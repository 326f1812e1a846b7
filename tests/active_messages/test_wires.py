"""The reliable protocol between two network namespaces: both ways to the wire, good links and bad ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from hpcscope.lab.wiring import Way
from tests.active_messages.conftest import needs_root
from tests.active_messages.two_hosts import TwoHosts, run, running, two_hosts, written
from tests.messages import mentions
from tests.patience import PATIENCE_S

WIRES = {"packet": "AF_PACKET on eth0", "xdp": "AF_XDP (copy) on eth0"}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("flow_control", [True, False])
def test_every_byte_arrives(hosts: TwoHosts, wire: str, flow_control: bool) -> None:
    answers, asks = hosts.exchange("check", 300_000, 60, wire, flow_control)
    assert asks.result["wire"] == answers.result["wire"] == WIRES[wire]
    assert asks.result["messages_sent"] > 120
    assert asks.result["corrupt"] == asks.result["foreign"] == answers.result["foreign"] == 0


@pytest.mark.parametrize("way", ["there", "back"])
def test_the_two_wires_understand_each_other(hosts: TwoHosts, way: str) -> None:
    wires = ("packet", "xdp") if way == "there" else ("xdp", "packet")
    answers, asks = hosts.exchange("check", 50_000, 20, wires[0], second_wire=wires[1])
    assert answers.result["wire"] == WIRES[wires[0]]
    assert asks.result["wire"] == WIRES[wires[1]]


def test_lost_frames_are_repeated_and_others_put_in_order(program: Path, tmp_path: Path) -> None:
    needs_root()
    way = Way("port", "wire", 200, loss=0.03, duplication=0.03, reordering=0.03, corruption=0.03)
    with two_hosts(program, relay=(way, tmp_path)) as lossy:
        for wire in WIRES:
            answers, asks = lossy.exchange("check", 200_000, 20, wire)
            assert asks.result["retransmissions"] > 0
            for seen in ("out_of_order", "duplicates", "corrupt"):
                assert answers.result[seen] > 0, seen


def test_long_frames_carry_long_messages(program: Path) -> None:
    needs_root()
    with two_hosts(program, mtu=9000) as jumbo:
        _, asks = jumbo.exchange("check", 100_000, 20)
        assert mentions(asks.result["wire"], "AF_PACKET on eth0 (AF_XDP ... 9000")
        assert asks.result["frames_sent"] < 100 + 20 * 100_000 / 8000


def test_a_shaped_link_stays_shaped(program: Path) -> None:
    needs_root()
    with two_hosts(program) as shaped:
        shaped.shape("tbf rate 100mbit burst 10000 limit 128000")
        _, asks = shaped.exchange("check", 1000, 10)
        assert mentions(asks.result["wire"], "AF_PACKET on eth0 (AF_XDP ... tbf")


def sent_by(hosts: TwoHosts, **other: Any) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Put and verify some megabytes over AF_PACKET; return what both say, and the packets sent."""
    before = hosts.packets_sent(1)
    answers, asks = hosts.exchange("check", 300_000, 40, "packet", **other)
    return answers.result, asks.result, hosts.packets_sent(1) - before


def test_frames_travel_together(hosts: TwoHosts) -> None:
    answers, asks, packets = sent_by(hosts)
    assert asks["frames_sent"] > 3000
    assert packets < asks["frames_sent"] / 2
    assert answers["corrupt"] == answers["foreign"] == 0


def test_frames_that_left_together_arrive_when_they_are_cut(program: Path) -> None:
    needs_root()
    with two_hosts(program) as cut:
        # The process knew another limit when it began.
        limit = "ip link set eth0 gso_max_size 1500 && echo ready && cat"
        answers, asks, packets = sent_by(cut, meanwhile=("sh", "-c", limit))
        assert packets > 0.98 * asks["frames_sent"]
        assert answers["corrupt"] == answers["foreign"] == 0


def test_frames_travel_alone_where_the_kernel_would_cut_them(program: Path) -> None:
    needs_root()
    with two_hosts(program) as cut:
        cut.send_single_frames()
        cut.drop_ip(1)
        _, asks, packets = sent_by(cut)
        assert packets > 0.98 * asks["frames_sent"]
        assert cut.dropped_ip_bytes(1) == 0, "frames that travel together are an IP packet"


def test_cut_packets_have_right_checksums(program: Path) -> None:
    needs_root()
    script = Path(__file__).with_name("packet_sums.py")
    limit = "ip link set eth0 gso_max_size 1500 && echo ready && cat"
    with two_hosts(program) as cut:
        cut.sum_packets_here(1)
        with running(cut.inside(0, sys.executable, str(script), "eth0", "1000")) as reader:
            assert written(reader.stdout).readline() == "ready\n"
            sent_by(cut, meanwhile=("sh", "-c", limit))
            assert reader.communicate(timeout=PATIENCE_S)[0] == "1000 0\n"


def test_frames_travel_alone_past_a_filter_of_their_host(program: Path) -> None:
    needs_root()
    with two_hosts(program) as filtered:
        filtered.drop_ip(1)
        _, asks, packets = sent_by(filtered)
        assert packets > asks["frames_sent"] * 0.9 > 3000
        assert filtered.dropped_ip_bytes(1) > 0, "it tried"


def test_frames_travel_together_with_little_memory_at_the_socket(hosts: TwoHosts) -> None:
    # Without CAP_NET_ADMIN the system's limit holds, 208 KiB by default.
    _, asks, packets = sent_by(hosts, before=("setpriv", "--bounding-set=-net_admin"))
    assert packets < asks["frames_sent"] / 2


def test_frames_travel_alone_where_a_link_is_shaped(program: Path) -> None:
    needs_root()
    with two_hosts(program) as shaped:
        shaped.shape("tbf rate 1gbit burst 125000 limit 2000000")
        _, asks, packets = sent_by(shaped)
        assert packets > 0.98 * asks["frames_sent"] > 0


def test_hostile_packets_break_nothing(hosts: TwoHosts) -> None:
    command = [sys.executable, str(Path(__file__).with_name("hostile_packets.py")), "eth0"]
    answers, _ = hosts.exchange("check", 100_000, 100, "packet", meanwhile=command)
    assert answers.result["foreign"] > 0


def test_packets_of_ordinary_sockets_are_not_seen(hosts: TwoHosts) -> None:
    # Who may not open raw sockets reaches no process, not even to be refused there.
    command = [sys.executable, str(Path(__file__).with_name("hostile_packets.py")), "10.9.8.1"]
    answers, _ = hosts.exchange("check", 100_000, 100, "packet", meanwhile=command)
    assert answers.result["foreign"] == 0


def test_another_session_is_not_heard(hosts: TwoHosts) -> None:
    answers, asks = hosts.exchange("latency", 8, 1, "packet", key="00" * 15 + "01", patience_s=1)
    assert answers.code == asks.code == 1
    assert "dead" in asks.errors


def test_a_killed_peer_is_named(hosts: TwoHosts) -> None:
    answers, asks = hosts.exchange("latency", 8, 1 << 30, "packet", kill_first=True, patience_s=1)
    assert answers.code == -9
    assert asks.code == 1
    assert " port " in asks.errors


@pytest.mark.slow(
    "three seconds of silence; `absence` of active-messages/tests/protocol.cpp has a clock of its own"
)
def test_a_process_that_makes_no_call_is_taken_for_dead(hosts: TwoHosts) -> None:
    # The first makes no call for three seconds; the other waits for one.
    _, asks = hosts.exchange("latency", 8, 1, "packet", answering="absent", patience_s=1)
    assert asks.code == 1, asks.errors
    assert "dead" in asks.errors


def test_missing_rights_are_named_with_their_remedy(hosts: TwoHosts) -> None:
    without = hosts.alone("eth0", "packet", "setpriv", "--bounding-set=-net_raw")
    assert without.code == 2
    assert without.errors.startswith("scope-exchange: AF_PACKET: Operation not permitted")
    assert f"setcap cap_net_raw+ep {hosts.program.resolve()}" in without.errors


@pytest.mark.parametrize(
    ("interface", "said"),
    [
        ("nosuch0", "interface 'nosuch0': No such device ... `ip -brief link`"),
        ("lo", "interface 'lo': ... Ethernet"),
        ("a" * 20, f"interface '{'a' * 20}': ... 15"),
    ],
)
def test_wrong_interfaces_are_named(hosts: TwoHosts, interface: str, said: str) -> None:
    errors = hosts.alone(interface, "packet").errors
    assert mentions(errors, f"scope-exchange: {said}")
    assert errors.count("\n") == 1


def test_an_interface_that_is_down_is_named(hosts: TwoHosts) -> None:
    run(*hosts.inside(0, "ip", "link", "add", "down0", "type", "veth"))
    said = "interface 'down0': is down; `ip link set down0 up` brings it up"
    assert hosts.alone("down0", "packet").errors == f"scope-exchange: {said}\n"


def test_the_second_process_of_an_interface_gets_the_other_wire(hosts: TwoHosts) -> None:
    taken = "AF_PACKET on eth0 (AF_XDP on eth0: another process has it)"
    with hosts.waiting("automatic") as first:
        assert first
        answers, _ = hosts.exchange("check", 10_000, 5)
        assert answers.result["wire"] == taken
