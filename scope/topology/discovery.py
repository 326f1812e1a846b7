"""From few measurements to the topology: pairs alone, then hosts under load, then groups against groups.

1. Pivots: transfers from a few hosts to all others, alone, show the levels of bandwidth (`survey`).
2. Load: permutations of transfers inside every class show which hosts stand on one switch (`contention`).
3. Uplinks: what leaves and enters each group together, and which of these limits are needed to explain it.
4. A check that was held out: transfers at random, foretold by the topology and then measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from scope.errors import UsageError
from scope.topology.bus import is_bus
from scope.topology.contention import KEEPS, Contention
from scope.topology.oracle import Oracle
from scope.topology.sharing import Transfer, foretell
from scope.topology.survey import Survey
from scope.topology.topology import Group, HostException, InsideHost, Origin, Topology
from scope.topology.tree import SLOWER, Node, assembled, joined, merge_alike, named
from scope.topology.uplinks import find_uplinks

CHECKS = 3
CHECK_PASSES = 0.15
"""The median error of the held-out check at which the topology is believed."""
BADLY, MOST_BAD = 2.0, 0.15
"""A rate is foretold badly when it is wrong by this factor."""
ALONE = 0.95
"""A transfer that is foretold to keep this share of its rate alone shares nothing."""
MOST_SURE = 0.999
"""Nothing is surer than that what was not thought of did not happen."""
UNCHECKED = 0.5
"""Most that is believed of a topology that failed its check, or for which processors were short."""
FEW_STARVED = 0.02
"""Share of the measurements that may have lacked processors."""
REPETITIONS = 3
MOST_BATCHES = 6
MOST_ATTEMPTS = 5
"""How often loads are begun anew because something faster showed."""
CLEARLY = 0.5
"""A host's place is clear when the disturbance elsewhere is larger by this."""
FARTHER, FARTHER_S, FEWEST_FAR = 5.0, 3e-4, 2
"""Hosts are apart, whatever their rates, when their latency is so many times larger and by so many seconds."""
FEW = 3
"""So many hosts of one rate are no exceptions."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Check:
    """Transfers that no decision rests on: foretold and measured.

    Those that share something count as one, by their sum, in every group that joins them: how exactly they share
    is not the topology's.
    """

    transfers: list[Transfer]
    foretold: list[float]
    measured: list[float]

    @property
    def error(self) -> float:
        """The median of how far measured rates are from the foretold ones, relatively."""
        ratio = np.array(self.measured) / np.array(self.foretold)
        return float(np.median(np.abs(np.log(ratio))))

    @property
    def passed(self) -> bool:
        """Whether the topology foretells what it did not see: most of it well, and hardly anything badly."""
        ratio = np.abs(np.log(np.array(self.measured) / np.array(self.foretold)))
        return self.error < CHECK_PASSES and float((ratio > np.log(BADLY)).mean()) < MOST_BAD


@dataclass(frozen=True)
class Ports:
    """What a host can send and receive, in bytes per second."""

    out: float
    into: float


@dataclass(frozen=True)
class Discovery:
    """What was found, and what it cost."""

    topology: Topology
    ports: dict[str, Ports]
    check: Check
    transfers: int
    echoes: int
    scatter: float
    notes: list[str]

    @property
    def messages(self) -> int:
        """Transfers and ping-pongs together."""
        return self.transfers + self.echoes


@dataclass
class _Discoverer:
    survey: Survey
    say: Say
    notes: list[str] = field(default_factory=list)
    doubts: dict[str, float] = field(default_factory=dict)
    buses: list[list[str]] = field(default_factory=list)

    def leaves(self) -> list[list[str]]:
        """Return the hosts of every switch or bus, slow hosts among those that they stand with."""
        hosts = list(self.survey.oracle.hosts)
        self.say(f"pairs of {len(hosts)} hosts")
        self.survey.gauge_scatter(Transfer(hosts[0], hosts[1]))
        self.survey.explore(hosts)
        groups = None
        for attempt in range(MOST_ATTEMPTS):
            groups = groups or self._under_load(watchful=attempt < MOST_ATTEMPTS - 1)
        assert groups is not None  # the last attempt takes what it finds
        return [part for group in groups for part in self._near_each_other(group)]

    def _near_each_other(self, group: list[str]) -> list[list[str]]:
        """Split hosts that no rate tells apart where their latencies do, clearly and again."""
        pivot, *others = group
        for _ in range(REPETITIONS):
            ordered = sorted(others, key=lambda host: self.survey.latency(pivot, host))
            latencies = [self.survey.latency(pivot, host) for host in ordered]
            steps = [
                number
                for number, (near, far) in enumerate(pairwise(latencies), start=1)
                if far > FARTHER * near and far - near > FARTHER_S
            ]
            # One host alone is no site.
            if not steps or steps[0] > len(ordered) - FEWEST_FAR:
                return [group]
            for host in ordered[steps[0] :]:
                self.survey.latency_again(pivot, host)
        return [[pivot, *ordered[: steps[0]]], *self._near_each_other(ordered[steps[0] :])]

    def _under_load(self, watchful: bool) -> list[list[str]] | None:
        """Return the groups; None when a faster port showed, with what it taught measured."""
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
                self.say(f"{len(usual)} hosts under load")
                contention = Contention(self.survey, usual, watchful)
                partition = contention.partition()
                if contention.faster:
                    self.survey.explore(members, level=0.0, pivot=contention.faster[0])
                    return None
                self.doubts |= partition.doubts
                found += partition.groups
        return self._placed(found + self.buses)

    def _classes(self) -> list[list[str]]:
        """Put hosts together between which a transfer alone is as fast as the slower port.

        A host that fits nowhere else, because its port is slower than all trunks, is left for `_placed`.
        """
        hosts = list(self.survey.oracle.hosts)
        reach = self.survey.bottlenecks()
        order = sorted(range(len(hosts)), key=lambda i: -reach[i, i])
        classes: list[list[int]] = []
        for host in order:
            # The diagonal holds ports; those of the class are no slower than this one.
            fits = [one for one in classes if np.median(reach[host, one]) >= KEEPS * reach[host, host]]
            if len(fits) == 1:
                fits[0].append(host)
            elif not fits:
                classes.append([host])
        return [[hosts[i] for i in one] for one in classes]

    def _usual(self, members: Sequence[str]) -> list[list[str]]:
        """Return the hosts of a class by their ports, without the few that are slower than most.

        So slow a transfer finds room on a full trunk, and tells nothing.
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
        """Put every slow host that could stand in several groups where it disturbs nobody."""
        placed = {host for group in groups for host in group}
        reach = self.survey.bottlenecks()
        index = {host: i for i, host in enumerate(self.survey.oracle.hosts)}
        full = [list(group) for group in groups]
        for host in self.survey.oracle.hosts:
            if host in placed:
                continue
            self.say(f"the place of {host}")
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
                self.notes.append(f"{host} is so slow that its place among the groups is uncertain")
            groups[best].append(host)
        return groups


class _Trial:
    """What a slow host costs those who fill a group's uplink when it sends into the group."""

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
        """What is lost, as a share of the host's rate: about 0 when it is inside, 1 when it uses the uplink."""
        if not self._filling:
            return 0.5
        lost = float(np.median(self._without) - np.median(self._together))
        return (lost + self._alone - float(np.median(self._kept))) / self._alone


def discover(
    oracle: Oracle,
    origin: Origin = "measured",
    inside_host: InsideHost | None = None,
    seed: int = 0,
    say: Say = lambda _text: None,
) -> Discovery:
    """Find the topology of an oracle's hosts.

    `say` hears what is being done. Raises UsageError where there are fewer than two hosts.
    """
    hosts = list(oracle.hosts)
    if len(hosts) < 2:
        only = hosts[0] if hosts else "none"
        raise UsageError(
            f"only one host ({only}): a topology needs at least two; --hosts a,b or --hostfile names them"
        )
    survey = Survey(oracle, np.random.default_rng(seed))
    discoverer = _Discoverer(survey, say)
    leaves = discoverer.leaves()
    root = joined(leaves, survey, discoverer.buses)
    exceptions = _exceptions(root, survey)
    say("uplinks")
    uplinks = find_uplinks(root, survey, exceptions)
    while merge_alike(root, uplinks, survey.step, FARTHER):
        named(root)
        uplinks = find_uplinks(root, survey, exceptions)
    groups = [_sure(group, discoverer.doubts, root) for group in assembled(root, uplinks)]
    topology = Topology(origin=origin, host=inside_host, group=groups, exception=exceptions)
    say("a check with transfers that were not used")
    check = _check(topology, survey)
    if not check.passed:  # something else may have used the network just then
        check = _check(topology, survey)
    if survey.starved:
        discoverer.notes.append(
            f"processors were short during {survey.starved} of {survey.runs} measurements: a transfer that they"
            " slowed looks like one that shares a trunk"
        )
    if not check.passed or survey.starved > FEW_STARVED * survey.runs:
        topology = _less_sure(topology)
    return Discovery(
        topology=topology,
        ports={host: Ports(survey.out_port(host), survey.in_port(host)) for host in hosts},
        check=check,
        transfers=survey.transfers,
        echoes=survey.echoes,
        scatter=survey.scatter,
        notes=discoverer.notes,
    )


def _exceptions(root: Node, survey: Survey) -> list[HostException]:
    """Return the hosts of which a direction is slower than the ports of their group."""
    found = []
    for leaf in root.below():
        for host in leaf.hosts:
            slower = min(survey.out_port(host), survey.in_port(host))
            if slower * max(SLOWER, survey.step) < leaf.bandwidth:
                found.append(HostException(host=host, bandwidth_bytes_per_s=slower, latency_s=leaf.latency_s))
    return found


def _sure(group: Group, doubts: dict[str, float], root: Node) -> Group:
    """Return the group with the probability that all its members are right."""
    node = next(each for each in root.below() if each.name == group.name)
    confidence = float(np.prod([1 - doubts.get(host, 0.01) for host in node.members]))
    return group.model_copy(update={"confidence": round(min(confidence, MOST_SURE), 4)})


def _less_sure(topology: Topology) -> Topology:
    groups = [
        group.model_copy(update={"confidence": min(group.confidence or 0.0, UNCHECKED)})
        for group in topology.group
    ]
    return topology.model_copy(update={"group": groups})


def _check(topology: Topology, survey: Survey) -> Check:
    """Foretell and measure random transfers, half as many at once as there are hosts.

    Hosts whose directions differ are left out, since the topology has one rate for both.
    """
    ports = {host: (survey.out_port(host), survey.in_port(host)) for host in survey.oracle.hosts}
    hosts = [host for host, both in ports.items() if max(both) < survey.step * min(both)]
    hosts = hosts if len(hosts) > 1 else list(ports)
    transfers: list[Transfer] = []
    foretold: list[float] = []
    measured: list[float] = []
    for _ in range(CHECKS):
        order = [str(host) for host in survey.rng.permutation(np.array(hosts, dtype=object))]
        half = len(order) // 2
        together = [Transfer(a, b) for a, b in zip(order[:half], order[half : 2 * half], strict=True)]
        rates, seen = foretell(topology, together), survey.run(together).rates
        alone = np.array([foretell(topology, [transfer])[0] for transfer in together])
        joins = [topology.join(transfer.source, transfer.target).name for transfer in together]
        # Those that share something, by the group that joins them; every other one by itself.
        kinds = [
            str(number) if free else join
            for number, (free, join) in enumerate(zip(rates >= ALONE * alone, joins, strict=True))
        ]
        for kind in dict.fromkeys(kinds):
            alike = np.array([each == kind for each in kinds])
            foretold.append(float(rates[alike].sum()))
            measured.append(float(seen[alike].sum()))
        transfers += together
    return Check(transfers, foretold, measured)
