"""Which hosts with equal ports are on the same switch: found under load.

Every host sends to one and receives from one (a random permutation), all at once, so that no port is shared. A
transfer that is slower than in isolation crosses a shared link: its ends are on different switches. One that is
not slower suggests a common switch, though a trunk may have had capacity left. Groups are the partition that best
fits all observations (correlation clustering, Bansal, Blum & Chawla 2004); the next permutation is the one that
answers the most open questions.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcscope.topology.sharing import Floats, Transfer
from hpcscope.topology.survey import Survey, plateau

KEEPS = 0.75
"""A transfer was not slowed by a shared link if it keeps this fraction of its isolated rate under load, or of what
the best transfers keep."""
KEPT_BY_BEST = 0.8
"""The smallest fraction that the best transfers keep on one switch: acknowledgments wait behind the data of a host
that also sends, and processors are busy."""
APART, TOGETHER = -2.0, 1.0
"""Weights of a slowed and an unslowed transfer: crossing a trunk with capacity left is not rare."""
LEAST_ROUNDS = 3
MOST_REPETITIONS = 3
CONFIRMATIONS = 1
"""Random rounds that separate groups must survive: they test other pairs than those that found the groups."""
CANDIDATES = 60
"""Number of random permutations, of which the most informative one is run."""

Integers = NDArray[np.int64]


@dataclass(eq=False)
class Round:
    """A set of concurrent transfers, and the fraction of its isolated rate that each kept, per repetition."""

    flows: list[tuple[int, int]]
    shares: list[Floats]

    @property
    def kept(self) -> Floats:
        """The median fraction over the repetitions."""
        return np.asarray(np.median(self.shares, axis=0))


@dataclass
class Partition:
    """Hosts in groups, and how certain that is."""

    groups: list[list[str]]
    doubts: dict[str, float] = field(default_factory=dict)
    """Probability that a host is in the wrong group."""


@dataclass
class Contention:
    """The search for groups among hosts with equal ports."""

    survey: Survey
    hosts: list[str]
    watchful: bool = True
    """Whether to watch for transfers that are faster than in isolation."""
    rounds: list[Round] = field(default_factory=list)
    faster: list[str] = field(default_factory=list)
    """Hosts that were faster under load than in isolation: a faster path was not explored yet."""

    def partition(self) -> Partition:
        """Return the groups, or stop early when a faster path appears (`faster`)."""
        if len(self.hosts) == 1:
            return Partition([self.hosts])
        groups = np.arange(len(self.hosts))
        limit = LEAST_ROUNDS + len(self.hosts)
        confirmed = 0
        while True:
            if len(self.rounds) < limit and not self._settled(groups):
                self._add_round(self._permutation(groups))
                if self.faster:
                    return Partition([self.hosts])
            elif (doubtful := self._most_contradictory(groups)) is not None:
                self._repeat(doubtful)
            elif confirmed < CONFIRMATIONS and np.unique(groups).size > 1:
                self._add_round(self._cycle(self.survey.rng.permutation(len(self.hosts))))
                confirmed += 1
            else:
                break
            groups = self._cluster()
        names = np.array(self.hosts)
        return Partition(
            [[str(host) for host in names[groups == number]] for number in np.unique(groups)],
            doubts=self._doubts(groups),
        )

    def _add_round(self, flows: list[tuple[int, int]]) -> None:
        self.rounds.append(Round(flows, []))
        self._repeat(self.rounds[-1])

    def _repeat(self, one: Round) -> None:
        transfers = [Transfer(self.hosts[source], self.hosts[target]) for source, target in one.flows]
        answer = self.survey.run(transfers)
        alone = np.array([self.survey.alone(transfer) for transfer in transfers])
        one.shares.append(answer.rates / alone)
        quick = np.flatnonzero((answer.rates > self.survey.step * alone) & self.watchful)
        for transfer in (transfers[int(i)] for i in quick):
            before = self.survey.alone(transfer)
            if self.survey.measure(transfer) > self.survey.step * before:
                self.faster.append(transfer.source)
                break

    def _observed(self) -> tuple[Floats, Floats]:
        """Return how often each pair was not slowed, and how often it was slowed."""
        count = len(self.hosts)
        unslowed, slowed = np.zeros((count, count)), np.zeros((count, count))
        least = self._least_kept()
        for round_ in self.rounds:
            for (a, b), kept in zip(round_.flows, round_.kept, strict=True):
                table = unslowed if kept >= least else slowed
                table[a, b] += 1
                table[b, a] += 1
        return unslowed, slowed

    def _least_kept(self) -> float:
        """Return the fraction of its isolated rate that a transfer keeps unless a shared link slowed it."""
        best = plateau([float(kept) for round_ in self.rounds for kept in round_.kept])
        return KEEPS * float(np.clip(best, KEPT_BY_BEST, 1.0))

    def _cluster(self) -> Integers:
        """Return the group of each host: agglomeration, then moves of single hosts while these improve it."""
        unslowed, slowed = self._observed()
        if not slowed.any():
            return np.zeros(len(self.hosts), dtype=np.int64)
        weights = TOGETHER * unslowed + APART * slowed
        seen = unslowed + slowed
        groups = np.arange(len(self.hosts))
        while (pair := _best_merger(groups, weights, seen)) is not None:
            groups[groups == pair[1]] = pair[0]
        for _ in range(10):
            before = groups.copy()
            for host in range(len(self.hosts)):
                gains = {g: float(weights[host, (groups == g)].sum()) for g in np.unique(groups)}
                best = max(gains, key=lambda g: gains[g])
                if gains[best] > gains[groups[host]]:
                    groups[host] = best
            if (groups == before).all():
                break
        return groups

    def _settled(self, groups: Integers) -> bool:
        """Return whether every host was seen with its own group and apart from every other group."""
        if len(self.rounds) < LEAST_ROUNDS:
            return False
        unslowed, slowed = self._observed()
        return not slowed.any() or not self._open_pairs(groups, unslowed, slowed).any()

    def _open_pairs(self, groups: Integers, unslowed: Floats, slowed: Floats) -> NDArray[np.bool_]:
        """Return which pairs of hosts would give new information."""
        same = groups[:, None] == groups[None, :]
        numbers, place = np.unique(groups, return_inverse=True)
        member = (place[:, None] == np.arange(len(numbers))).astype(float)
        apart = (slowed @ member > 0)[:, place]  # whether a host was seen apart from the group of another
        fast = unslowed @ member
        own = fast[np.arange(len(groups)), place]
        fast[np.arange(len(groups)), place] = -1
        lonely = own <= np.maximum(fast.max(axis=1), 0)  # no observation supports its own group more than others
        wanted = np.where(same, lonely[:, None] | lonely[None, :], ~apart | ~apart.T)
        np.fill_diagonal(wanted, False)
        return np.asarray(wanted)

    def _permutation(self, groups: Integers) -> list[tuple[int, int]]:
        """Return the random permutation without fixed points that answers the most open questions."""
        wanted = self._open_pairs(groups, *self._observed())
        count = len(self.hosts)
        rng = self.survey.rng
        orders = np.array([rng.permutation(count) for _ in range(CANDIDATES if self.rounds else 1)])
        targets = np.roll(orders, -1, axis=1)  # one long cycle: no host sends to itself
        best = int(wanted[orders, targets].sum(axis=1).argmax())
        return self._cycle(orders[best])

    @staticmethod
    def _cycle(order: Integers) -> list[tuple[int, int]]:
        """Return the transfers in which every host sends to the next one of an order, the last to the first."""
        return [(int(a), int(b)) for a, b in zip(order, np.roll(order, -1), strict=True)]

    def _most_contradictory(self, groups: Integers) -> Round | None:
        """Return the round with the most transfers that contradict the groups, among those not repeated enough."""
        contradictory, most, least = None, 0, self._least_kept()
        for round_ in self.rounds:
            if len(round_.shares) >= MOST_REPETITIONS:
                continue
            flows = np.array(round_.flows)
            same = groups[flows[:, 0]] == groups[flows[:, 1]]
            against = int((same != (round_.kept >= least)).sum())
            if against > most and (round_.kept < least).any():
                contradictory, most = round_, against
        return contradictory

    def _doubts(self, groups: Integers) -> dict[str, float]:
        """Return for each host the probability that all support for its group is due to chance."""
        unslowed, slowed = self._observed()
        same = groups[:, None] == groups[None, :]
        against = (unslowed * ~same + slowed * same) / 2
        supports = unslowed * same + slowed * ~same
        wrong = (float(against.sum()) + 1) / (float((unslowed + slowed).sum()) / 2 + 2)
        margins = np.maximum(1.0, supports.sum(axis=1) - 2 * against.sum(axis=1))
        return {host: float(wrong**margin) for host, margin in zip(self.hosts, margins, strict=True)}


def _best_merger(groups: Integers, weights: Floats, seen: Floats) -> tuple[int, int] | None:
    """Return the two groups with the strongest average evidence for a merger."""
    numbers = np.unique(groups)
    member = (groups[None, :] == numbers[:, None]).astype(float)
    total, count = member @ weights @ member.T, member @ seen @ member.T
    np.fill_diagonal(total, 0.0)
    average = np.where(count > 0, total / np.maximum(count, 1), 0.0)
    # Among equal averages, prefer the one with more observations.
    score = np.where(total > 0, average + 1e-3 * np.minimum(total, 100), 0.0)
    best = int(score.argmax())
    a, b = divmod(best, len(numbers))
    return (int(numbers[a]), int(numbers[b])) if score[a, b] > 0 else None
