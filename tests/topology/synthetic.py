"""Clusters that exist as a description alone, and answer as they would: exactly, or with noise."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from hpcscope.topology.prober import Answer
from hpcscope.topology.sharing import Resources, Transfer

MBIT = 125_000 * 0.95
"""Bytes per second of payload in a megabit per second on the wire."""


@dataclass
class Cluster:
    """Hosts on switches that trunks join, all rates in Mbit/s."""

    switch_of: dict[str, str] = field(default_factory=dict)
    ports: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Of each host: what it can send, what it can receive."""
    trunks: dict[frozenset[str], tuple[float, str]] = field(default_factory=dict)
    """Rate and duplex of the trunk between two switches."""
    buses: dict[str, float] = field(default_factory=dict)
    latencies_us: dict[frozenset[str], float] = field(default_factory=dict)
    slots: int = 1

    def group(self, name: str, hosts: int, rate: float, switch: str | None = None) -> Cluster:
        first = sum(host.rstrip("0123456789") == name for host in self.switch_of) + 1
        for number in range(first, first + hosts):
            self.switch_of[f"{name}{number}"] = switch or name
            self.ports[f"{name}{number}"] = (rate, rate)
        return self

    def trunk(self, a: str, b: str, rate: float, duplex: str = "full", latency_us: float = 0.0) -> Cluster:
        self.trunks[frozenset((a, b))] = (rate, duplex)
        self.latencies_us[frozenset((a, b))] = latency_us
        return self

    def way(self, a: str, b: str) -> list[str]:
        """The switches from one to another."""
        came: dict[str, str | None] = {a: None}
        queue = deque([a])
        while queue:
            here = queue.popleft()
            for trunk in self.trunks:
                for there in trunk - {here} if here in trunk else ():
                    if there not in came:
                        came[there] = here
                        queue.append(there)
        steps: list[str] = [b]
        while (before := came[steps[-1]]) is not None:
            steps.append(before)
        return steps[::-1]

    def uses(self, transfer: Transfer) -> list[tuple[Hashable, float]]:
        a, b = transfer.source, transfer.target
        way = self.way(self.switch_of[a], self.switch_of[b])
        used: list[tuple[Hashable, float]] = [(("out", a), self.ports[a][0]), (("in", b), self.ports[b][1])]
        used += [(("bus", switch), self.buses[switch]) for switch in way if switch in self.buses]
        for left, right in pairwise(way):
            rate, duplex = self.trunks[frozenset((left, right))]
            direction = (left, right) if duplex == "full" else frozenset((left, right))
            used.append(((direction, "trunk"), rate))
        return used

    def rates(self, transfers: Sequence[Transfer]) -> np.ndarray:
        """True rates in bytes per second."""
        resources = Resources()
        for transfer in transfers:
            resources.add(self.uses(transfer))
        return resources.shares() * MBIT

    def latency(self, a: str, b: str) -> float:
        way = self.way(self.switch_of[a], self.switch_of[b])
        trunks = [self.latencies_us[frozenset(pair)] for pair in pairwise(way)]
        return (8.0 + 5.0 * (len(way) - 1) + sum(trunks)) * 1e-6


@dataclass
class Synthetic:
    """An prober for such a cluster."""

    cluster: Cluster
    rng: np.random.Generator
    noise: float = 0.0
    """Standard deviation of the logarithm of a rate."""
    stragglers: float = 0.0
    """Share of transfers that something slows by a factor from 2 to 5."""
    hosts: list[str] = field(default_factory=list)
    asked: list[list[Transfer]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hosts = [str(host) for host in self.rng.permutation(sorted(self.cluster.switch_of))]

    def rates(self, transfers: Sequence[Transfer], expected: Sequence[float]) -> Answer:
        self.asked.append(list(transfers))
        rates = self.cluster.rates(transfers)
        if self.noise:
            rates = rates * np.exp(self.noise * self.rng.standard_normal(len(rates)))
        late = self.rng.random(len(rates)) < self.stragglers
        return Answer(np.where(late, rates / self.rng.uniform(2, 5, len(rates)), rates))

    def latency(self, a: str, b: str) -> float:
        if a == b:
            return 1e-6
        return self.cluster.latency(a, b) * float(np.exp(0.3 * self.rng.standard_normal() * (self.noise > 0)))


def grid() -> Cluster:
    """Three clusters joined by a LAN and a WAN."""
    cluster = Cluster().group("hpc", 8, 100).group("grid", 8, 1000).group("giza", 8, 200)
    return cluster.trunk("hpc", "router", 1000).trunk("grid", "router", 100).trunk("giza", "router", 6.7)


def sparc() -> Cluster:
    """A bus."""
    cluster = Cluster().group("sparc", 12, 10, "bus")
    cluster.buses["bus"] = 10
    return cluster


def sgi() -> Cluster:
    """Two cascaded switches."""
    return Cluster().group("sgi", 8, 100, "a").group("sgi", 8, 100, "b").trunk("a", "b", 100)


def netfinity() -> Cluster:
    """Dual hosts on one switch."""
    cluster = Cluster().group("netfinity", 8, 100)
    cluster.slots = 2
    return cluster


def fat_tree() -> Cluster:
    """Four edge switches, oversubscribed by two."""
    cluster = Cluster()
    for edge in "abcd":
        cluster.group("node", 4, 100, edge).trunk(edge, "core", 200)
    return cluster


PRESETS = {"grid": grid, "sparc": sparc, "sgi": sgi, "netfinity": netfinity, "fat-tree": fat_tree}
