"""Successive ranks are far apart."""

from collections.abc import Sequence
from itertools import pairwise

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.topology import TopologyFacts
from hpcscope.topology.topology import Group, Topology


def find(facts: TopologyFacts) -> Found:
    """Find trunks that successive ranks cross more often than their groups require."""
    topology = facts.discovery.topology
    hosts = [host for host in facts.hosts_by_rank if host in topology.group_of]
    for group in topology.group:
        children = [child for child in topology.children(group) if set(topology.members(child)) & set(hosts)]
        needed = len(children) - 1
        crossed = _crossings(topology, group, hosts)
        if needed > 0 and crossed > 2 * needed:
            yield _finding(group, len(children), crossed, needed, len(hosts))


def _crossings(topology: Topology, group: Group, hosts: Sequence[str]) -> int:
    """Return how many pairs of successive ranks communicate through this group."""
    return sum(
        topology.join(a, b) is group
        for a, b in pairwise(hosts)
        if topology.group_of[a] is not topology.group_of[b]
    )


def _finding(group: Group, children: int, crossed: int, needed: int, ranks: int) -> Finding:
    return Finding(
        code="placement-against-topology",
        severity="advice",
        title=(
            f"{crossed} of {ranks - 1} pairs of successive ranks are in different subgroups of {group.name};"
            f" the smallest possible number for its {children} subgroups is {needed}"
        ),
        where={"group": group.name, "layer": "placement"},
        evidence=[
            Evidence(what="pairs of successive ranks in different subgroups", value=crossed),
            Evidence(what="smallest possible number of such pairs", value=needed),
        ],
        advice=(
            "List the hosts group by group (`scope topology show` prints them in this order). Communication "
            "with neighboring ranks, and along rows of process grids, then stays inside a group."
        ),
        lost=(crossed - needed) / (ranks - 1),
    )
