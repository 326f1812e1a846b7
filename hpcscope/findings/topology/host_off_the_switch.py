"""One host is slower than the others on its switch."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.topology import TopologyFacts

ASYMMETRIC = 1.5
"""Ratio of the two directions above which the cause is a duplex mismatch."""


def find(facts: TopologyFacts) -> Found:
    """Find hosts that are slower in both directions than the other ports of their group."""
    topology = facts.discovery.topology
    for port in topology.exception:
        ports, group = facts.discovery.ports[port.host], topology.group_of[port.host]
        if max(ports.out, ports.into) > ASYMMETRIC * min(ports.out, ports.into):
            continue
        usual = group.bandwidth_bytes_per_s
        lost = 1 - port.bandwidth_bytes_per_s / usual
        yield Finding(
            code="host-off-the-switch",
            severity="warning",
            title=(
                f"{port.host} reaches {units.quantity(port.bandwidth_bytes_per_s, 'B/s')}, but the other hosts"
                f" of {group.name} reach {units.quantity(usual, 'B/s')}"
            ),
            where={"host": port.host, "group": group.name, "layer": "network"},
            evidence=[
                Evidence(what="sends", value=ports.out, unit="B/s"),
                Evidence(what="receives", value=ports.into, unit="B/s"),
                Evidence(what="other hosts of its group", value=usual, unit="B/s"),
            ],
            advice=(
                f"Check the port of {port.host}: `ethtool` for speed and errors, the cable, the counters"
                " of the switch; every collective waits for this host."
            ),
            lost=lost,
        )
