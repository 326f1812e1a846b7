"""One host is slower than the others on its switch."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.topology.facts import Facts

ASYMMETRIC = 1.5
"""Directions that differ by this factor are another finding."""


def find(facts: Facts) -> list[Finding]:
    """Find hosts both of whose directions are slower than the ports of their group."""
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
                    Evidence(what="the others of its group", value=usual, unit="B/s"),
                ],
                advice=(
                    f"Look at the port of {each.host}: `ethtool` for speed and errors, the cable, the switch's"
                    " counters; every collective waits for it."
                ),
                lost=lost,
            )
        )
    return found
