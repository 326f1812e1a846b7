"""One host is slower than the others on its switch."""

from __future__ import annotations

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.topology.facts import TopologyFacts

ASYMMETRIC = 1.5
"""Ratio of directions from which on it is a duplex mismatch."""


def find(facts: TopologyFacts) -> list[Finding]:
    """Find hosts that are slower in both directions than the ports of their group."""
    topology = facts.discovery.topology
    found = []
    for each in topology.exception:
        ports, group = facts.discovery.ports[each.host], topology.group_of[each.host]
        if max(ports.out, ports.into) > ASYMMETRIC * min(ports.out, ports.into):
            continue
        usual = group.bandwidth_bytes_per_s
        lost = 1 - each.bandwidth_bytes_per_s / usual
        found.append(
            Finding(
                code="host-off-the-switch",
                severity="warning",
                title=(
                    f"{each.host} reaches {units.quantity(each.bandwidth_bytes_per_s, 'B/s')}, the other hosts of"
                    f" {group.name} {units.quantity(usual, 'B/s')}"
                ),
                where={"host": each.host, "group": group.name, "layer": "network"},
                evidence=[
                    Evidence(what="sends", value=ports.out, unit="B/s"),
                    Evidence(what="receives", value=ports.into, unit="B/s"),
                    Evidence(what="other hosts of its group", value=usual, unit="B/s"),
                ],
                advice=(
                    f"Check the port of {each.host}: `ethtool` for speed and errors, the cable, the counters of "
                    "the switch; every collective waits for it."
                ),
                lost=lost,
            )
        )
    return found
