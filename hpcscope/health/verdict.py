"""The verdict of every node, from what its visits measured: healthy, suspect, bad, or no answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log

import numpy as np

from hpcscope import units
from hpcscope.health import counters, facts, slow_nodes
from hpcscope.health.checks import BY_NAME, HealthCheck
from hpcscope.health.facts import Difference
from hpcscope.health.records import HealthFile, Visit
from hpcscope.health.slow_nodes import LEVEL, PARTNERS, Screening
from hpcscope.samples.samples import Floats

HEALTHY, SUSPECT, BAD, SILENT, UNSEEN = "healthy", "suspect", "bad", "no answer", "not checked"
ORDER = (BAD, SILENT, SUSPECT, UNSEEN, HEALTHY)
FEWEST_VISITS = 3
ODD_CAUSE = "it was set up differently"

EVERY = "*"
"""Stands for every place of a check."""
Place = tuple[str, str]
"""A check, and the part of the node in which it was made."""


@dataclass(frozen=True)
class Reference:
    """The performance of sound nodes with one kind of hardware."""

    hardware: Mapping[str, str]
    """Facts that identify such nodes."""
    costs: Mapping[Place, float]
    """Logarithms of the costs of checks."""
    facts: Mapping[str, str]
    """Facts that change how fast a node is."""

    def cost(self, check: str, place: str) -> float | None:
        """Return the logarithm of a cost at a place, else the one for every place; None if neither is known."""
        return self.costs.get((check, place), self.costs.get((check, EVERY)))

    def fits(self, known: Mapping[str, str]) -> bool:
        """Return whether a node with these facts has this hardware."""
        return all(known.get(name, "") == value for name, value in self.hardware.items())


@dataclass(frozen=True)
class NodeEvidence:
    """Why a node is not simply healthy."""

    verdict: str
    text: str
    cause: str = ""
    advice: str = ""
    weight: float = 0.0
    """Fraction by which a rate is lower; the largest comes first."""


@dataclass(frozen=True)
class NodeVerdict:
    """The verdict on one node."""

    host: str
    evidence: list[NodeEvidence]

    @property
    def verdict(self) -> str:
        """The worst verdict of any evidence."""
        return min((evidence.verdict for evidence in self.evidence), key=ORDER.index, default=HEALTHY)


@dataclass(frozen=True)
class Sight:
    """The result of a check for a group of equal nodes."""

    check: HealthCheck
    place: str
    hosts: tuple[str, ...]
    screening: Screening
    suspects: tuple[str, ...]
    """Nodes that stood out in the first stage."""

    @property
    def label(self) -> str:
        """The check with its NUMA node; the first node, often the only one, is left out."""
        return f"{self.check.label}{f' of {self.place}' if self.place not in ('', 'node0') else ''}"

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each node in the table."""
        return {host: row for row, host in enumerate(self.hosts)}

    @property
    def partners(self) -> tuple[str, ...]:
        """Nodes from the middle of those that did not stand out."""
        rest = sorted(
            self.screening.rest, key=lambda row: abs(self.screening.typical[row] - self.screening.center)
        )
        return tuple(self.hosts[row] for row in rest[:PARTNERS])


@dataclass
class Health:
    """The verdict of a whole cluster."""

    nodes: list[NodeVerdict]
    """The nodes, the worst first."""
    differences: list[Difference]
    sights: list[Sight]
    remarks: list[str] = field(default_factory=list)
    """Remarks that apply to the whole cluster, or say what could not be judged."""

    def hosts(self, verdict: str) -> list[str]:
        """Return the nodes with a verdict."""
        return [node.host for node in self.nodes if node.verdict == verdict]

    @property
    def sound(self) -> bool:
        """Whether no node is bad, and all answer."""
        return not self.hosts(BAD) and not self.hosts(SILENT)


def judge(
    record: HealthFile, references: Sequence[Reference] = (), further: Iterable[tuple[str, NodeEvidence]] = ()
) -> Health:
    """Return the verdicts that follow from a record, from references, and from further evidence on hosts."""
    visits = by_host(record.hosts, record.visits)
    evidence: dict[str, list[NodeEvidence]] = {host: list(_answers(visits[host])) for host in record.hosts}
    remarks = _common_pauses(evidence)
    known = {host: visit.facts for host in record.hosts if (visit := _first(visits[host])) is not None}
    for host, own in visits.items():
        evidence[host] += [
            NodeEvidence(BAD if sign.bad else SUSPECT, sign.evidence, sign.cause, sign.advice)
            for sign in counters.signs(own)
        ]
    differences = facts.differences(known)
    for difference in differences:
        for host, one in _odd(difference):
            evidence[host].append(one)
    seen = sights(record)
    for sight in seen:
        remarks += _judge_speed(sight, visits, evidence, len(seen))
    for reference in references:
        _against(reference, record, known, evidence)
    for host, one in further:
        evidence[host].append(one)
    nodes = [
        NodeVerdict(host, sorted(found, key=lambda one: (ORDER.index(one.verdict), -one.weight)))
        for host, found in evidence.items()
    ]
    nodes.sort(key=lambda node: (ORDER.index(node.verdict), -max((e.weight for e in node.evidence), default=0)))
    return Health(nodes, differences, seen, remarks)


def sights(record: HealthFile) -> list[Sight]:
    """Return the first stage of every check in every group of equal nodes."""
    first = [visit for visit in record.visits if visit.stage == 1 and visit.answered]
    own_visits = by_host(record.hosts, first)
    known = {host: own[0].facts for host, own in own_visits.items() if len(own) >= FEWEST_VISITS}
    tables = []
    for group in facts.groups(known):
        places = dict.fromkeys((v.check, v.place) for host in group for v in own_visits[host][0].values)
        tables += [(place, *table) for place in places if (table := _table(place, group, own_visits)) is not None]
    made = []
    for (check, place), hosts, costs in tables:
        screening = slow_nodes.screen(costs, LEVEL / len(tables))
        suspects = tuple(hosts[row] for row in screening.slow)
        made.append(Sight(BY_NAME[check], place, hosts, screening, suspects))
    return made


def references(record: HealthFile) -> list[Reference]:
    """Return the typical values of an earlier check, for each kind of hardware in it."""
    known = {visit.host: visit.facts for visit in reversed(record.visits) if visit.answered}
    seen = sights(record)
    made = []
    for group in facts.groups(known):
        own = [sight for sight in seen if sight.hosts[0] in group]
        costs = {(sight.check.name, sight.place): sight.screening.center for sight in own}
        hardware = {name: known[group[0]].get(name, "") for name in facts.HARDWARE}
        made.append(Reference(hardware, costs, facts.usual([known[host] for host in group])))
    return made


def undecided(record: HealthFile, health: Health, known: Sequence[Reference]) -> str:
    """Return why the verdict on a single node says nothing about its speed; empty if it does."""
    (node,) = health.nodes
    if node.verdict in (BAD, SUSPECT):
        return ""
    answered = [visit for visit in record.visits if visit.answered]
    if len(answered) < FEWEST_VISITS:
        return node.evidence[0].text if node.evidence else f"{len(answered)} of {FEWEST_VISITS} answers in time"
    return "" if any(reference.fits(answered[0].facts) for reference in known) else "no reference of this hardware"


def values(sight: Sight, host: str) -> tuple[str, str]:
    """Return the value of a node in the first stage, and its peers' typical value."""
    own = float(sight.screening.typical[sight.rows[host]])
    return value_of(sight.check, own), value_of(sight.check, sight.screening.center)


def _table(
    place: Place, group: Sequence[str], own_visits: Mapping[str, list[Visit]]
) -> tuple[tuple[str, ...], Floats] | None:
    """Return the logarithms of the costs of a check, a row for each node with at least `FEWEST_VISITS` of them."""
    rows = {host: _costs(place, own_visits[host]) for host in group}
    whole = {host: row for host, row in rows.items() if len(row) >= FEWEST_VISITS}
    if not whole:
        return None
    columns = min(map(len, whole.values()))
    return tuple(whole), np.array([row[:columns] for row in whole.values()])


def _costs(place: Place, visits: Iterable[Visit]) -> list[float]:
    check = BY_NAME[place[0]]
    return [
        log(check.cost(value.value))
        for visit in visits
        for value in visit.values
        if (value.check, value.place) == place
    ]


def by_host(hosts: Iterable[str], visits: Iterable[Visit]) -> dict[str, list[Visit]]:
    """Return the visits of each host, in their order."""
    found: dict[str, list[Visit]] = {host: [] for host in hosts}
    for visit in visits:
        found.setdefault(visit.host, []).append(visit)
    return found


def _first(visits: Sequence[Visit]) -> Visit | None:
    return next((visit for visit in visits if visit.answered), None)


def _answers(visits: Sequence[Visit]) -> Iterator[NodeEvidence]:
    silent = [visit for visit in visits if not visit.answered]
    if not visits:
        yield NodeEvidence(UNSEEN, "it was not measured", "an interrupted check, or a busy host", "check it later")
    elif silent[-2:] == list(visits)[-2:]:  # a silent host is also tried once in stage 2
        cause = "the host is down, hangs, or cannot be reached"
        yield NodeEvidence(SILENT, silent[-1].error, cause, "log in to the host, or restart it")
    elif silent:
        text = f"no answer to {len(silent)} of {len(visits)} measurements: {silent[0].error}"
        yield NodeEvidence(SUSPECT, text, "the host or its network hung", "look at its kernel's messages")


def _common_pauses(evidence: Mapping[str, list[NodeEvidence]]) -> list[str]:
    """Remark that most nodes left some measurements unanswered, and clear their evidence: the cause is common."""
    paused = [host for host, found in evidence.items() if any(one.verdict == SUSPECT for one in found)]
    if 2 * len(paused) <= len(evidence):
        return []
    for host in paused:
        evidence[host].clear()
    text = f"{len(paused)} of {len(evidence)} nodes gave no answer to some measurements."
    return [f"{text} Probably the network, or the host that runs this check, is overloaded."]


def _odd(difference: Difference) -> Iterator[tuple[str, NodeEvidence]]:
    if difference.usual is None or not difference.matters:
        return
    for value, hosts in difference.odd.items():
        text = f"{difference.fact} is {value}; others: {difference.usual}"
        for host in hosts:
            yield host, NodeEvidence(SUSPECT, text, ODD_CAUSE, "use the setting of the other nodes")


def _judge_speed(
    sight: Sight, visits: Mapping[str, list[Visit]], evidence: Mapping[str, list[NodeEvidence]], tests: int
) -> list[str]:
    """Add the evidence of one check; return remarks on the whole group."""
    if not sight.suspects:
        return []
    place = (sight.check.name, sight.place)
    again = {
        host: row
        for host in (*sight.suspects, *sight.partners)
        if len(row := _costs(place, [v for v in visits[host] if v.stage == 2 and v.answered])) >= FEWEST_VISITS
    }
    suspects = [host for host in sight.suspects if host in again]
    partners = [host for host in sight.partners if host in again]
    for host in set(sight.suspects) - set(suspects if partners else []):
        slower = units.share(sight.screening.slowness(sight.rows[host]))
        text = f"{sight.label} is {slower} {_worse(sight)} than on the peers; the node was not measured again"
        evidence[host].append(NodeEvidence(SUSPECT, text, sight.check.cause, sight.check.advice))
    if not suspects or not partners:
        return []
    members = [*suspects, *partners]
    columns = min(len(again[host]) for host in members)
    table = np.array([again[host][:columns] for host in members])
    rows = [sight.rows[host] for host in members]
    confirmed = slow_nodes.confirm(sight.screening, table, rows, len(suspects), LEVEL / tests)
    slow = {sight.hosts[row]: excess for row, (excess, holds) in confirmed.items() if holds}
    for host, excess in slow.items():
        share = slow_nodes.slowness(excess)
        few = sight.screening.visible is None
        verdict = SUSPECT if few or sight.screening.two_clusters else BAD
        own, peers = values(sight, host)
        text = f"{sight.label} {own}, peers {peers} ({units.share(share)} {_worse(sight)})"
        evidence[host].append(NodeEvidence(verdict, text, sight.check.cause, sight.check.advice, share))
    if not sight.screening.two_clusters or not slow:
        return []
    middle = units.share(slow_nodes.slowness(float(np.median(list(slow.values())))))
    return [
        f"{sight.label} has two clusters of values; {len(slow)} of {len(sight.hosts)} nodes are {middle}"
        f" {_worse(sight)}. No majority shows which cluster is right; use --reference"
    ]


def _against(
    reference: Reference,
    record: HealthFile,
    known: Mapping[str, Mapping[str, str]],
    evidence: Mapping[str, list[NodeEvidence]],
) -> None:
    """Add evidence against nodes that are slower than the reference for their hardware, or set up differently."""
    own_visits = by_host(known, [visit for visit in record.visits if visit.answered])
    group = [host for host in known if reference.fits(known[host])]
    for host in group:
        for name, value in facts.others(known[host], reference.facts):
            text = f"{name} is {value}; the reference: {reference.facts[name]}"
            evidence[host].append(NodeEvidence(SUSPECT, text, ODD_CAUSE, "compare it with the reference host"))
    places = dict.fromkeys((v.check, v.place) for host in group for v in own_visits[host][0].values)
    asked = {(check, place): cost for check, place in places if (cost := reference.cost(check, place)) is not None}
    for place, cost in asked.items():
        table = _table(place, group, own_visits)
        if table is None:
            continue
        hosts, costs = table
        for row, excess in slow_nodes.below_reference(costs, cost, LEVEL / len(asked)).items():
            of = BY_NAME[place[0]]
            own, right = (value_of(of, log_cost) for log_cost in (cost + excess, cost))
            worse = "lower" if of.higher_is_better else "slower"
            share = slow_nodes.slowness(excess)
            text = f"{of.label} {own}, the reference {right} ({units.share(share)} {worse})"
            evidence[hosts[row]].append(NodeEvidence(BAD, text, of.cause, of.advice, share))


def value_of(check: HealthCheck, log_cost: float) -> str:
    """Return a value with its unit, from the logarithm of its cost."""
    return units.quantity(check.cost(exp(log_cost)), check.unit)


def _worse(sight: Sight) -> str:
    return "lower" if sight.check.higher_is_better else "slower"
