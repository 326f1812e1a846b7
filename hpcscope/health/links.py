"""Slow links of a cluster, from rounds of disjoint pairs: a host's own link, a switch, or a path between switches.

Each of n hosts is measured with about log2(n) partners. What stands out is measured again with other partners, and
is named if it stands out there, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import expm1, log1p, log2
from random import Random

import numpy as np

from hpcscope import units
from hpcscope.health.records import REPETITIONS, HealthFile, LinkVisit
from hpcscope.health.slow_nodes import LEVEL
from hpcscope.health.verdict import BAD, SUSPECT, NodeEvidence
from hpcscope.models.communication.decomposition import FEWEST, SMALLEST_EXCESS
from hpcscope.models.communication.localisation import FEWEST_OF_A_HOST, Found, Localisation, Pairs, localise
from hpcscope.models.communication.random_pairs import host_groups
from hpcscope.names import host_ranges, several
from hpcscope.samples.samples import Booleans, Floats, Integers
from hpcscope.statistics.distributions import student_quantile
from hpcscope.topology.topology import Topology

PARTNERS = 8
"""Fewest sound hosts that take part in the second stage; with many suspects, two for each."""
ROUNDS_AGAIN = 8
FOR_PATHS = 4
"""Further rounds of the first stage if paths between switches are distinguished: few pairs measure each path."""
MOST_PAIRS = 8  # per metric, the slowest ones; none with few hosts, since no sound partners would be left
MOST_TESTED = 4
"""Most hosts that test a switch, or each end of a path."""
FEWEST_AGAIN = 3
FEWEST_CONTROLS = 6
CAUSE = "a cable, transceiver or port; another speed or duplex mode; or a busy host"
ADVICE = "compare `ethtool` and `ethtool -S` on the host and at its port; replace the cable, then the port"

Pair = tuple[str, str]


@dataclass(frozen=True)
class Metric:
    """Something that is measured on a link."""

    name: str
    label: str
    unit: str
    fields: tuple[str, ...]
    """Fields of a visit; the slowest one counts."""

    def costs(self, visits: Sequence[LinkVisit]) -> Floats:
        """Return the logarithm of the cost of each repetition, a row for each visit."""
        values = np.array([[getattr(visit, name) for name in self.fields] for visit in visits])
        values = values.reshape(len(visits), len(self.fields), REPETITIONS)
        found: Floats = np.log(values.max(axis=1) if self.unit == "s" else 1 / values.min(axis=1))
        return found

    def typical(self, visits: Sequence[LinkVisit]) -> Floats:
        """Return the median for each visit."""
        found: Floats = np.median(self.costs(visits), axis=1)
        return found

    def value(self, log_cost: float) -> str:
        """Return a value with its unit, from the logarithm of its cost."""
        cost = float(np.exp(log_cost))
        return units.quantity(cost if self.unit == "s" else 1 / cost, self.unit)


METRICS = (
    Metric("latency", "one-way latency", "s", ("latency_s",)),
    Metric("rate", "rate of its slower direction", "B/s", ("forward", "backward")),
    Metric("at_once", "rate in both directions at once", "B/s", ("forward_at_once", "backward_at_once")),
)


@dataclass(frozen=True)
class SlowLink:
    """A host, a pair, a switch or a path between two switches whose messages are slow in the first stage."""

    kind: str
    """`host`, `pair`, or the topology's name for its groups, with ` path` for a path between two."""
    members: tuple[str, ...]
    metric: Metric
    own: float
    """Logarithm of the median cost of its links in the first stage; `others`: of all other links."""
    others: float
    pairs: int
    confirmed: bool | None
    """None without a second stage."""


def rounds(hosts: Sequence[str], random: Random, more: int = 0) -> list[list[Pair]]:
    """Return rounds of disjoint pairs in which no pair occurs twice: log2 of the hosts, and `more`.

    The circle method of tournaments (Kirkman 1850), on hosts in random order; with an odd number, one host rests.
    """
    order: list[str | None] = [*hosts]
    random.shuffle(order)
    if len(order) % 2 or not order:
        order.append(None)
    wanted = max(FEWEST_OF_A_HOST + 2, round(log2(max(len(hosts), 2)))) + more
    fixed, ring = order[0], order[1:]
    made = []
    for number in random.sample(range(len(ring)), min(wanted, len(ring))):
        turned = [fixed, *ring[number:], *ring[:number]]
        half = len(turned) // 2
        pairs = zip(turned[:half], reversed(turned[half:]), strict=True)
        made.append(
            [(a, b) if random.random() < 0.5 else (b, a) for a, b in pairs if a is not None and b is not None]
        )
    return made


def again(record: HealthFile, topology: Topology | None, random: Random) -> list[list[Pair]]:
    """Return the rounds of the second stage: suspects with other sound partners, and pairs of sound hosts."""
    suspects = _suspects(record, topology)
    if not suspects:
        return []
    involved = {host for suspect in suspects for host in suspect.hosts()}
    rest = [host for host in _hosts(record, 1) if host not in involved]
    tested = sum(len(suspect.tested()) for suspect in suspects)
    partners = random.sample(rest, min(len(rest), max(PARTNERS, 2 * tested)))
    return [_round(suspects, partners, number % 2 == 0, random) for number in range(ROUNDS_AGAIN)]


def _round(suspects: Sequence[_Suspect], partners: Sequence[str], hosts_first: bool, random: Random) -> list[Pair]:
    sound = random.sample(partners, len(partners))
    pairs: list[Pair] = []
    used: set[str] = set()
    # Hosts and pairs take turns: a host may be both a suspect and one end of a suspect pair.
    order = random.sample(suspects, len(suspects))
    for way in sorted(order, key=lambda each: (each.ends is None) == hosts_first, reverse=True):
        if way.ends is not None:
            sides = [[host for host in random.sample(side, len(side)) if host not in used] for side in way.ends]
            wanted = list(zip(*sides, strict=False))[:MOST_TESTED]
        else:
            wanted = [(host, sound.pop()) for host in way.tested() if sound and host not in used]
        pairs += wanted
        used |= {host for pair in wanted for host in pair}
    return [*pairs, *zip(sound[::2], sound[1::2], strict=False)]


def slow(record: HealthFile, topology: Topology | None = None) -> list[SlowLink]:
    """Return what is slow in the first stage, and whether the second confirms it."""
    suspects = _suspects(record, topology)
    involved = {host for suspect in suspects for host in suspect.hosts()}
    first, second = (
        [visit for visit in record.links if visit.stage == stage and not visit.error] for stage in (1, 2)
    )
    controls = np.array([not involved & {visit.first, visit.second} for visit in second], bool)
    costs = {metric.name: (metric.typical(first), metric.typical(second)) for metric in METRICS}
    number = {host: each for each, host in enumerate(record.hosts)}
    ends = [_ends(visits, number) for visits in (first, second)]
    made = []
    for suspect in suspects:
        before, now = costs[suspect.metric.name]
        own = now[suspect.measured_by(ends[1], number, involved)]
        confirmed = None if suspect.kind == "host" or not second else False
        if own.size >= FEWEST_AGAIN and np.count_nonzero(controls) >= FEWEST_CONTROLS:
            confirmed = _confirmed(own, now[controls], len(suspects))
        if confirmed or not suspect.implied:
            mine = suspect.measured_by(ends[0], number, ())
            rest = before[~mine] if not mine.all() else before
            middles = (float(np.median(before[mine])), float(np.median(rest)))
            made.append(
                SlowLink(suspect.kind, suspect.members, suspect.metric, *middles, suspect.found.pairs, confirmed)
            )
    named = {suspect.members[0] for suspect in made if suspect.kind == "host" and suspect.confirmed}
    return [suspect for suspect in made if suspect.kind != "pair" or not named & {*suspect.members}]


def _ends(visits: Sequence[LinkVisit], number: Mapping[str, int]) -> Integers:
    """Return the numbers of both hosts, a row for each visit."""
    return np.array([(number[visit.first], number[visit.second]) for visit in visits], np.int64).reshape(-1, 2)


def _confirmed(own: Floats, sound: Floats, tests: int) -> bool:
    """Return whether links are slower than sound ones at the same time (one-sided t test, `LEVEL` over all tests).

    Their median is treated like a single new value of the sound ones, since pairs of one host are not independent.
    """
    excess = float(np.median(own)) - float(sound.mean())
    error = float(sound.std(ddof=1)) * (1 + 1 / sound.size) ** 0.5
    return bool(excess > max(student_quantile(1 - LEVEL / tests, sound.size - 1) * error, log1p(SMALLEST_EXCESS)))


@dataclass(frozen=True)
class _Suspect:
    """What stood out in the first stage, and the hosts by which it is tested again."""

    metric: Metric
    kind: str
    members: tuple[str, ...]
    found: Found
    ends: tuple[Sequence[str], Sequence[str]] | None
    """The hosts at both ends of a pair or path; None for a host or a switch."""
    own: Sequence[str] = ()
    """The host, or the hosts of the switch."""
    implied: bool = False
    """Whether it is only an end of a slow pair: two of its few pairs may be slow because of their other ends."""

    def hosts(self) -> list[str]:
        """Return all hosts that are not sound partners."""
        return [*self.own, *(host for side in self.ends or () for host in side)]

    def tested(self) -> Sequence[str]:
        """Return the hosts that get partners."""
        return self.own[:MOST_TESTED]

    def measured_by(self, ends: Integers, number: Mapping[str, int], involved: Iterable[str]) -> Booleans:
        """Return which measurements join both ends, or one of its own hosts with a host that is not involved."""

        def among(hosts: Iterable[str]) -> Booleans:
            found: Booleans = np.isin(ends, [number[host] for host in hosts])
            return found

        one, other = among(self.ends[0] if self.ends else self.own), among(self.ends[1] if self.ends else involved)
        both = one & (other if self.ends else ~other)[:, ::-1]
        found: Booleans = both[:, 0] | both[:, 1]
        return found


def _suspects(record: HealthFile, topology: Topology | None) -> list[_Suspect]:
    made = []
    for metric, hosts, found in _located(record, topology):
        made += [_Suspect(metric, "host", (name := hosts[o.members[0]],), o, None, (name,)) for o in found.hosts]
        known = {hosts[outlier.members[0]] for outlier in found.hosts}
        for outlier in found.pairs[: MOST_PAIRS if len(hosts) >= 2 * PARTNERS else 0]:
            first, second = (hosts[member] for member in outlier.members)
            made.append(_Suspect(metric, "pair", (first, second), outlier, ([first], [second])))
            hidden = [host for host in (first, second) if host not in known]
            made += [_Suspect(metric, "host", (host,), outlier, None, (host,), implied=True) for host in hidden]
            known.update(hidden)
        for group in host_groups(hosts, len(hosts), topology):
            inside: list[list[str]] = [[] for _ in group.groups]
            for host, of in zip(hosts, group.of, strict=True):
                if of >= 0:
                    inside[of].append(host)
            for outlier in found.groups[group.name]:
                (number,) = outlier.members
                made.append(_Suspect(metric, group.name, (group.groups[number],), outlier, None, inside[number]))
            for outlier in found.paths[group.name]:
                first, second = (group.groups[member] for member in outlier.members)
                ends = (inside[outlier.members[0]], inside[outlier.members[1]])
                made.append(_Suspect(metric, f"{group.name} path", (first, second), outlier, ends))
    return made


def evidence(
    record: HealthFile, topology: Topology | None = None
) -> tuple[list[tuple[str, NodeEvidence]], list[str]]:
    """Return the evidence against hosts, and remarks on switches, paths and the whole."""
    against: list[tuple[str, NodeEvidence]] = list(_unreached(record))
    remarks = []
    for link in slow(record, topology):
        if link.confirmed is False:
            continue
        share = -expm1(link.others - link.own)
        longer = expm1(link.own - link.others)
        much = f"{units.share(share)} lower" if link.metric.unit != "s" else f"{units.share(longer)} longer"
        partners = "partner" if link.pairs == 1 else "partners"
        doubt = "" if link.confirmed else ", not measured again"
        if link.kind == "host":
            own, others = map(link.metric.value, (link.own, link.others))
            values = f"{own} with {link.pairs} {partners}, other hosts {others}"
            text = f"link: {link.metric.label} {values} ({much}){doubt}"
            verdict = BAD if link.confirmed else SUSPECT
            against.append((link.members[0], NodeEvidence(verdict, text, CAUSE, ADVICE, share)))
        else:
            place = " and ".join(link.members)
            where = {"pair": f"the path between {place}"}.get(link.kind, f"{link.kind} {place}")
            remarks.append(f"{where}: {link.metric.label} {much} than elsewhere{doubt}")
    remarks += _whole(record)
    return against, remarks


def sentence(record: HealthFile) -> str:
    """Return the results of the links in one line; empty if none was measured."""
    measured = [visit for visit in record.links if not visit.error]
    if not measured:
        return ""
    typical = [metric.value(float(np.median(metric.typical(measured)))) for metric in METRICS]
    hosts = len({host for visit in measured for host in (visit.first, visit.second)})
    pairs = len({frozenset((visit.first, visit.second)) for visit in measured})
    return (
        f"Scope measured links between {pairs:,} of {hosts * (hosts - 1) // 2:,} pairs of hosts. The medians are "
        f"{typical[0]} for latency, {typical[1]} for one direction, {typical[2]} for both directions at once."
    )


def _hosts(record: HealthFile, stage: int) -> list[str]:
    visits = [visit for visit in record.links if visit.stage == stage and not visit.error]
    seen = {host for visit in visits for host in (visit.first, visit.second)}
    return [host for host in record.hosts if host in seen]


def _located(record: HealthFile, topology: Topology | None) -> list[tuple[Metric, list[str], Localisation]]:
    """Return what is slow in the first stage, by metric; empty if there are too few hosts."""
    visits = [visit for visit in record.links if visit.stage == 1 and not visit.error]
    hosts = _hosts(record, 1)
    if len(hosts) < FEWEST:
        return []
    number = {host: each for each, host in enumerate(hosts)}
    groups = {group.name: np.array(group.of, np.int64) for group in host_groups(hosts, len(hosts), topology)}
    first, second = _ends(visits, number).T
    return [
        (metric, hosts, localise(Pairs(len(hosts), first, second, metric.costs(visits).T), groups))
        for metric in METRICS
    ]


def _unreached(record: HealthFile) -> Iterable[tuple[str, NodeEvidence]]:
    """Yield hosts that no partner reached, although other hosts were reached."""
    sound = {host for visit in record.links if not visit.error for host in (visit.first, visit.second)}
    failed: dict[str, list[LinkVisit]] = {}
    for visit in record.links if sound else ():
        for host in {visit.first, visit.second} - sound:
            failed.setdefault(host, []).append(visit)
    for host, visits in failed.items():
        text = f"link: measurements with {units.count(len(visits), 'partner')} all failed: {visits[0].error}"
        yield host, NodeEvidence(SUSPECT, text, "a firewall between nodes, or a network that is down", ADVICE)


def _whole(record: HealthFile) -> list[str]:
    failed = [visit for visit in record.links if visit.error]
    if failed and len(failed) == len(record.links):
        return [f"links: not measured: {failed[0].error}"]
    hosts = {host for visit in record.links for host in (visit.first, visit.second)}
    if record.links and len(hosts) < FEWEST:
        return [f"links: {len(hosts)} hosts are too few to tell whose link is slow; {FEWEST} hosts are needed"]
    if failed:
        names = host_ranges(sorted({visit.first for visit in failed} | {visit.second for visit in failed}))
        return [f"links: {len(failed)} of {len(record.links)} measurements failed; they involve {several(names)}"]
    return []
