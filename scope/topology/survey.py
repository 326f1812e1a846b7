"""What was measured between pairs of hosts: one transfer at a time, from a few hosts to all others.

In a tree of links the rate of a path is that of its slowest link, so that of three hosts the two smallest rates
are equal (an ultrametric): what two pivots saw tells what lies between the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from scope.topology.oracle import Answer, Oracle
from scope.topology.sharing import Floats, Transfer

ALIKE = 0.1
"""Rates of which one is at most this share below the other support each other."""
MOST_REPETITIONS = 3
LEAST_STEP = 1.3
"""Two levels of bandwidth differ by this factor at least, and by six times the scatter."""


def plateau(rates: Sequence[float]) -> float:
    """Return the median of the rates that are about as high as the highest; 0 of none."""
    return float(np.median([rate for rate in rates if rate >= (1 - ALIKE) * max(rates)])) if rates else 0.0


@dataclass
class Survey:
    """Rates and latencies of pairs, and the count of what they cost."""

    oracle: Oracle
    rng: np.random.Generator
    transfers: int = 0
    """Run so far, repetitions too."""
    runs: int = 0
    """Sets of transfers."""
    starved: int = 0
    """Those during which processes lacked processors."""
    echoes: int = 0
    """Ping-pongs so far."""
    solo: dict[Transfer, list[float]] = field(default_factory=dict)
    latencies: dict[frozenset[str], float] = field(default_factory=dict)
    step: float = LEAST_STEP
    scatter: float = 0.01
    """Of the logarithm of a rate that is measured again, at least 0.01."""
    _typical: dict[Transfer, float] = field(default_factory=dict)
    _from: dict[str, list[Transfer]] = field(default_factory=dict)
    _to: dict[str, list[Transfer]] = field(default_factory=dict)
    _known: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    _known_at: int = -1

    def __post_init__(self) -> None:
        self._index = {host: i for i, host in enumerate(self.oracle.hosts)}

    def run(self, transfers: Sequence[Transfer]) -> Answer:
        """Run transfers at once."""
        # For one transfer its ports are guess enough.
        guess = self.expected if len(transfers) > 1 else self.alone
        answer = self.oracle.rates(transfers, [guess(transfer) for transfer in transfers])
        self.starved += answer.starved
        self.runs += 1
        self.transfers += len(transfers) * answer.attempts
        return answer

    def expected(self, transfer: Transfer) -> float:
        """Return what a transfer would achieve alone as far as is known; 0 where nothing is."""
        if transfer in self.solo:
            return self.rate(transfer)
        if self._known_at != len(self.solo):
            self._known, self._known_at = self.bottlenecks(), len(self.solo)
        hosts = self._index
        return min(float(self._known[hosts[transfer.source], hosts[transfer.target]]), self.alone(transfer))

    def measure(self, transfer: Transfer) -> float:
        """Run one transfer alone, once more, and return the median of what it achieved so far."""
        rate = float(self.run([transfer]).rates[0])
        if transfer not in self.solo:
            self._from.setdefault(transfer.source, []).append(transfer)
            self._to.setdefault(transfer.target, []).append(transfer)
        self.solo.setdefault(transfer, []).append(rate)
        self._typical[transfer] = float(np.median(self.solo[transfer]))
        return self.rate(transfer)

    def rate(self, transfer: Transfer) -> float:
        """Return the median of what a transfer achieved alone; 0 where it was never measured."""
        return self._typical.get(transfer, 0.0)

    def between(self, a: str, b: str) -> float:
        """Return the rate of the faster direction."""
        return max(self.rate(Transfer(a, b)), self.rate(Transfer(b, a)))

    def latency(self, a: str, b: str) -> float:
        """Return half a round trip between two hosts; measured once."""
        pair = frozenset((a, b))
        if pair not in self.latencies:
            self.echoes += 1
            self.latencies[pair] = self.oracle.latency(a, b)
        return self.latencies[pair]

    def latency_again(self, a: str, b: str) -> None:
        """Measure a latency once more and keep the smaller: what disturbs it only makes it larger."""
        pair = frozenset((a, b))
        self.echoes += 1
        self.latencies[pair] = min(self.latency(a, b), self.oracle.latency(a, b))

    def gauge_scatter(self, transfer: Transfer, repetitions: int = 5) -> None:
        """Learn by repeating one transfer how much rates scatter."""
        for _ in range(repetitions):
            self.measure(transfer)
        logs = np.log(self.solo[transfer])
        # The median absolute deviation, scaled to a standard deviation of normal noise.
        self.scatter = max(0.01, 1.4826 * float(np.median(np.abs(logs - np.median(logs)))))
        self.step = max(LEAST_STEP, float(np.exp(6 * self.scatter)))

    def out_port(self, host: str) -> float:
        """Return what a host sends alone to those whom it reaches fastest."""
        return plateau([self.rate(transfer) for transfer in self._from.get(host, [])])

    def in_port(self, host: str) -> float:
        """Return what a host receives alone from those who reach it fastest."""
        return plateau([self.rate(transfer) for transfer in self._to.get(host, [])])

    def port(self, host: str) -> float:
        """Return the rate of the faster direction of a host."""
        return max(self.out_port(host), self.in_port(host))

    def alone(self, transfer: Transfer) -> float:
        """Return what a transfer gets alone as far as its ports decide."""
        return min(self.out_port(transfer.source), self.in_port(transfer.target))

    def explore(self, members: Sequence[str], level: float = 0.0, pivot: str | None = None) -> None:
        """Measure from pivots until every level of bandwidth among `members` was seen.

        Between all members at least `level` is known to be possible. Classes whose members reach the pivot no
        faster than that are left alone: what is still hidden in them shows under load.
        """
        pivot = pivot or str(self.rng.choice(np.array(members)))
        others = [host for host in members if host != pivot]
        self._row(pivot, others, both=False)
        flat = level > 0 and all(self._is_level(self.between(pivot, host), level) for host in others)
        if flat and all(self.in_port(host) and self.out_port(host) for host in [pivot, *others]):
            return
        self._row(pivot, others, both=True)
        for members_of_class, rate in self.classes(pivot, others):
            if len(members_of_class) > 1 and not self._is_level(rate, level):
                self.explore(members_of_class, rate)

    def classes(self, pivot: str, others: Iterable[str]) -> list[tuple[list[str], float]]:
        """Return the hosts by their rate to the pivot, fastest first, and the median rate of each class."""
        ordered = sorted(others, key=lambda host: -self.between(pivot, host))
        found: list[list[str]] = []
        for host in ordered:
            if found and self._is_level(self.between(pivot, host), self.between(pivot, found[-1][-1])):
                found[-1].append(host)
            else:
                found.append([host])
        return [(members, float(np.median([self.between(pivot, host) for host in members]))) for members in found]

    def bottlenecks(self) -> Floats:
        """Return for each pair of hosts, in their order, the rate that is known to be possible between them.

        The best path over measured pairs: the closure of the ultrametric. On the diagonal stand the ports.
        """
        hosts, index = list(self.oracle.hosts), self._index
        rates = np.zeros((len(hosts), len(hosts)))
        component = np.arange(len(hosts))
        pairs = {frozenset((t.source, t.target)): self.between(t.source, t.target) for t in self.solo}
        for pair, rate in sorted(pairs.items(), key=lambda each: -each[1]):
            a, b = (index[host] for host in pair)
            if component[a] == component[b]:
                continue
            left, right = component == component[a], component == component[b]
            rates[np.ix_(left, right)] = rates[np.ix_(right, left)] = rate
            component[right] = component[a]
        np.fill_diagonal(rates, [self.port(host) for host in hosts])
        return rates

    def _is_level(self, rate: float, level: float) -> bool:
        return bool(rate > 0 and level > 0 and max(rate, level) / min(rate, level) < self.step)

    def _row(self, pivot: str, others: Sequence[str], both: bool) -> None:
        """Measure from the pivot to all others (and back); repeat what no two others support."""
        directions = [[Transfer(pivot, host) for host in others]]
        if both:
            directions.append([transfer.reversed for transfer in directions[0]])
        for row in directions:
            for transfer in row:
                if transfer not in self.solo:
                    self.measure(transfer)
            for transfer in row:
                while len(self.solo[transfer]) < MOST_REPETITIONS and not self._supported(transfer, row):
                    self.measure(transfer)

    def _supported(self, transfer: Transfer, row: Sequence[Transfer]) -> bool:
        rate = self.rate(transfer)
        alike = sum(abs(np.log(self.rate(other) / rate)) < ALIKE for other in row)
        return bool(alike >= min(3, len(row)))
