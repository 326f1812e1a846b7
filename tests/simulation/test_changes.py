"""Platforms that were changed: what is asked for changes, everything else stays, the impossible is refused."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from hpcscope.errors import UsageError
from hpcscope.simulation import description, platform
from hpcscope.simulation.changes import changed
from hpcscope.simulation.platform import Platform, PlatformFigure, PlatformNode
from hpcscope.statistics.estimate import Estimate
from hpcscope.topology.topology import Group, Topology

SPEED = PlatformFigure(Estimate(value=1e9), "matrix product", "flop/s")
ALL = Group(name="all", level="lan", latency_s=4e-5, bandwidth_bytes_per_s=5e6)
GROUPS = [
    Group(
        **{
            "name": name,
            "level": "cluster",
            "parent": "all",
            "hosts": [f"{name}1", f"{name}2"],
            "latency_s": 2e-5,
        },
        **{"bandwidth_bytes_per_s": 1e8, "uplink_bytes_per_s": 5e6},
    )
    for name in ("a", "b")
]
ONE = Group(name="one", level="cluster", hosts=["a1", "a2"], latency_s=2e-5, bandwidth_bytes_per_s=1e8)


def made(*groups: Group) -> Platform:
    nodes = [PlatformNode(host, 1, SPEED) for group in groups for host in group.hosts]
    return Platform(
        "measured", nodes, None, None, Topology(origin="measured", group=list(groups)) if groups else None
    )


def groups(platform: Platform) -> dict[str, Group]:
    assert platform.topology is not None
    return platform.topology.by_name


def test_a_faster_trunk_is_used_up_to_the_ports() -> None:
    before = made(ALL, *GROUPS)
    after = groups(changed(before, {"link.trunk.bandwidth": 1e9}, None))
    assert after["a"].uplink_bytes_per_s == after["b"].uplink_bytes_per_s == 1e9
    assert after["all"].bandwidth_bytes_per_s == after["a"].bandwidth_bytes_per_s == 1e8
    assert after["a"].latency_s == 2e-5
    ports = groups(changed(before, {"link.port.bandwidth": 2e8}, None))
    assert (ports["a"].bandwidth_bytes_per_s, ports["all"].bandwidth_bytes_per_s) == (2e8, 5e6)


def test_latency_and_speed_are_multiplied_by_their_factors() -> None:
    after = changed(made(ONE), {"link.latency": 0.5, "host.speed": 2}, None)
    assert groups(after)["one"].latency_s == pytest.approx(1e-5)
    assert {one.flops_per_s.estimate.value for one in after.nodes} == {2e9}


def test_more_hosts_are_like_the_first() -> None:
    after = changed(made(ONE), {}, 1000)
    names = groups(after)["one"].hosts
    assert len(set(names)) == len(after.nodes) == 1000
    assert names[:2] == ["a1", "a2"]
    assert len(changed(after, {}, 16).nodes) == 16
    numbered = ONE.model_copy(update={"hosts": ["a", "a-3"]})
    assert [one.name for one in changed(made(numbered), {}, 4).nodes] == ["a", "a-3", "a-4", "a-5"]


@pytest.mark.parametrize(
    ("platform", "settings", "hosts", "words"),
    [
        (made(ONE), {"link.speed": 1.0}, None, r"link\.speed.* link\.port\.bandwidth"),
        (made(ONE), {"link.trunk.bandwidth": 1e9}, None, r"link\.trunk\.bandwidth"),
        (made(ALL, *GROUPS), {}, 64, "--hosts 64: .*one"),
        (made(ONE), {}, 1, r"--hosts 1: .*\b2\b"),
        (Platform("measured", [PlatformNode("a1", 1, SPEED)], None, None, None), {}, 4, "--hosts 4: .*one host"),
        (
            Platform("measured", [PlatformNode("a1", 1, SPEED)], None, None, None),
            {"link.latency": 2.0},
            None,
            "one host",
        ),
    ],
)
def test_impossible_changes_are_refused(
    platform: Platform, settings: dict[str, float], hosts: int | None, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        changed(platform, settings, hosts)


def test_a_platform_with_hyphens_in_a_comment_is_valid_xml() -> None:
    text = description.write(made(ONE), ["of run 'a---b' with --hosts 64-"])
    assert ElementTree.fromstring(text).find("config") is not None
    assert "'a- - -b' with - -hosts 64-" in text


@pytest.mark.parametrize("kind", platform.KINDS)
@pytest.mark.parametrize("count", [2, 7, 64, 1000])
def test_another_network_has_room_for_all_hosts(kind: str, count: int) -> None:
    after = platform.networked(changed(made(ONE), {}, count), kind)
    assert after.network is not None
    assert after.network.room >= count == len(after.nodes)
    assert after.network.room <= max(2 * count, 64)
    assert (after.network.link_bytes_per_s, after.network.link_latency_s) == (1e8, 1e-5)
    root = ElementTree.fromstring(description.write(after, []))
    (cluster,) = root.iter("cluster")
    assert cluster.attrib["radical"] == f"0-{after.network.room - 1}"
    assert [one.name for one in after.nodes] == [f"host{number}" for number in range(count)]
