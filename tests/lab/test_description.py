"""What a lab file may say, and how it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from hpcscope.errors import UsageError
from hpcscope.lab import description, fidelity, wiring
from hpcscope.lab.active import Fault
from hpcscope.machine.machine import EmulatedLink, EmulatedMessage
from hpcscope.topology.declared import declared
from tests.messages import mentions

PAIR = """
[[group]]
name = "a"
hosts = 2
rate_mbit_per_s = 100
[[group]]
name = "b"
hosts = 3
ranks_per_host = 2
rate_mbit_per_s = 50
links = 2
[[trunk]]
between = ["a", "b"]
rate_mbit_per_s = 10
"""


def lab(folder: Path, text: str) -> tuple[str, description.Lab]:
    file = folder / "pair.toml"
    file.write_text(text)
    return description.read(str(file))


@pytest.mark.parametrize("name", description.presets())
def test_presets_can_be_read_and_wired(name: str) -> None:
    known, preset = description.read(name)
    assert known == name
    assert preset.title
    assert preset.source
    hosts = preset.hosts()
    assert len({host.data_address for host in hosts} | {host.management_address for host in hosts}) == 2 * len(
        hosts
    )
    wires = wiring.wire(preset, {host.name: number for number, host in enumerate(hosts, 10)})
    devices = [line.split()[2] for line in wires.links if line.startswith("link add")]
    assert len(devices) == len(set(devices))
    assert max(map(len, devices)) <= 15, "the kernel takes names of interfaces up to 15 letters"


def test_hosts_are_numbered_within_their_group(tmp_path: Path) -> None:
    name, pair = lab(tmp_path, PAIR)
    assert name == "pair"
    assert [(host.name, host.slots) for host in pair.hosts()] == [
        ("a1", 1),
        ("a2", 1),
        ("b1", 2),
        ("b2", 2),
        ("b3", 2),
    ]
    assert pair.group_of("b").port_mbit_per_s == 100
    assert [trunk.name for trunk in pair.way("b", "a")] == ["a-b"]


def test_each_kind_of_link_is_probed_where_it_is_the_narrowest(tmp_path: Path) -> None:
    _, pair = lab(tmp_path, PAIR)
    found = {
        (probe.link, probe.sender.name, probe.receiver.name, probe.mbit_per_s) for probe in fidelity.probes(pair)
    }
    assert found == {
        ("ports of a", "a1", "a2", 100),
        ("ports of b", "b1", "b2", 100),
        ("trunk a-b", "a1", "b1", 10),
    }
    _, wide = lab(tmp_path, PAIR.replace("rate_mbit_per_s = 10\n", "rate_mbit_per_s = 1000\n"))
    assert [probe.link for probe in fidelity.probes(wide)] == ["ports of a", "ports of b"], (
        "nobody can fill the trunk"
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('name = "a"', 'name = "A"', 'group[0].name = "A"'),
        ('name = "b"', 'name = "a"', "group[1].name = 'a': "),
        ("hosts = 2", "hosts = 0", "group[0].hosts = 0: ... 1"),
        ("hosts = 2", "hosts = 251", "group[0].hosts = 251"),
        (
            "rate_mbit_per_s = 100\n",
            "rate_mbit_per_s = 1e9\n",
            "group[0].rate_mbit_per_s = 1000000000.0: ",
        ),
        ("rate_mbit_per_s = 100\n", "", "group[0].rate_mbit_per_s: "),
        ("rate_mbit_per_s = 100\n", "rate = 100\n", "group[0].rate_mbit_per_s: "),
        ("links = 2", "color = 2", "group[1].color: ... name, hosts"),
        ('["a", "b"]', '["a", "c"]', "switch 'b': ... 'a'"),
        ("hosts = 2", "hosts = ", "not TOML"),
        ('["a", "b"]', '["a", "$(id)"]', 'trunk[0].between[1] = "$(id)": '),
        ('["a", "b"]', '["../a", "b"]', 'trunk[0].between[0] = "../a": '),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, before: str, after: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"pair\.toml") as refusal:
        lab(tmp_path, PAIR.replace(before, after, 1))
    assert mentions(str(refusal.value), said)


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ('kind = "nfs"', "storage.kind = \"nfs\": ... 'glusterfs' ... 'local'"),
        ('kind = "glusterfs"', "storage.servers = '': ... a, b"),
        ('kind = "glusterfs"\nservers = "c"', "storage.servers = 'c': ... a, b"),
        ('kind = "glusterfs"\nservers = "b"\ncopies = 2', "storage.copies = 2: ... 3"),
        ('kind = "local"\ncopies = 2', "storage.copies = 2: ... kind = 'glusterfs'"),
        ('kind = "local"\ndisk_mb = 1', "storage.disk_mb = 1: ... 32"),
        ('kind = "local"\ndisc_mb = 64', "storage.disc_mb: ... kind, servers, copies"),
    ],
)
def test_a_wrong_storage_is_refused(tmp_path: Path, storage: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"pair\.toml") as refusal:
        lab(tmp_path, f"{PAIR}[storage]\n{storage}\n")
    assert mentions(str(refusal.value), said)


def test_servers_without_ranks_are_no_part_of_the_declared_topology(tmp_path: Path) -> None:
    _, pair = lab(tmp_path, PAIR.replace("ranks_per_host = 2", "ranks_per_host = 0"))
    assert [host for group in declared(pair).group for host in group.hosts] == ["a1", "a2"]
    with pytest.raises(UsageError, match=r"ranks_per_host = 0: .*\b1\b"):
        lab(tmp_path, PAIR.replace("hosts = 2", "hosts = 2\nranks_per_host = 0").replace("_host = 2", "_host = 0"))


def test_two_ways_between_switches_are_refused(tmp_path: Path) -> None:
    again = '[[trunk]]\nbetween = ["b", "a"]\nrate_mbit_per_s = 10\n'
    with pytest.raises(UsageError, match=r"trunk: a-b, b-a: "):
        lab(tmp_path, PAIR + again)


def test_an_unknown_lab_is_refused() -> None:
    with pytest.raises(UsageError, match=r"lab gird: .*fat-tree, gamma, grid"):
        description.read("gird")


def test_it_is_told_where_what_crosses_a_trunk_is_counted() -> None:
    _, grid = description.read("grid")
    told = [f"{one}>router=/labs/grid/relay.traffic:{one}-router" for one in ("hpc", "grid", "giza")]
    assert wiring.counters(grid, Path("/labs/grid")).split() == told


def wired(lab: description.Lab, *faults: Fault) -> list[str]:
    """Return the lines of the relay of a lab, whose hosts are the processes 10, 11, ..."""
    pids = {host.name: number for number, host in enumerate(lab.hosts(), 10)}
    return [way.line() for way in wiring.wire(lab, pids, faults).ways]


def test_every_link_is_carried_by_the_relay(tmp_path: Path) -> None:
    _, pair = lab(tmp_path, PAIR)
    port, trunk = "rate-mbit=100 queue-bytes=1250000", "rate-mbit=10 queue-bytes=128000"
    hosts = {10: "a", 11: "a", 12: "b", 13: "b", 14: "b"}
    ports = [f"{ends} {port}" for pid, at in hosts.items() for ends in (f"{pid}:eth0 {at}", f"{at} {pid}:eth0")]
    assert wired(pair) == [*ports, f"a b {trunk} counted=a-b", f"b a {trunk}"]


def test_a_bus_is_one_medium_for_all_that_enters(tmp_path: Path) -> None:
    _, sparc = description.read("sparc-files")
    told = "rate-mbit=10 queue-bytes=757000 medium=bus"
    ways = [(f"{pid}:eth0 bus {told}", f"bus {pid}:eth0") for pid in range(10, 15)]
    assert wired(sparc) == [line for pair in ways for line in pair]


def test_what_comes_over_a_trunk_waits_for_a_bus(tmp_path: Path) -> None:
    bus = PAIR + '[[switch]]\nname = "b"\nshared_mbit_per_s = 10\n'
    _, pair = lab(tmp_path, bus)
    told = "rate-mbit=10 queue-bytes=757000 medium=b"
    assert [line for line in wired(pair) if "b/gate" in line] == [
        "a b/gate rate-mbit=10 queue-bytes=128000 counted=a-b",
        "b/gate a rate-mbit=10 queue-bytes=128000",
        f"b/gate b {told}",
        "b b/gate",
    ]


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("black-hole", 1400, " largest-packet-bytes=1400"),
        ("pausing", 2.5, " paused-ms=2.5"),
        ("policing", 8, " policed-mbit-per-s=8"),
        ("lossy", 0.25, " loss=0.25"),
        ("dead", 0, " loss=1"),
    ],
)
@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_a_fault_is_in_the_ways_of_its_direction(
    kind: str, value: float, said: str, direction: Literal["both", "in", "out"]
) -> None:
    _, grid = description.read("grid")
    for where, out, back in (("hpc2", 2, 3), ("grid-router", 50, 51)):
        sound, faulty = (
            wired(grid, *faults)
            for faults in ((), (Fault(where=where, kind=kind, value=value, direction=direction),))
        )
        harmed = {"both": (out, back), "out": (out,), "in": (back,)}[direction]
        assert faulty == [line + said * (number in harmed) for number, line in enumerate(sound)]


def test_a_half_duplex_link_is_one_medium() -> None:
    _, grid = description.read("grid")
    faulty = wired(
        grid, Fault(where="hpc2", kind="half-duplex", value=1), Fault(where="hpc2", kind="slow", value=5)
    )
    told = "rate-mbit=5 queue-bytes=1250000 medium=hpc2"
    assert faulty[2:4] == [f"11:eth0 hpc {told}", f"hpc 11:eth0 {told}"]


def test_a_queue_is_as_long_as_it_is_told() -> None:
    assert wiring.queue_bytes(50) == 625_000
    way = wiring.Way("trunk0a", "trunk0b", 50, queue_bytes=12_000)
    assert wiring.bucket("trunk0a", way).endswith(" limit 12000")


@pytest.mark.parametrize("rate_mbit_per_s", [25, 100, 200, 250, 400, 520, 1000, 10_000])
def test_segments_fit_into_the_bucket_of_their_link(rate_mbit_per_s: float) -> None:
    words = wiring.bucket("port1", wiring.Way("", "", rate_mbit_per_s)).split()
    assert wiring.segment_bytes(rate_mbit_per_s) <= float(words[words.index("burst") + 1])


ETHERNET, TWICE = fidelity.Hop(100), (fidelity.Hop(100), fidelity.Hop(100))


@pytest.mark.parametrize(
    ("hops", "size", "microseconds"),
    [
        ((ETHERNET,), 64, 130 * 0.08),
        (TWICE, 64, 2 * 130 * 0.08),  # every hop receives a frame whole before it sends it on
        ((ETHERNET,), 1448, 1514 * 0.08),
        ((ETHERNET,), 1449, (1514 + 67) * 0.08),
        (
            TWICE,
            2896,
            3 * 1514 * 0.08,
        ),  # the second frame crosses the first hop while the first crosses the second
        ((ETHERNET, fidelity.Hop(10)), 2896, (1514 + 2 * 15140) * 0.08),
        ((fidelity.Hop(10), ETHERNET), 2896, (2 * 15140 + 1514) * 0.08),
        ((fidelity.Hop(100, 180.0),), 64, 130 * 0.08 + 180),
        ((fidelity.Hop(10, 0.0, True),), 3 * 1448, (3 * 1514 + 66) * 0.8),  # an acknowledgement crosses it, too
    ],
)
def test_messages_take_what_frame_arithmetic_says(
    hops: tuple[fidelity.Hop, ...], size: int, microseconds: float
) -> None:
    assert fidelity.wire_s(hops, size) == pytest.approx(microseconds * 1e-6)


def test_a_message_crosses_each_link_between_its_hosts_once(tmp_path: Path) -> None:
    hops = {probe.link: probe.hops for probe in fidelity.probes(lab(tmp_path, PAIR)[1])}
    assert hops["ports of a"] == TWICE
    assert hops["trunk a-b"] == (ETHERNET, fidelity.Hop(10), ETHERNET)
    _, sparc = description.read("sparc")
    assert [probe.hops for probe in fidelity.probes(sparc)] == [(fidelity.Hop(10, 0, True),)]


def test_messages_are_measured_that_are_neither_too_short_nor_too_long() -> None:
    _, grid = description.read("grid")
    found = {probe.link: probe.messages_bytes for probe in fidelity.probes(grid)}
    assert found["ports of hpc"] == [64, 1024, 10_000, 1 << 20]
    assert found["ports of grid"] == [1024, 10_000, 1 << 20]
    assert found["trunk giza-router"] == [64, 1024, 10_000], "the stream measures what takes longer"


@pytest.mark.parametrize(
    ("measured_us", "worst"),
    [
        ((100, 180.0, 1000), ("a stream", -0.01)),
        ((100, 60.0, 1000), ("messages of 1,024 B", 2.0)),
        ((100, 180.0, 2000), ("messages of 10,000 B", -0.5)),
    ],
)
def test_the_worst_deviation_of_a_link_counts(measured_us: tuple[float, ...], worst: tuple[str, float]) -> None:
    """Of messages, less the 20 us that one byte needs besides its frame."""
    sizes = ((64, 80), (1024, 160), (10_000, 980))
    messages = [
        EmulatedMessage(bytes=size, wire_s=wire * 1e-6, measured_s=measured * 1e-6)
        for (size, wire), measured in zip(sizes, measured_us, strict=True)
    ]
    link = EmulatedLink(
        link="ports of a",
        declared_bytes_per_s=100,
        measured_bytes_per_s=99,
        processor_share=0.5,
        messages=messages,
        overhead_s=20e-6,
    )
    assert link.worst == (worst[0], pytest.approx(worst[1]))
    assert fidelity.faithful(link) == (worst[0] == "a stream")
