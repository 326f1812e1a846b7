"""Whether what was found is what there is."""

from __future__ import annotations

import numpy as np

from hpcscope.topology.sharing import Transfer, predicted_rates
from hpcscope.topology.topology import Topology
from tests.topology.synthetic import Cluster


def leaves(topology: Topology) -> set[frozenset[str]]:
    return {frozenset(group.hosts) for group in topology.group if group.hosts}


def switches(cluster: Cluster) -> set[frozenset[str]]:
    return {
        frozenset(host for host, switch in cluster.switch_of.items() if switch == each)
        for each in set(cluster.switch_of.values())
    }


def nests(topology: Topology) -> set[frozenset[frozenset[str]]]:
    """The children of every group of groups, by their hosts."""
    return {
        frozenset(frozenset(topology.members(child)) for child in topology.children(group))
        for group in topology.group
        if not group.hosts
    }


def slow(cluster: Cluster) -> set[str]:
    """Hosts whose port is slower than those of their switch."""
    found = set()
    for host, switch in cluster.switch_of.items():
        beside = [max(cluster.ports[other]) for other, place in cluster.switch_of.items() if place == switch]
        if min(cluster.ports[host]) * 1.3 < np.median(beside):
            found.add(host)
    return found


def errors(cluster: Cluster, topology: Topology, rng: np.random.Generator, sets: int = 30) -> np.ndarray:
    """Relative errors of the predicted rates of random concurrent transfers."""
    hosts = np.array(sorted(cluster.switch_of))
    found = []
    for _ in range(sets):
        count = int(rng.integers(1, len(hosts) + 1))
        pairs = zip(rng.permutation(hosts)[:count], rng.permutation(hosts)[:count], strict=True)
        transfers = [Transfer(str(a), str(b)) for a, b in pairs if a != b]
        if transfers:
            found.append(predicted_rates(topology, transfers) / cluster.rates(transfers) - 1)
    return np.abs(np.concatenate(found))


def problems(cluster: Cluster, topology: Topology, rng: np.random.Generator) -> list[str]:
    """What is not as it should be; rates must be predicted within 10 %, but for two in a hundred."""
    found = []
    if leaves(topology) != switches(cluster):
        found.append(f"groups {sorted(map(sorted, leaves(topology) ^ switches(cluster)))}")
    if {each.host for each in topology.exception} != slow(cluster):
        found.append(f"exceptions {[each.host for each in topology.exception]} instead of {slow(cluster)}")
    buses = {frozenset(group.hosts) for group in topology.group if group.medium == "shared"}
    if buses != {frozenset(h for h, s in cluster.switch_of.items() if s == bus) for bus in cluster.buses}:
        found.append(f"buses {buses}")
    wrong = errors(cluster, topology, rng)
    if np.quantile(wrong, 0.98) > 0.1:
        found.append(f"predicted rates wrong by {np.quantile(wrong, [0.5, 0.9, 0.98, 1])}")
    return found
