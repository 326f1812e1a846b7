"""A host sends and receives at different rates."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.topology import TopologyFacts
from hpcscope.findings.topology.host_off_the_switch import ASYMMETRIC


def find(facts: TopologyFacts) -> Found:
    """Find hosts with one direction much slower than the other direction."""
    for host, ports in facts.discovery.ports.items():
        slow, fast = sorted((ports.out, ports.into))
        if not slow or fast <= ASYMMETRIC * slow:
            continue
        slower, faster = ("sends", "receives") if ports.out < ports.into else ("receives", "sends")
        yield Finding(
            code="duplex-mismatch",
            severity="warning",
            title=(
                f"{host} {slower} at {units.quantity(slow, 'B/s')} but {faster} at {units.quantity(fast, 'B/s')}"
            ),
            where={"host": host, "layer": "network"},
            evidence=[
                Evidence(what="sends", value=ports.out, unit="B/s"),
                Evidence(what="receives", value=ports.into, unit="B/s"),
            ],
            advice=(
                f"One end of the link of {host} may be set to half duplex. Enable autonegotiation at both ends"
                " (`ethtool -s`), then check for late collisions and frame errors."
            ),
            lost=1 - slow / fast,
        )
