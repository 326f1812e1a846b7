"""Isolated transfers between pairs of hosts: one at a time, from a few pivots to all other hosts.

In a tree of links, the slowest link determines the rate of a path, so among three hosts the two smallest rates are
equal (an ultrametric): measurements from two pivots tell the rates between the other hosts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hpcscope.topology.prober import Answer, Prober
from hpcscope.topology.sharing import Floats, Transfer

ALIKE = 0.1
"""Rates that differ by at most this fraction support each other."""
MOST_REPETITIONS = 3
LEAST_STEP = 1.3
"""Two levels of bandwidth differ by at least this factor, and by six times the scatter."""


def plateau(rates: Sequence[float]) -> float:
    """Return the median of the rates close to the highest; 0 without rates."""
    return float(np.median([rate for rate in rates if rate >= (1 - ALIKE) * max(rates)])) if rates else 0.0


@dataclass
class Survey:
    """Rates and latencies of pairs, and the number of measurements."""

    prober: Prober
    rng: np.random.Generator
    transfers: int = 0
    """Transfers so far, repetitions included."""
    runs: int = 0
    """Sets of concurrent transfers."""
    starved: int = 0
    """Sets during which processes lacked processors."""
    ping_pongs: int = 0
    """Ping-pongs so far."""
    solo: dict[Transfer, list[float]] = field(default_factory=dict)
    latencies: dict[frozenset[str], float] = field(default_factory=dict)
    step: float = LEAST_STEP
    scatter: float = 0.01
    """Standard deviation of the logarithm of a repeated rate, at least 0.01."""
    _typical: dict[Transfer, float] = field(default_factory=dict)
    _from: dict[str, list[Transfer]] = field(default_factory=dict)
    _to: dict[str, list[Transfer]] = field(default_factory=dict)
    _known: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    _known_at: int = -1

    def __post_init__(self) -> None:
        self._index = {host: i for i, host in enumerate(self.prober.hosts)}

    def run(self, transfers: Sequence[Transfer]) -> Answer:
        """Run transfers concurrently."""
        # For a single transfer, the rates of its ports are a good enough guess.
        guess = self.expected if len(transfers) > 1 else self.alone
        answer = self.prober.rates(transfers, [guess(transfer) for transfer in transfers])
        self.starved += answer.starved
        self.runs += 1
        self.transfers += len(transfers) * answer.attempts
        return answer

    def expected(self, transfer: Transfer) -> float:
        """Return the isolated rate of a transfer, measured or inferred; 0 if it is not known."""
        if transfer in self.solo:
            return self.rate(transfer)
        if self._known_at != len(self.solo):
            self._known, self._known_at = self.bottlenecks(), len(self.solo)
        hosts = self._index
        return min(float(self._known[hosts[transfer.source], hosts[transfer.target]]), self.alone(transfer))

    def measure(self, transfer: Transfer) -> float:
        """Run a transfer alone once more and return the median of its isolated rates so far."""
        rate = float(self.run([transfer]).rates[0])
        if transfer not in self.solo:
            self._from.setdefault(transfer.source, []).append(transfer)
            self._to.setdefault(transfer.target, []).append(transfer)
        self.solo.setdefault(transfer, []).append(rate)
        self._typical[transfer] = float(np.median(self.solo[transfer]))
        return self.rate(transfer)

    def rate(self, transfer: Transfer) -> float:
        """Return the median isolated rate of a transfer; 0 if it was never measured."""
        return self._typical.get(transfer, 0.0)

    def between(self, a: str, b: str) -> float:
        """Return the rate of the faster direction."""
        return max(self.rate(Transfer(a, b)), self.rate(Transfer(b, a)))

    def latency(self, a: str, b: str) -> float:
        """Return the one-way latency (RTT/2) between two hosts, which is measured once."""
        pair = frozenset((a, b))
        if pair not in self.latencies:
            self.ping_pongs += 1
            self.latencies[pair] = self.prober.latency(a, b)
        return self.latencies[pair]

    def latency_again(self, a: str, b: str) -> None:
        """Measure a latency once more and keep the smaller one: disturbances only make it larger."""
        pair = frozenset((a, b))
        self.ping_pongs += 1
        self.latencies[pair] = min(self.latency(a, b), self.prober.latency(a, b))

    def gauge_scatter(self, transfer: Transfer, repetitions: int = 5) -> None:
        """Measure the scatter of rates by repeating one transfer."""
        for _ in range(repetitions):
            self.measure(transfer)
        logs = np.log(self.solo[transfer])
        # The median absolute deviation, scaled to a standard deviation of normal noise.
        self.scatter = max(0.01, 1.4826 * float(np.median(np.abs(logs - np.median(logs)))))
        self.step = max(LEAST_STEP, float(np.exp(6 * self.scatter)))

    def out_port(self, host: str) -> float:
        """Return the isolated sending rate of a host to the hosts that it reaches fastest."""
        return plateau([self.rate(transfer) for transfer in self._from.get(host, [])])

    def in_port(self, host: str) -> float:
        """Return the isolated receiving rate of a host from the hosts that reach it fastest."""
        return plateau([self.rate(transfer) for transfer in self._to.get(host, [])])

    def port(self, host: str) -> float:
        """Return the rate of the faster direction of a host."""
        return max(self.out_port(host), self.in_port(host))

    def alone(self, transfer: Transfer) -> float:
        """Return the isolated rate of a transfer that its ports allow."""
        return min(self.out_port(transfer.source), self.in_port(transfer.target))

    def explore(self, members: Sequence[str], level: float = 0.0, pivot: str | None = None) -> None:
        """Measure from pivots until every level of bandwidth among `members` is found.

        `level`: a rate that is known to be possible between all members. Classes that reach the pivot no faster
        are not explored further: differences inside them show under load.
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

        It is the rate of the best path over measured pairs (closure of the ultrametric). The diagonal: ports.
        """
        hosts, index = list(self.prober.hosts), self._index
        rates = np.zeros((len(hosts), len(hosts)))
        component = np.arange(len(hosts))
        pairs = {frozenset((t.source, t.target)): self.between(t.source, t.target) for t in self.solo}
        for pair, rate in sorted(pairs.items(), key=lambda item: -item[1]):
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
        """Measure from the pivot to all others (and back); repeat rates that no two others support."""
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
