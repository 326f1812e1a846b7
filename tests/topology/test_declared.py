"""The topology of a lab file, as a discovery in that lab should find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.lab import description
from hpcscope.lab.fidelity import PAYLOAD_SHARE
from hpcscope.topology import topology
from hpcscope.topology.declared import declared
from hpcscope.topology.topology import Group, Topology

MBIT = 1e6 / 8 * PAYLOAD_SHARE


def of(name: str) -> Topology:
    return declared(description.read(name)[1])


def groups(found: Topology) -> dict[str, Group]:
    return {group.name: group for group in found.group}


@pytest.mark.parametrize("name", description.presets())
def test_it_can_be_written_and_read(tmp_path: Path, name: str) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(topology.write(of(name)))
    again = topology.read(file)
    assert again.hosts == of(name).hosts
    assert sorted(again.hosts) == sorted(host.name for host in description.read(name)[1].hosts() if host.slots)


def test_the_slowest_trunk_parts_first() -> None:
    found = groups(of("grid"))
    assert {name: group.parent for name, group in found.items()} == {
        "hpc": "lan1",
        "grid": "lan1",
        "giza": "wan1",
        "lan1": "wan1",
        "wan1": None,
    }
    assert [found[name].bandwidth_bytes_per_s / MBIT for name in ("hpc", "grid", "giza", "lan1", "wan1")] == [
        pytest.approx(rate) for rate in (100, 1000, 200, 100, 6.7)
    ]


def test_an_uplink_is_told_where_it_limits() -> None:
    grid = groups(of("grid"))
    assert grid["hpc"].uplink_bytes_per_s is None, "eight hosts cannot fill it"
    assert grid["grid"].uplink_bytes_per_s == pytest.approx(100 * MBIT)
    assert grid["giza"].uplink_bytes_per_s == pytest.approx(6.7 * MBIT)
    tree = of("fat-tree")
    assert [group.uplink_bytes_per_s for group in tree.group if group.hosts] == [pytest.approx(200 * MBIT)] * 4
    assert tree.root.bandwidth_bytes_per_s == pytest.approx(100 * MBIT), "a port is slower than two links"
    cascade = of("sgi")
    assert [group.uplink_bytes_per_s for group in cascade.group if group.hosts] == [pytest.approx(100 * MBIT)] * 2


def test_a_bus_is_one_shared_medium_and_dual_hosts_have_an_inside() -> None:
    (bus,) = of("sparc").group
    assert bus.medium == "shared"
    assert of("sparc").host is None
    assert of("netfinity").host is not None


def test_latencies_of_ports_and_trunks_add_up(tmp_path: Path) -> None:
    file = tmp_path / "far.toml"
    file.write_text(
        '[[group]]\nname = "a"\nhosts = 2\nrate_mbit_per_s = 100\nlatency_us = 100\n'
        '[[group]]\nname = "b"\nhosts = 2\nrate_mbit_per_s = 100\n'
        '[[trunk]]\nbetween = ["a", "r"]\nrate_mbit_per_s = 10\nlatency_us = 1000\n'
        '[[trunk]]\nbetween = ["b", "r"]\nrate_mbit_per_s = 10\nlatency_us = 3000\n'
    )
    found = declared(description.read(str(file))[1])
    inside = groups(found)
    alone = inside["b"].latency_s
    assert inside["a"].latency_s - alone == pytest.approx(200e-6)
    assert found.root.latency_s - alone == pytest.approx(4100e-6)
