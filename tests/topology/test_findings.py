"""Every kind of finding: it is there where something is amiss, and only there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hpcscope.findings.finding import Finding
from hpcscope.findings.topology import TopologyFacts, find_all
from hpcscope.topology.discovery import Discovery, discover
from tests.topology.synthetic import Cluster, Synthetic

LINE = 12.5e6


def cluster(trunk: float = 100.0) -> Cluster:
    return Cluster().group("a", 4, 100, "s").group("b", 4, 100, "t").trunk("s", "t", trunk)


def found(described: Cluster) -> Discovery:
    return discover(Synthetic(described, np.random.default_rng(2), 0.005), seed=2)


def kinds(findings: Sequence[Finding], code: str) -> list[Finding]:
    return [finding for finding in findings if finding.code == code]


def values(finding: Finding) -> list[Any]:
    return [each.value for each in finding.evidence]


def test_a_switch_of_equal_hosts_has_no_findings() -> None:
    healthy = found(Cluster().group("n", 8, 100))
    hosts = [f"n{number}" for number in range(1, 9)]
    assert find_all(TopologyFacts(healthy, hosts, dict.fromkeys(hosts, LINE), "the link speed")) == []


def test_a_shared_trunk_is_named_once_with_its_share() -> None:
    (finding,) = kinds(find_all(TopologyFacts(found(cluster()))), "trunk-shared")
    assert finding.severity == "information"
    assert finding.lost == pytest.approx(0.75, abs=0.02)
    uplink, together, single = values(finding)[:3]
    assert together == pytest.approx(4 * uplink, rel=0.05), "four hosts share it"
    assert uplink == pytest.approx(single, rel=0.05)
    (worse,) = kinds(find_all(TopologyFacts(found(cluster(trunk=10)))), "trunk-shared")
    assert worse.severity == "advice"


def test_a_slow_host_is_named() -> None:
    slow = cluster()
    slow.ports["b3"] = (20.0, 20.0)
    findings = find_all(TopologyFacts(found(slow)))
    (finding,) = kinds(findings, "host-off-the-switch")
    assert finding.where["host"] == "b3"
    assert finding.lost == pytest.approx(0.8, abs=0.02)
    assert kinds(findings, "duplex-mismatch") == []


@pytest.mark.parametrize("ports", [(100.0, 10.0), (10.0, 100.0)])
def test_a_duplex_mismatch_is_named_with_its_direction(ports: tuple[float, float]) -> None:
    one_way = cluster()
    one_way.ports["a2"] = ports
    findings = find_all(TopologyFacts(found(one_way)))
    (finding,) = kinds(findings, "duplex-mismatch")
    assert finding.where["host"] == "a2"
    sends, receives = values(finding)
    assert sends / receives == pytest.approx(ports[0] / ports[1], rel=0.1)
    assert finding.lost == pytest.approx(0.9, abs=0.02)
    assert kinds(findings, "host-off-the-switch") == []


def test_ports_below_what_is_declared_are_named_together() -> None:
    discovery = found(cluster())
    declared = {host: (10 * LINE if host.startswith("b") else LINE) for host in discovery.ports}
    (finding,) = kinds(find_all(TopologyFacts(discovery, (), declared, "the link speed")), "below-declared-rate")
    assert finding.where["hosts"] == "b1, b2, b3, b4" or set(str(finding.where["hosts"]).split(", ")) == {
        "b1", "b2", "b3", "b4"
    }  # fmt: skip
    best, link = finding.evidence
    assert (link.what, link.value) == ("the link speed", 10 * LINE)
    assert best.value == pytest.approx(LINE, rel=0.1)


def test_ranks_that_alternate_between_groups_are_named() -> None:
    discovery = found(cluster())
    alternating = ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4"]
    (finding,) = kinds(find_all(TopologyFacts(discovery, alternating)), "placement-against-topology")
    assert values(finding) == [7, 1], "pairs of successive ranks across, and how many there must be"
    assert kinds(find_all(TopologyFacts(discovery, sorted(alternating))), "placement-against-topology") == []
