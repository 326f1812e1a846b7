"""From few measurements to the topology: isolated pairs, then hosts under load, then groups against groups.

1. Pivots: isolated transfers from a few hosts to all others show the levels of bandwidth (`survey`).
2. Load: permutations of transfers inside every class show which hosts are on one switch (`contention`).
3. Uplinks: the total rate that leaves and enters each group, and which of these limits explain all loads.
4. A held-out check: random transfers, predicted by the topology and then measured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from hpcscope.errors import UsageError
from hpcscope.topology.bus import is_bus
from hpcscope.topology.contention import KEEPS, Contention
from hpcscope.topology.prober import Prober
from hpcscope.topology.sharing import Transfer, predicted_rates
from hpcscope.topology.survey import Survey
from hpcscope.topology.topology import Group, HostException, InsideHost, Origin, Topology
from hpcscope.topology.tree import SLOWER, Node, assembled, joined, merge_alike, named
from hpcscope.topology.uplinks import find_uplinks

CHECKS, CHECKED_AGAIN = 3, 5
"""Sets of transfers in the check, and how often each one is measured if the first check failed."""
CHECK_PASSES = 0.15
"""The largest median error of the held-out check at which the topology is accepted."""
BADLY, MOST_BAD = 2.0, 0.15
"""Factor by which a bad prediction is wrong, and the largest accepted fraction of bad predictions."""
ALONE = 0.95
"""A transfer that is predicted to keep this fraction of its isolated rate shares no link."""
MOST_SURE = 0.999
"""The largest confidence that is stated: there may be effects that the model does not know."""
UNCHECKED = 0.5
"""The largest confidence of a topology that failed its check, or that was measured without enough processors."""
FEW_STARVED = 0.02
"""Largest fraction of the measurements that may have lacked processors."""
REPETITIONS = 3
MOST_BATCHES = 6
MOST_ATTEMPTS = 5
"""Most attempts of the search under load, which restarts when a faster path appears."""
CLEARLY = 0.5
"""The group of a host is certain if the host disturbs all other groups by this much more."""
FARTHER, FARTHER_S, FEWEST_FAR = 5.0, 3e-4, 2
"""Hosts are in different groups, whatever their rates, if latencies differ by this factor and these seconds."""
FEW = 3
"""This many hosts with the same rate are not exceptions."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class CheckedTransfers:
    """Held-out transfers, on which no decision is based: predicted and measured.

    Transfers that share a link count as one, by their sum: the topology does not say how exactly they share it.
    """

    transfers: list[Transfer]
    predicted: list[float]
    measured: list[float]

    @property
    def error(self) -> float:
        """The median relative deviation of measured from predicted rates."""
        ratio = np.array(self.measured) / np.array(self.predicted)
        return float(np.median(np.abs(np.log(ratio))))

    @property
    def passed(self) -> bool:
        """Whether the topology predicts new transfers: most of them well, and hardly any badly."""
        ratio = np.abs(np.log(np.array(self.measured) / np.array(self.predicted)))
        return self.error < CHECK_PASSES and float((ratio > np.log(BADLY)).mean()) < MOST_BAD


@dataclass(frozen=True)
class Ports:
    """Sending and receiving rate of a host, in bytes per second."""

    out: float
    into: float


@dataclass(frozen=True)
class Discovery:
    """The topology that was found, and the cost of finding it."""

    topology: Topology
    ports: dict[str, Ports]
    check: CheckedTransfers
    transfers: int
    ping_pongs: int
    scatter: float
    notes: list[str]

    @property
    def messages(self) -> int:
        """Number of transfers and ping-pongs."""
        return self.transfers + self.ping_pongs


@dataclass
class _Discoverer:
    survey: Survey
    tell: Tell
    notes: list[str] = field(default_factory=list)
    doubts: dict[str, float] = field(default_factory=dict)
    buses: list[list[str]] = field(default_factory=list)

    def leaves(self) -> list[list[str]]:
        """Return the hosts of every switch or bus, slow hosts included."""
        hosts = list(self.survey.prober.hosts)
        self.tell(f"pairs of {len(hosts)} hosts")
        self.survey.gauge_scatter(Transfer(hosts[0], hosts[1]))
        self.survey.explore(hosts)
        groups = None
        for attempt in range(MOST_ATTEMPTS):
            groups = groups or self._under_load(watchful=attempt < MOST_ATTEMPTS - 1)
        assert groups is not None  # the last attempt accepts what it finds
        return [part for group in groups for part in self._near_each_other(group)]

    def _near_each_other(self, group: list[str]) -> list[list[str]]:
        """Split hosts with equal rates if their latencies differ clearly and repeatedly."""
        pivot, *others = group
        for _ in range(REPETITIONS):
            ordered = sorted(others, key=lambda host: self.survey.latency(pivot, host))
            latencies = [self.survey.latency(pivot, host) for host in ordered]
            steps = [
                number
                for number, (near, far) in enumerate(pairwise(latencies), start=1)
                if far > FARTHER * near and far - near > FARTHER_S
            ]
            # A single distant host is not a site.
            if not steps or steps[0] > len(ordered) - FEWEST_FAR:
                return [group]
            for host in ordered[steps[0] :]:
                self.survey.latency_again(pivot, host)
        return [[pivot, *ordered[: steps[0]]], *self._near_each_other(ordered[steps[0] :])]

    def _under_load(self, watchful: bool) -> list[list[str]] | None:
        """Return the groups; None if a faster port appeared, after exploring from it."""
        found: list[list[str]] = []
        self.buses.clear()
        for members in self._classes():
            usual = []
            for tier in self._usual(members):
                if is_bus(tier, self.survey):
                    self.buses.append(tier)
                else:
                    usual += tier
            if usual:
                self.tell(f"{len(usual)} hosts under load")
                contention = Contention(self.survey, usual, watchful)
                partition = contention.partition()
                if contention.faster:
                    self.survey.explore(members, level=0.0, pivot=contention.faster[0])
                    return None
                self.doubts |= partition.doubts
                found += partition.groups
        return self._placed(found + self.buses)

    def _classes(self) -> list[list[str]]:
        """Group hosts between which an isolated transfer is as fast as the slower port.

        A host whose port is slower than all trunks fits several classes and is left for `_placed`.
        """
        hosts = list(self.survey.prober.hosts)
        reach = self.survey.bottlenecks()
        order = sorted(range(len(hosts)), key=lambda i: -reach[i, i])
        classes: list[list[int]] = []
        for host in order:
            # The diagonal holds the ports; ports in the class are at least as fast as this one.
            fits = [kind for kind in classes if np.median(reach[host, kind]) >= KEEPS * reach[host, host]]
            if len(fits) == 1:
                fits[0].append(host)
            elif not fits:
                classes.append([host])
        return [[hosts[i] for i in kind] for kind in classes]

    def _usual(self, members: Sequence[str]) -> list[list[str]]:
        """Return the hosts of a class grouped by port rate, without the few that are slower than most.

        Transfers of slow hosts fit on a full trunk without being slowed, so they carry no information.
        """
        tiers: list[list[str]] = []
        for host in sorted(members, key=lambda host: -self.survey.port(host)):
            if tiers and self.survey.port(tiers[-1][0]) < self.survey.step * self.survey.port(host):
                tiers[-1].append(host)
            else:
                tiers.append([host])
        most = max(range(len(tiers)), key=lambda number: len(tiers[number]))
        return [tier for number, tier in enumerate(tiers) if number <= most or len(tier) >= FEW]

    def _placed(self, groups: list[list[str]]) -> list[list[str]]:
        """Add each slow host to the group that it fits; if it fits several, to the one that it disturbs least."""
        placed = {host for group in groups for host in group}
        reach = self.survey.bottlenecks()
        index = {host: i for i, host in enumerate(self.survey.prober.hosts)}
        full = [list(group) for group in groups]
        for host in self.survey.prober.hosts:
            if host in placed:
                continue
            self.tell(f"the group of {host}")
            i = index[host]
            possible = [
                number
                for number, group in enumerate(full)
                if np.median(reach[i, [index[member] for member in group]]) >= KEEPS * reach[i, i]
            ]
            if len(possible) < 2:
                if not possible:
                    groups.append([])
                groups[possible[0] if possible else -1].append(host)
                continue
            trials = {number: _Trial(host, number, possible, full, self.survey) for number in possible}
            for _ in range(MOST_BATCHES):
                for trial in trials.values():
                    trial.repeat()
                best, *others = sorted(trials, key=lambda number: trials[number].disturbance)
                apart = min(trials[number].disturbance for number in others) - trials[best].disturbance
                if apart > CLEARLY:
                    break
            self.doubts[host] = float(np.clip((1 - apart) / 2, 0.01, 0.5))
            if apart < CLEARLY:
                self.notes.append(f"{host} is so slow that its group is uncertain")
            groups[best].append(host)
        return groups


class _Trial:
    """How much a slow host slows transfers that fill the uplink of a group when it sends into the group."""

    def __init__(
        self, host: str, number: int, possible: list[int], groups: list[list[str]], survey: Survey
    ) -> None:
        outside = [member for other in possible if other != number for member in groups[other]]
        target, *receivers = survey.rng.permutation(np.array(groups[number], dtype=object)).tolist()
        senders = survey.rng.permutation(np.array(outside, dtype=object)).tolist()
        self._survey = survey
        self._filling = [Transfer(a, b) for a, b in zip(senders, receivers, strict=False)]
        self._own = Transfer(host, target)
        self._alone = survey.rate(self._own) or survey.measure(self._own)
        self._without: list[float] = []
        self._together: list[float] = []
        self._kept: list[float] = []

    def repeat(self) -> None:
        """Measure once more with and without the host."""
        for _ in range(REPETITIONS if self._filling else 0):
            self._without.append(float(self._survey.run(self._filling).rates.sum()))
            rates = self._survey.run([*self._filling, self._own]).rates
            self._together.append(float(rates[:-1].sum()))
            self._kept.append(float(rates[-1]))

    @property
    def disturbance(self) -> float:
        """The loss as a fraction of the host's rate: about 0 if the host is inside, 1 if it uses the uplink."""
        if not self._filling:
            return 0.5
        lost = float(np.median(self._without) - np.median(self._together))
        return (lost + self._alone - float(np.median(self._kept))) / self._alone


def discover(
    prober: Prober,
    origin: Origin = "measured",
    inside_host: InsideHost | None = None,
    seed: int = 0,
    tell: Tell = lambda _text: None,
) -> Discovery:
    """Find the topology of a prober's hosts.

    `tell` is told what is being done. Raises UsageError if there are fewer than two hosts.
    """
    hosts = list(prober.hosts)
    if len(hosts) < 2:
        only = hosts[0] if hosts else "none"
        raise UsageError(
            f"only one host ({only}): a topology needs two hosts; name them with --hosts a,b or --hostfile"
        )
    survey = Survey(prober, np.random.default_rng(seed))
    discoverer = _Discoverer(survey, tell)
    leaves = discoverer.leaves()
    root = joined(leaves, survey, discoverer.buses)
    exceptions = _exceptions(root, survey)
    tell("uplinks")
    uplinks = find_uplinks(root, survey, exceptions)
    while merge_alike(root, uplinks, survey, FARTHER):
        named(root)
        exceptions = _exceptions(root, survey)
        uplinks = find_uplinks(root, survey, exceptions)
    groups = [_sure(group, discoverer.doubts, root) for group in assembled(root, uplinks)]
    topology = Topology(origin=origin, host=inside_host, group=groups, exception=exceptions)
    tell("a check with new transfers")
    check = _check(topology, survey)
    if not check.passed:  # other traffic may have disturbed it; with few transfers, a single one decides
        check = _check(topology, survey, CHECKED_AGAIN)
    if survey.starved:
        discoverer.notes.append(
            f"processors were short during {survey.starved} of {survey.runs} measurements; such transfers look "
            "as if they shared a trunk"
        )
    if not check.passed or survey.starved > FEW_STARVED * survey.runs:
        topology = _less_sure(topology)
    return Discovery(
        topology=topology,
        ports={host: Ports(survey.out_port(host), survey.in_port(host)) for host in hosts},
        check=check,
        transfers=survey.transfers,
        ping_pongs=survey.ping_pongs,
        scatter=survey.scatter,
        notes=discoverer.notes,
    )


def _exceptions(root: Node, survey: Survey) -> list[HostException]:
    """Return the hosts whose slower direction is below the ports of their group."""
    least = max(SLOWER, survey.step)
    return [
        HostException(host=host, bandwidth_bytes_per_s=slower, latency_s=leaf.latency_s)
        for leaf in root.below()
        for host in leaf.hosts
        if (slower := min(survey.out_port(host), survey.in_port(host))) * least < leaf.bandwidth
    ]


def _sure(group: Group, doubts: dict[str, float], root: Node) -> Group:
    """Return the group with the probability that all its members belong to it."""
    node = next(below for below in root.below() if below.name == group.name)
    confidence = float(np.prod([1 - doubts.get(host, 0.01) for host in node.members]))
    return group.model_copy(update={"confidence": round(min(confidence, MOST_SURE), 4)})


def _less_sure(topology: Topology) -> Topology:
    groups = [
        group.model_copy(update={"confidence": min(group.confidence or 0.0, UNCHECKED)})
        for group in topology.group
    ]
    return topology.model_copy(update={"group": groups})


def _check(topology: Topology, survey: Survey, repetitions: int = 1) -> CheckedTransfers:
    """Predict and measure random transfers, half as many at once as there are hosts; the median of `repetitions`.

    Hosts whose directions differ are left out, since the topology has one rate for both.
    """
    ports = {host: (survey.out_port(host), survey.in_port(host)) for host in survey.prober.hosts}
    hosts = [host for host, both in ports.items() if max(both) < survey.step * min(both)]
    hosts = hosts if len(hosts) > 1 else list(ports)
    transfers: list[Transfer] = []
    predicted: list[float] = []
    measured: list[float] = []
    for _ in range(CHECKS):
        order = [str(host) for host in survey.rng.permutation(np.array(hosts, dtype=object))]
        half = len(order) // 2
        together = [Transfer(a, b) for a, b in zip(order[:half], order[half : 2 * half], strict=True)]
        rates = predicted_rates(topology, together)
        seen = np.median([survey.run(together).rates for _ in range(repetitions)], axis=0)
        alone = np.array([predicted_rates(topology, [transfer])[0] for transfer in together])
        joins = [topology.join(transfer.source, transfer.target).name for transfer in together]
        # Transfers that share a link are grouped by the group that joins their hosts; each other one is alone.
        kinds = [
            str(number) if free else join
            for number, (free, join) in enumerate(zip(rates >= ALONE * alone, joins, strict=True))
        ]
        for kind in dict.fromkeys(kinds):
            alike = np.array([other == kind for other in kinds])
            predicted.append(float(rates[alike].sum()))
            measured.append(float(seen[alike].sum()))
        transfers += together
    return CheckedTransfers(transfers, predicted, measured)
