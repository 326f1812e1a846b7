"""A trunk is shared by all hosts of a group."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.topology import TopologyFacts
from hpcscope.topology.topology import Group, Topology


def find(facts: TopologyFacts) -> Found:
    """Find groups whose uplink is slower than the sum of their hosts' rates."""
    topology = facts.discovery.topology
    for group in topology.group:
        rate = group.uplink_bytes_per_s
        if rate is None or _is_other_end(topology, group):
            continue
        members = topology.members(group)
        need = sum(topology.group_of[host].bandwidth_bytes_per_s for host in members)
        if rate < need and len(members) > 1:
            yield _finding(group, members, rate, need)


def _is_other_end(topology: Topology, group: Group) -> bool:
    """Return whether this is the second end of a trunk that joins exactly two groups."""
    parent = topology.by_name[group.parent] if group.parent else None
    siblings = topology.children(parent) if parent else []
    both = len(siblings) == 2 and all(sibling.uplink_bytes_per_s is not None for sibling in siblings)
    # The end with fewer hosts below it is reported.
    return both and max(siblings, key=lambda each: len(topology.members(each))) is group


def _finding(group: Group, members: list[str], rate: float, need: float) -> Finding:
    single = group.bandwidth_bytes_per_s
    return Finding(
        code="trunk-shared",
        severity="advice" if need > 5 * rate else "information",
        title=(
            f"Traffic out of {group.name} shares {units.quantity(rate, 'B/s')}: when its {len(members)} hosts send"
            f" concurrently, each gets {units.quantity(rate / len(members), 'B/s')}"
        ),
        where={"group": group.name, "layer": "network"},
        evidence=[
            Evidence(what="rate of the uplink", value=rate, unit="B/s"),
            Evidence(what="sum of its hosts' rates", value=need, unit="B/s"),
            Evidence(what="a single transfer inside the group", value=single, unit="B/s"),
            Evidence(what="duplex", value=group.uplink_duplex),
        ],
        advice=(
            "Use topology-aware collectives (`SCOPE_TOPOLOGY`), which cross the trunk only once. Keep neighbors "
            "that exchange much data inside one group."
        ),
        lost=1 - rate / need,
    )
