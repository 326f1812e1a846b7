"""Facts in which the nodes of a fleet differ, and the nodes that deviate."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

HARDWARE = ("architecture", "processor", "sockets", "cores")
"""Nodes with these in common are peers. Memory is left out: a node that lost a module is compared with others."""
USUAL = 2 / 3
"""Fraction of a group that must agree before the others are called odd; else there are several kinds."""
FEWEST = 3
MEMORY_TOLERANCE = 0.02
"""Relative difference: firmware and kernel reserve different amounts on equal nodes."""
NOT_SHOWN = "not shown"
FEWEST_PEERS = 5
"""Fewer nodes whose sockets or cores are unusual for their processor are odd; more are another kind."""
MATTERS = re.compile(
    r"governor|highest frequency|turbo|SMT|offline processors|clock source|memory|NUMA nodes|NUMA balancing"
    r"|transparent huge pages|interface .* (MTU|state|speed|duplex)|InfiniBand .* (rate|state)"
)
"""Facts in which a difference alone makes a node suspect, since they affect its speed."""


@dataclass(frozen=True)
class Difference:
    """A fact in which equal hardware differs."""

    fact: str
    usual: str | None
    """The value of most nodes; None if no value has a clear majority."""
    nodes: int
    """Number of nodes in the group."""
    odd: dict[str, tuple[str, ...]]
    """The nodes with each other value, by value; all values if none is usual."""

    @property
    def matters(self) -> bool:
        """Whether the fact affects the speed of a node."""
        return self.fact in HARDWARE or MATTERS.fullmatch(self.fact) is not None


def groups(facts: Mapping[str, Mapping[str, str]], names: Sequence[str] = HARDWARE) -> list[list[str]]:
    """Return the nodes in groups of equal hardware, in the given order."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for host, known in facts.items():
        found[tuple(known.get(name, "") for name in names)].append(host)
    return list(found.values())


def differences(facts: Mapping[str, Mapping[str, str]]) -> list[Difference]:
    """Return the facts in which nodes of equal hardware differ; those that matter first."""
    found = []
    for group in groups(facts):
        for name in sorted({name for host in group for name in facts[host]}):
            by_value = _by_value(name, [(host, facts[host].get(name, NOT_SHOWN)) for host in group])
            if len(by_value) > 1:
                found.append(_difference(name, len(group), by_value))
    for group in groups(facts, HARDWARE[:2]):
        for name in HARDWARE[2:]:
            by_value = _by_value(name, [(host, facts[host].get(name, NOT_SHOWN)) for host in group])
            one = _difference(name, len(group), by_value)
            few = {value: hosts for value, hosts in one.odd.items() if len(hosts) < FEWEST_PEERS}
            if one.usual is not None and few:
                found.append(replace(one, odd=few))
    return sorted(found, key=lambda difference: (not difference.matters, difference.fact))


def usual(group: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the facts that matter, with the value on which most nodes of equal hardware agree."""
    found = {}
    for name in sorted({name for known in group for name in known if MATTERS.fullmatch(name)}):
        by_value = _by_value(name, [(str(row), known.get(name, NOT_SHOWN)) for row, known in enumerate(group)])
        most = _most(by_value)
        if most != NOT_SHOWN and len(by_value[most]) >= USUAL * len(group):
            found[name] = most
    return found


def others(known: Mapping[str, str], asked: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the facts of a node that differ from those asked for, with its own values."""
    found = [(name, known.get(name, NOT_SHOWN)) for name in asked]
    return [(name, value) for name, value in found if not _same(name, value, asked[name])]


def _most(by_value: Mapping[str, Sequence[str]]) -> str:
    return max(by_value, key=lambda value: len(by_value[value]))


def _difference(name: str, nodes: int, by_value: dict[str, tuple[str, ...]]) -> Difference:
    most = _most(by_value)
    usual = most if nodes >= FEWEST and len(by_value[most]) >= USUAL * nodes else None
    return Difference(name, usual, nodes, {value: hosts for value, hosts in by_value.items() if value != usual})


def _by_value(name: str, told: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for host, value in told:
        alike = (other for other in found if name == "memory" and _same(name, value, other))
        found[value if value in found else next(alike, value)].append(host)
    return {value: tuple(hosts) for value, hosts in found.items()}


def _same(name: str, one: str, other: str) -> bool:
    if name != "memory" or NOT_SHOWN in (one, other):
        return one == other
    sizes = [float(match[0]) if (match := re.match(r"\d+", text)) else 0.0 for text in (one, other)]
    return abs(sizes[0] - sizes[1]) <= MEMORY_TOLERANCE * max(sizes)
