"""The total rate that leaves and enters each group, and which of these limits explain the measurements.

All hosts of a group send to hosts outside at once. Their total is the rate of the group's uplink, unless another
limit is tighter: uplinks are dropped, the largest first, as long as the others still explain every measured load.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpcscope.topology.bus import shuffled
from hpcscope.topology.sharing import Transfer, predicted_rates
from hpcscope.topology.survey import Survey
from hpcscope.topology.topology import HostException, Topology
from hpcscope.topology.tree import Node, Uplink, assembled

EXPLAINS = 1.06
"""A load is explained if its prediction exceeds the measured total by at most this factor."""
HALF = 0.75
"""If both directions at once achieve less than this fraction of their sum, they share the uplink."""
NEAR = 0.75
"""Fraction of the transfers that go to the nearest other groups."""
REPETITIONS = 3


@dataclass(frozen=True)
class Load:
    """Concurrent transfers and their total rate."""

    transfers: list[Transfer]
    achieved: float


def find_uplinks(root: Node, survey: Survey, exceptions: Sequence[HostException]) -> dict[str, Uplink]:
    """Return the limiting uplinks by the names of their groups."""
    uplinks: dict[str, Uplink] = {}
    loads: list[Load] = []
    for node in root.below():
        if node is root:
            continue
        transfers = _crossing(root, node, survey, {exception.host for exception in exceptions})
        out, into = _both_ways(transfers, survey)
        loads += [out, into]
        uplinks[node.name] = Uplink(max(out.achieved, into.achieved))
    needed = _needed(root, uplinks, loads, exceptions)
    return {name: _with_duplex(root, name, uplink, survey, exceptions) for name, uplink in needed.items()}


def _crossing(root: Node, node: Node, survey: Survey, slow: set[str]) -> list[Transfer]:
    """Return transfers from all hosts of a node to distinct hosts outside, most of them near."""
    inside = shuffled([host for host in node.members if host not in slow] or node.members, survey)
    rings = _rings(root, node, survey, slow)
    if not rings:
        return []
    near, *far = rings
    count = min(len(inside), sum(map(len, rings)))
    most = int(np.ceil(NEAR * count)) if far else count
    beyond = [host for ring in far for host in ring]
    chosen = near[: max(most, count - len(beyond))]
    chosen += beyond[: count - len(chosen)]
    return [Transfer(a, b) for a, b in zip(inside, chosen, strict=False)]


def _rings(root: Node, node: Node, survey: Survey, slow: set[str]) -> list[list[str]]:
    """Return the hosts outside a node by their distance in the tree, nearest first.

    In every ring the groups alternate, so that a few transfers reach all of them.
    """
    rings: list[list[str]] = []
    way = [upper for upper in root.below() if set(node.members) < set(upper.members)]
    inside = node
    for above in sorted(way, key=lambda each: len(each.members)):
        siblings = [
            shuffled([h for h in child.members if h not in slow], survey)
            for child in above.children
            if child is not inside
        ]
        longest = max(map(len, siblings), default=0)
        ring = [sibling[turn] for turn in range(longest) for sibling in siblings if turn < len(sibling)]
        if ring:
            rings.append(ring)
        inside = above
    return rings


def _both_ways(transfers: list[Transfer], survey: Survey) -> tuple[Load, Load]:
    """Measure both directions; repeat this if they differ, which other traffic may have caused."""
    back = [transfer.reversed for transfer in transfers]
    out, into = _load(transfers, survey), _load(back, survey)
    if max(out.achieved, into.achieved) > EXPLAINS * min(out.achieved, into.achieved):
        out, into = _load(transfers, survey, REPETITIONS), _load(back, survey, REPETITIONS)
    return out, into


def _load(transfers: list[Transfer], survey: Survey, repetitions: int = 1) -> Load:
    if not transfers:
        return Load([], 0.0)
    achieved = [float(survey.run(transfers).rates.sum()) for _ in range(repetitions)]
    return Load(transfers, float(np.median(achieved)))


def _predicted(root: Node, uplinks: dict[str, Uplink], load: Load, exceptions: Sequence[HostException]) -> float:
    groups = assembled(root, uplinks)
    topology = Topology(origin="measured", group=groups, exception=list(exceptions))
    return float(predicted_rates(topology, load.transfers).sum())


def _needed(
    root: Node, uplinks: dict[str, Uplink], loads: Sequence[Load], exceptions: Sequence[HostException]
) -> dict[str, Uplink]:
    """Return the uplinks without which some load would be predicted to be too fast."""
    kept = dict(uplinks)
    # Two groups joined by one trunk have the same uplink, seen from its two ends.
    pair = {child.name for child in root.children} if len(root.children) == 2 else set()
    for name in sorted(uplinks, key=lambda name: -uplinks[name].rate):
        fewer = {other: uplink for other, uplink in kept.items() if other != name and not {name, other} <= pair}
        explained = all(
            _predicted(root, fewer, load, exceptions) < EXPLAINS * load.achieved
            for load in loads
            if load.transfers
        )
        if explained:
            kept.pop(name)
    return kept


def _with_duplex(
    root: Node, name: str, uplink: Uplink, survey: Survey, exceptions: Sequence[HostException]
) -> Uplink:
    """Return the uplink with the information whether its two directions share it."""
    node = next(candidate for candidate in root.below() if candidate.name == name)
    there = _crossing(root, node, survey, {exception.host for exception in exceptions})
    transfers = [*there, *(transfer.reversed for transfer in there)]
    both = _load(transfers, survey)
    if both.achieved < HALF * 2 * uplink.rate:
        both = _load(transfers, survey, REPETITIONS)
    return Uplink(uplink.rate, half=both.achieved < HALF * 2 * uplink.rate)
