"""Nodes that are slower than in earlier checks: each node is compared with its own past."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np

from hpcscope import units
from hpcscope.health import slow_nodes
from hpcscope.health.checks import BY_NAME
from hpcscope.health.facts import HARDWARE
from hpcscope.health.records import HealthFile, Visit
from hpcscope.health.slow_nodes import FEWEST, LEVEL, MOST_NAMED
from hpcscope.health.verdict import BAD, FEWEST_VISITS, SUSPECT, NodeEvidence, Place, by_host, value_of

MOST_PAST = 12
"""Most earlier checks that are read."""
FEWEST_PAST = 4
"""Fewest earlier checks of a node that show its scatter."""


@dataclass
class Past:
    """Earlier results of a node for one measured quantity, oldest first."""

    unix_s: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    """Median over the visits of each check, as logarithm of the cost."""


@dataclass
class NodePast:
    """Earlier checks of a node with the hardware that it has now."""

    facts: Mapping[str, str]
    """The facts of the node in the last of these checks."""
    places: dict[Place, Past]


@dataclass(frozen=True)
class Slower:
    """A node that is slower than it was."""

    host: str
    place: Place
    excess: float
    """Logarithm of the ratio of its cost to its typical cost."""
    confirmed: bool | None
    """None if the node was not measured again."""


def pasts(records: Iterable[HealthFile], now: HealthFile) -> dict[str, NodePast]:
    """Return the past of each node of a check, from the newest earlier checks.

    `records` may be in any order, some twice. Each is reduced to medians at once, since records may be large.
    """
    hardware = {host: _hardware(own[0].facts) for host, own in _answered(now).items()}
    reduced = {
        record.started_unix_s: {
            host: (own[0].facts, _medians(own, 1))
            for host, own in _answered(record).items()
            if host in hardware and _hardware(own[0].facts) == hardware[host]
        }
        for record in records
        if record.origin == now.origin and record.started_unix_s < now.started_unix_s
    }
    found: dict[str, NodePast] = {}
    for started in sorted(reduced)[-MOST_PAST:]:
        for host, (own, medians) in reduced[started].items():
            node = found.setdefault(host, NodePast(own, {}))
            node.facts = own
            for place, median in medians.items():
                past = node.places.setdefault(place, Past())
                past.unix_s.append(started)
                past.costs.append(median)
    return found


def slower(record: HealthFile, past: Mapping[str, NodePast]) -> list[Slower]:
    """Return the nodes that are slower than before in the first stage, and whether the second confirms it."""
    visits = _answered(record)
    first = {host: _medians(visits[host], 1) for host in past}
    again = {host: _medians(visits[host], 2) for host in past}
    places = list(dict.fromkeys(place for medians in first.values() for place in medians))
    found = []
    for place in places:
        known = [
            host
            for host, own in past.items()
            if place in first[host] and len(own.places.get(place, Past()).costs) >= FEWEST_PAST
        ]
        before = [past[host].places[place].costs for host in known]
        over, confirmed = (
            slow_nodes.below_past([now[host].get(place, np.nan) for host in known], before, LEVEL / len(places))
            for now in (first, again)
        )
        for row, excess in over.items():
            held = row in confirmed if place in again[known[row]] else None
            found.append(Slower(known[row], place, excess, held))
    return found


def evidence(record: HealthFile, past: Mapping[str, NodePast]) -> list[tuple[str, NodeEvidence]]:
    """Return the evidence against nodes that are slower than before; few nodes, or most of them, are suspects."""
    found = [node for node in slower(record, past) if node.confirmed is not False]
    slow = {node.host for node in found if node.confirmed}
    verdict = BAD if len(past) >= FEWEST and len(slow) <= MOST_NAMED * len(past) else SUSPECT
    visits = _answered(record)
    return [(node.host, _evidence(node, past[node.host], visits[node.host][0].facts, verdict)) for node in found]


def _evidence(one: Slower, past: NodePast, now: Mapping[str, str], verdict: str) -> NodeEvidence:
    check = BY_NAME[one.place[0]]
    own = past.places[one.place]
    usual = float(np.median(own.costs))
    share = slow_nodes.slowness(one.excess)
    first, last = (time.strftime("%Y-%m-%d", time.gmtime(own.unix_s[at])) for at in (0, -1))
    text = (
        f"{check.label} {value_of(check, usual + one.excess)}, {units.share(share)}"
        f" {'lower' if check.higher_is_better else 'slower'} than the median of"
        f" {len(own.costs)} checks from {first} to {last}: {value_of(check, usual)}"
    )
    if one.confirmed is None:
        return NodeEvidence(SUSPECT, f"{text}, not measured again", check.cause, check.advice, share)
    changed = [
        f"{name}: {past.facts.get(name, 'none')} -> {value}"
        for name, value in now.items()
        if past.facts.get(name) != value
    ]
    cause = f"changed since the last check: {'; '.join(changed[:3])}" if changed else check.cause
    return NodeEvidence(verdict, text, cause, check.advice, share)


def _answered(record: HealthFile) -> dict[str, list[Visit]]:
    visits = by_host(record.hosts, [visit for visit in record.visits if visit.answered])
    return {host: own for host, own in visits.items() if own}


def _medians(visits: Sequence[Visit], stage: int) -> dict[Place, float]:
    costs: dict[Place, list[float]] = defaultdict(list)
    for visit in visits:
        for value in visit.values if visit.stage == stage else ():
            costs[value.check, value.place].append(log(BY_NAME[value.check].cost(value.value)))
    return {place: float(np.median(each)) for place, each in costs.items() if len(each) >= FEWEST_VISITS}


def _hardware(facts: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(facts.get(name, "") for name in HARDWARE)
