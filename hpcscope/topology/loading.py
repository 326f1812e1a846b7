"""Every trunk, and the bisection, under controlled load: what a known topology delivers of its predicted rates.

A *cut* divides the hosts in two: those of a group and those outside, or the first half of all and the second.
Pairs of hosts across it carry streams at a given fraction of the rate that the topology predicts for all of them
at once, and one further pair exchanges a byte now and then. Levels take turns, so that all see the same state of
the network.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hpcscope.topology.prober import Answer
from hpcscope.topology.sharing import Transfer, predicted_rates
from hpcscope.topology.topology import Group, Topology

LEVELS = (0.1, 0.5, 0.8, 1.0)
"""Fractions of the predicted rate; the first stands for an idle network."""
ROUNDS = 7
"""Repetitions of each level: a median has an interval with six values or more."""
BISECTION = "bisection"

Tell = Callable[[str], None]


class LoadingProber(Protocol):
    """Measures under load."""

    def loaded(
        self, transfers: Sequence[Transfer], rates: Sequence[float], pair: Transfer
    ) -> tuple[Answer, list[float]]:
        """Run transfers at these rates at most; return what they delivered, and latencies (RTT/2) of a pair."""


@dataclass(frozen=True)
class Cut:
    """Pairs of hosts across a trunk or the bisection, in one direction."""

    name: str
    """The group whose uplink it is, such as `giza`, or `bisection`."""
    direction: str
    """`out` (from the group or the first half) or `in`."""
    transfers: list[Transfer]
    pair: Transfer
    """The pair that exchanges small messages during the transfers."""
    predicted_bytes_per_s: list[float]
    """Rate of each transfer when all send as fast as they can."""


@dataclass
class Level:
    """A fraction of the predicted rate, and the result of each repetition."""

    share: float
    delivered_bytes_per_s: list[float] = field(default_factory=list)
    """Bytes per second of all transfers together."""
    half_round_trips_s: list[float] = field(default_factory=list)
    """Median latency (RTT/2) of the pair in each repetition."""
    starved: int = 0
    """Repetitions in which processors were short."""


@dataclass(frozen=True)
class LoadedCut:
    """A cut under all levels of load."""

    cut: Cut
    levels: list[Level]

    @property
    def predicted(self) -> float:
        """Bytes per second of all transfers together, predicted by the topology."""
        return sum(self.cut.predicted_bytes_per_s)

    @property
    def full(self) -> Level:
        """The level of the greatest load."""
        return max(self.levels, key=lambda level: level.share)

    @property
    def starved(self) -> bool:
        """Whether processors were short in most repetitions of full load: what arrived is then meaningless."""
        return self.full.starved > len(self.full.delivered_bytes_per_s) // 2


def cuts(topology: Topology) -> list[Cut]:
    """Return the cuts of a topology with at least two hosts on each side, each in both directions."""
    found: list[Cut] = []
    seen: set[frozenset[frozenset[str]]] = set()
    hosts = topology.hosts
    sides = [
        (group.name, topology.members(group), _outside(topology, group))
        for group in topology.group
        if group.parent is not None
    ]
    half = len(hosts) // 2
    sides.append((BISECTION, hosts[:half], hosts[half:]))
    for name, inside, outside in sides:
        parts = frozenset((frozenset(inside), frozenset(outside)))
        pairs = [Transfer(a, b) for a, b in zip(inside, outside, strict=False)]
        if len(pairs) < 2 or parts in seen:
            continue
        seen.add(parts)
        *streams, beside = pairs
        for direction, transfers in (("out", streams), ("in", [transfer.reversed for transfer in streams])):
            predicted = [float(rate) for rate in predicted_rates(topology, transfers)]
            found.append(Cut(name, direction, transfers, beside, predicted))
    return found


def _outside(topology: Topology, group: Group) -> list[str]:
    """Return the hosts outside a group, nearest first."""
    members = set(topology.members(group))
    near: list[str] = []
    for above in topology.way_up(group):
        near += [host for host in topology.members(above) if host not in members and host not in near]
    return near


def load(prober: LoadingProber, topology: Topology, tell: Tell) -> list[LoadedCut]:
    """Measure all cuts of a topology under all levels of load."""
    loaded = [LoadedCut(cut, [Level(share) for share in LEVELS]) for cut in cuts(topology)]
    for loaded_cut in loaded:
        tell(f"load on {loaded_cut.cut.name}, {loaded_cut.cut.direction}")
        for number in range(ROUNDS):
            # Up and down, so that a drift of the network affects all levels alike.
            for level in loaded_cut.levels if number % 2 == 0 else reversed(loaded_cut.levels):
                rates = [level.share * rate for rate in loaded_cut.cut.predicted_bytes_per_s]
                answer, halves = prober.loaded(loaded_cut.cut.transfers, rates, loaded_cut.cut.pair)
                level.delivered_bytes_per_s.append(float(answer.rates.sum()))
                level.half_round_trips_s.append(sorted(halves)[len(halves) // 2])
                level.starved += answer.starved
    return loaded
