"""Ranks that follow each other are far apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from scope.findings.finding import Evidence, Finding
from scope.findings.topology.facts import Facts
from scope.topology.topology import Group, Topology


def find(facts: Facts) -> list[Finding]:
    """Find joins that successive ranks cross more often than their groups require."""
    topology = facts.discovery.topology
    hosts = [host for host in facts.hosts_by_rank if host in topology.group_of]
    found = []
    for group in topology.group:
        children = [child for child in topology.children(group) if set(topology.members(child)) & set(hosts)]
        needed = len(children) - 1
        crossed = _crossings(topology, group, hosts)
        if needed > 0 and crossed > 2 * needed:
            found.append(_finding(group, len(children), crossed, needed, len(hosts)))
    return found


def _crossings(topology: Topology, group: Group, hosts: Sequence[str]) -> int:
    """Return how many successive ranks are joined by this very group."""
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
            f"{crossed} of {ranks - 1} successive ranks are on different sides of {group.name},"
            f" where {needed} would do for its {children} groups"
        ),
        where={"group": group.name, "layer": "placement"},
        evidence=[
            Evidence(what="successive ranks across it", value=crossed),
            Evidence(what="least for so many groups", value=needed),
        ],
        advice=(
            "List the hosts group by group (`scope topology show` names them in this order): programs that talk to"
            " neighbouring ranks, and rows of process grids, then stay inside a group."
        ),
        lost=(crossed - needed) / (ranks - 1),
    )
