"""What a lab file may say, and how it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.lab import description, fidelity, wiring
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
    told = "/proc/1/net/dev hpc>router=trunk0a grid>router=trunk1a giza>router=trunk2a"
    assert wiring.counters(grid) == told


@pytest.mark.parametrize(
    ("impairment", "said"),
    [
        (wiring.Impairment(largest_packet_bytes=1400), "--largest-packet-bytes=1400"),
        (wiring.Impairment(paused_ms=2.5), "--paused-ms=2.5"),
        (wiring.Impairment(policed_mbit_per_s=8), "--policed-mbit-per-s=8"),
        (wiring.Impairment(half_duplex=1), "--shared"),
    ],
)
def test_an_impaired_link_is_a_relay_of_the_same_rate(impairment: wiring.Impairment, said: str) -> None:
    _, grid = description.read("grid")
    for wired in (wiring.trunk(grid, 1, impairment), wiring.port(grid, "hpc1", 7, impairment)):
        (relay,) = wired.relays
        assert said in relay.arguments("file")
        assert ("--shared" in relay.arguments("file")) == (said == "--shared")
        assert f"--rate-mbit={grid.trunk[1].total_mbit_per_s:g}" in relay.arguments("file")
        assert not wired.buckets


def test_a_queue_is_as_long_as_it_is_told() -> None:
    assert wiring.bucket("trunk0a", 50).endswith(" limit 625000")
    assert wiring.bucket("trunk0a", 50, "replace", 12_000).endswith(" limit 12000")


@pytest.mark.parametrize("rate_mbit_per_s", [25, 100, 200, 250, 400, 520, 1000, 10_000])
def test_segments_fit_into_the_bucket_of_their_link(rate_mbit_per_s: float) -> None:
    words = wiring.bucket("port1", rate_mbit_per_s).split()
    assert wiring.segment_bytes(rate_mbit_per_s) <= float(words[words.index("burst") + 1])
