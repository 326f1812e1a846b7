"""The latency of a switch: how the time between two hosts grows with the switches that a message passes.

Melas 2000, section 6.3: clusters with routing nodes need the latency of an intermediate node, which follows from
the latencies of pairs. It is the slope of the line through the medians of pairs with equal numbers of switches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hpcscope.machine.host_names import HostNames
from hpcscope.machine.machine import EmulatedCluster
from hpcscope.samples.samples import Floats, Integers
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.order_statistics import median_estimate
from hpcscope.strict import Strict
from hpcscope.topology.topology import Topology


class SwitchLatency(Strict):
    """What each switch on the way adds to a one-way latency."""

    per_switch: Estimate
    """Latency per switch in s, with its interval over the launches."""
    switches: list[int]
    """The numbers of switches that occur on paths."""
    time_s: list[float]
    """Median one-way latency over the pairs with this number of switches, and over the launches."""
    pairs: list[int]
    """Number of pairs with this number of switches."""


@dataclass(frozen=True)
class Wiring:
    """The switch of each host, and which switches are linked."""

    switch_of: dict[str, str]
    links: Sequence[tuple[str, str]]

    @classmethod
    def known(cls, lab: EmulatedCluster | None, topology: Topology | None) -> Wiring | None:
        """Return the wiring of a lab, else of a topology, in which each group is a switch."""
        if lab is not None and lab.switch_of:
            return cls(lab.switch_of, lab.trunks)
        if topology is None:
            return None
        switch_of = {host: group.name for host, group in topology.group_of.items()}
        return cls(switch_of, [(group.name, group.parent) for group in topology.group if group.parent is not None])

    def switches(self, hosts: Sequence[str], first: Integers, second: Integers) -> Integers:
        """Return the number of switches between each pair of ranks: 0 on one host, -1 if no path is known."""
        names = HostNames(self.switch_of)
        ends = [self.switch_of.get(names.find(host) or "", "") for host in hosts]
        passed = {end: self._passed(end) for end in set(ends)}
        ways = zip(first.tolist(), second.tolist(), strict=True)
        return np.array([0 if hosts[a] == hosts[b] else passed[ends[a]].get(ends[b], -1) for a, b in ways])

    def _passed(self, start: str) -> dict[str, int]:
        """Return the number of switches on the path to each reachable switch, including both ends."""
        reached = {start: 1} if start else {}
        for here in (queue := list(reached)):
            for there in self._beside.get(here, []):
                if there not in reached:
                    reached[there] = reached[here] + 1
                    queue.append(there)
        return reached

    @cached_property
    def _beside(self) -> dict[str, list[str]]:
        beside: dict[str, list[str]] = defaultdict(list)
        for one, other in self.links:
            beside[one].append(other)
            beside[other].append(one)
        return beside


def switch_latency(times_s: Floats, switches: Integers) -> SwitchLatency | None:
    """Fit the line to pairs, shape (launches, pairs) in s, each with its number of switches.

    None if all pairs have the same number, or no launch has pairs of every number.
    """
    found = np.unique(switches[switches > 0])
    if found.size < 2:
        return None
    medians = np.array([[_median(row[(switches == count) & (row > 0)]) for count in found] for row in times_s])
    medians = medians[np.isfinite(medians).all(axis=1)] if medians.size else medians
    if not medians.size:
        return None
    pairs = [int(np.count_nonzero(switches == count)) for count in found]
    slopes = np.array([np.polyfit(found, row, 1, w=np.sqrt(pairs))[0] for row in medians])
    return SwitchLatency(
        per_switch=median_estimate(slopes),
        switches=found.tolist(),
        time_s=np.median(medians, axis=0).tolist(),
        pairs=pairs,
    )


def _median(values: Floats) -> float:
    return float(np.median(values)) if values.size else float("nan")
