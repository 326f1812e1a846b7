"""Ports are slower than declared."""

from collections import defaultdict

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.topology import TopologyFacts

PAYLOAD = 0.85
"""Fraction of the link rate that a healthy network delivers as payload (0.95 with frames of 1500 bytes)."""


def find(facts: TopologyFacts) -> Found:
    """Find hosts whose port is slower than declared; one finding per group and rate."""
    alike: dict[tuple[str, float], list[str]] = defaultdict(list)
    topology = facts.discovery.topology
    for host, declared in facts.declared_bytes_per_s.items():
        ports = facts.discovery.ports.get(host)
        if ports and max(ports.out, ports.into) < PAYLOAD * declared:
            alike[topology.group_of[host].name, declared].append(host)
    for (group, declared), hosts in alike.items():
        seen = [max(facts.discovery.ports[host].out, facts.discovery.ports[host].into) for host in hosts]
        named = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts of {group}"
        best = max(seen)
        yield Finding(
            code="below-declared-rate",
            severity="warning",
            title=(
                f"{named} {'reaches' if len(hosts) == 1 else 'reach'} {units.quantity(best, 'B/s')};"
                f" {facts.declared_by} is {units.quantity(declared, 'B/s')}"
            ),
            where={"group": group, "hosts": ", ".join(hosts), "layer": "network"},
            evidence=[
                Evidence(what="fastest transfer", value=best, unit="B/s"),
                Evidence(what=facts.declared_by, value=declared, unit="B/s"),
            ],
            advice=(
                "Check whether messages use this interface (`--interface`) and whether interrupts keep a core "
                "of the host busy. The switch or a trunk may be slower than the host's port."
            ),
            lost=1 - best / declared,
        )
