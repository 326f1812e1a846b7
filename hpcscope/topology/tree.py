"""How groups of hosts are connected: by the rates of transfers between them, level by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, takewhile
from statistics import median_high

import numpy as np

from hpcscope.natural_order import natural
from hpcscope.topology.survey import Survey, plateau
from hpcscope.topology.topology import Group, Level

FAR_BANDWIDTH = 0.25
"""A connection with less than this fraction of the slower port's rate is a wide area network."""
FAR_LATENCY_S = 1e-3
FAR_LATENCY = 5.0
"""So is a connection with a latency above 1 ms and above this many times the latency inside its groups."""
PAIRS = 3
"""Number of pairs of hosts whose median latency is the latency of a group."""
SLOWER = 1.3
"""A port that is slower than its group by this factor is an exception."""


@dataclass
class Node:
    """Hosts of one switch or bus, or a connection of other nodes."""

    hosts: list[str]
    children: list[Node] = field(default_factory=list)
    bandwidth: float = 0.0
    """Isolated rate between two of its children or hosts, bytes per second."""
    bus: bool = False
    name: str = ""
    level: Level = "cluster"
    latency_s: float = 0.0

    @property
    def members(self) -> list[str]:
        """All hosts inside."""
        return self.hosts + [host for child in self.children for host in child.members]

    def sort(self) -> None:
        """Put the children in the order of their first hosts."""
        for child in self.children:
            child.sort()
        self.children.sort(key=lambda child: min(map(natural, child.members)))

    def below(self) -> Iterator[Node]:
        """Yield this node and all its descendants."""
        yield self
        for child in self.children:
            yield from child.below()


@dataclass(frozen=True)
class Uplink:
    """Total rate that leaves or enters a node, in bytes per second."""

    rate: float
    half: bool = False


def joined(leaves: Sequence[Sequence[str]], survey: Survey, buses: Sequence[Sequence[str]]) -> Node:
    """Return the tree over the groups, with names, levels, rates and latencies."""
    shared = {host for bus in buses for host in bus}
    nodes = [
        Node(sorted(leaf, key=natural), bandwidth=typical_port(leaf, survey), bus=leaf[0] in shared)
        for leaf in leaves
    ]
    index = {host: i for i, host in enumerate(survey.prober.hosts)}
    reach = survey.bottlenecks()

    def between(a: Node, b: Node) -> float:
        rates = reach[np.ix_([index[h] for h in a.members], [index[h] for h in b.members])]
        return plateau(rates.ravel().tolist())

    while len(nodes) > 1:
        rates = {(i, j): between(nodes[i], nodes[j]) for i, j in combinations(range(len(nodes)), 2)}
        fastest = max(rates.values())
        label = list(range(len(nodes)))
        for (i, j), rate in rates.items():
            if rate * survey.step > fastest:
                label = [label[i] if number == label[j] else number for number in label]
        merged = []
        for number in sorted(set(label)):
            inside = [node for node, each in zip(nodes, label, strict=True) if each == number]
            merged.append(inside[0] if len(inside) == 1 else Node([], inside, fastest))
        nodes = merged
    root = nodes[0]
    root.sort()
    _measure_latencies(root, survey)
    _set_levels(root)
    named(root)
    return root


def typical_port(hosts: Sequence[str], survey: Survey) -> float:
    """Return the median port of these hosts; if two differ, the faster one: the other is the exception."""
    return median_high([survey.port(host) for host in hosts])


def named(root: Node) -> None:
    """Give every node a unique name: the common prefix of its hosts, `lan`, `wan`."""
    nodes = sorted(root.below(), key=lambda node: min(map(natural, node.members)))
    plain = {id(node): _plain_name(node) for node in nodes}
    counts = Counter(plain.values())
    given: Counter[str] = Counter()
    for node in nodes:
        name = plain[id(node)]
        given[name] += 1
        node.name = f"{name}-{given[name]}" if counts[name] > 1 else name


def _plain_name(node: Node) -> str:
    if node.children:
        return node.level
    letters = zip(*(host.partition(".")[0] for host in node.hosts), strict=False)
    common = "".join(position[0] for position in takewhile(lambda each: len(set(each)) == 1, letters))
    return common.rstrip("0123456789").rstrip("-_") or "cluster"


def _measure_latencies(root: Node, survey: Survey) -> None:
    for node in root.below():
        parts = [child.members for child in node.children] or [[host] for host in node.hosts]
        if len(parts) < 2:
            continue
        pairs = []
        for _ in range(PAIRS):
            i, j = survey.rng.choice(len(parts), 2, replace=False)
            pairs.append((str(survey.rng.choice(parts[i])), str(survey.rng.choice(parts[j]))))
        node.latency_s = float(np.median([survey.latency(a, b) for a, b in pairs]))
    known = [node.latency_s for node in root.below() if node.latency_s > 0]
    for node in root.below():
        # A single host has no neighbor to measure with.
        node.latency_s = node.latency_s or min(known)


def _set_levels(root: Node) -> None:
    for node in root.below():
        if not node.children:
            continue
        port = min(max(leaf.bandwidth for leaf in child.below() if leaf.hosts) for child in node.children)
        near = max(child.latency_s for child in node.children)
        far = node.latency_s > FAR_LATENCY_S and node.latency_s > FAR_LATENCY * near
        node.level = "wan" if far or node.bandwidth < FAR_BANDWIDTH * port else "lan"


def assembled(root: Node, uplinks: dict[str, Uplink]) -> list[Group]:
    """Return the groups of the file, parents first."""
    parents = {child.name: node.name for node in root.below() for child in node.children}
    return [
        Group(
            name=node.name,
            level=node.level,
            parent=parents.get(node.name),
            hosts=node.hosts,
            medium="shared" if node.bus else "switched",
            latency_s=node.latency_s,
            bandwidth_bytes_per_s=node.bandwidth,
            uplink_bytes_per_s=uplinks[node.name].rate if node.name in uplinks else None,
            uplink_duplex="half" if node.name in uplinks and uplinks[node.name].half else "full",
        )
        for node in root.below()
    ]


def merge_alike(node: Node, uplinks: dict[str, Uplink], survey: Survey, farther: float) -> bool:
    """Merge sibling groups that cannot be distinguished; return whether there were any.

    `farther`: the smallest factor by which latencies differ.
    """
    merged = sum(merge_alike(child, uplinks, survey, farther) for child in node.children) > 0
    alike = [
        child
        for child in node.children
        if child.hosts
        and child.name not in uplinks
        and not child.bus
        and node.bandwidth * survey.step > child.bandwidth
        and node.latency_s < farther * child.latency_s
    ]
    if len(alike) < 2:
        return merged
    first, *others = alike
    first.hosts = sorted((host for child in alike for host in child.hosts), key=natural)
    first.bandwidth = typical_port(first.hosts, survey)
    node.children = [child for child in node.children if all(child is not other for other in others)]
    if len(node.children) == 1:
        node.hosts, node.children, node.level = first.hosts, [], "cluster"
        node.bandwidth, node.latency_s = first.bandwidth, first.latency_s
    return True
