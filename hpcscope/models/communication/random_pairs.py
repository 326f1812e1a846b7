"""Random pairs of a cluster with too many pairs to measure each: what is slow, and the chance of seeing it."""

from collections import defaultdict

import numpy as np

from hpcscope.catalog.benchmark import Pattern
from hpcscope.catalog.catalog import Catalog
from hpcscope.grouping import grouped
from hpcscope.machine.host_names import HostNames
from hpcscope.models.communication.decomposition import FEWEST, FEWEST_LAUNCHES
from hpcscope.models.communication.localisation import (
    Found,
    Localisation,
    Pairs,
    all_pairs,
    chance_of_pair,
    chance_of_path,
    localise,
)
from hpcscope.models.communication.pair_matrix import Slow, hosts_of, process_names, visits_of
from hpcscope.models.communication.switch_latency import SwitchLatency, Wiring, switch_latency
from hpcscope.plan.case import Batch
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import Origin
from hpcscope.samples.samples import CaseSamples, Floats, Integers, Samples
from hpcscope.strict import Strict
from hpcscope.topology.topology import Topology

PATTERN: Pattern = "pair_sample"
"""Benchmarks of this pattern have a message size and a `round`, which draws the pairs."""
MOST_IN_A_MATRIX = 64
"""Most groups for which every pair of groups is reported; with more groups, only slow ones are."""
RAIL = "rail"
"""Ranks with the same number on their hosts: one network plane, if each rank has its own adapter."""

Kind = tuple[str, int, Batch, Origin]
"""Benchmark, message bytes, batch and origin of a sample."""


class Attribute(Strict):
    """What ranks can have in common: a switch, a group of switches, a rail."""

    name: str
    groups: list[str]
    """Names of the groups."""
    of: list[int]
    """The number of each rank's group; -1 if it has none."""
    slow: list[Slow] = []
    """Groups whose members are slow with every partner."""
    slow_between: list[Slow] = []
    """Pairs of groups between which messages are slower than elsewhere."""
    between: list[list[float | None]] = []
    """Median time between two groups over the median of all pairs, for few groups; None without a pair."""
    chance: float
    """Probability that at least two pairs join two groups of the usual size, which reveals a slow path."""


class RandomPairs(Strict):
    """The ping-pong of random pairs of a large cluster, and its outliers."""

    benchmark: str
    message_bytes: int
    transport: str
    placement: Placement
    origin: str
    names: list[str]
    """Names of the ranks, in order: their hosts, with the rank if a host has several."""
    rounds: int
    launches: int
    pairs: int
    """Number of measured pairs."""
    of_pairs: int
    """Number of pairs that exist."""
    chance_of_pair: float
    """Probability that a given pair was measured."""
    typical_s: float | None
    """The median one-way latency."""
    excess: list[float | None]
    """Excess that each rank adds to its pairs over the typical rank: 0.1 is 10 %; None if it was not measured."""
    attributes: list[Attribute] = []
    slow_processes: list[Slow] = []
    slow_pairs: list[Slow] = []
    reason: str = ""
    """Why no outliers were searched for; empty if they were."""
    switches: SwitchLatency | None = None
    """None if no wiring is known, or all pairs pass the same number of switches."""


_SEED, _PLACE, _LAST = (
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def partners(number: int, ranks: int) -> Integers:
    """Return the partner of every rank in a round; a rank that rests is its own partner.

    `mpi.random_pairs` draws the same pairs: ranks in the order of a hash of round and rank (splitmix64: Steele,
    Lea and Flood, OOPSLA 2014), in which neighbors are a pair.
    """
    with np.errstate(over="ignore"):
        value = np.uint64(number) * _SEED + np.arange(ranks, dtype=np.uint64) * _PLACE
        value = (value ^ (value >> np.uint64(30))) * _PLACE
        value = (value ^ (value >> np.uint64(27))) * _LAST
        value ^= value >> np.uint64(31)
    order = np.argsort(value)
    found = np.arange(ranks)
    even = order[: ranks // 2 * 2].reshape(-1, 2)
    found[even[:, 0]], found[even[:, 1]] = even[:, 1], even[:, 0]
    return found


def random_pairs(
    samples: Samples, catalog: Catalog, topology: Topology | None, wiring: Wiring | None = None
) -> list[RandomPairs]:
    """Return the sample of every size that was measured, in the order of the sizes."""
    kinds = grouped(visits_of(samples, catalog, PATTERN), lambda visit: _kind(visit, catalog))
    return [
        _sample(kind, cases, hosts_of(cases[0], samples), topology, wiring)
        for kind, cases in sorted(kinds.items())
    ]


def _kind(samples: CaseSamples, catalog: Catalog) -> Kind:
    size = catalog.size(samples.case.benchmark, samples.case.parameters) or 0
    return samples.case.benchmark, size, samples.case.batch, samples.origin


def _sample(
    kind: Kind,
    cases: list[CaseSamples],
    hosts: list[str],
    topology: Topology | None,
    wiring: Wiring | None,
) -> RandomPairs:
    benchmark, size, (ranks, transport, placement), origin = kind
    rounds = {int(samples.case.parameters["round"]) for samples in cases}
    pairs = measured(cases, ranks)
    names = process_names(hosts, ranks)
    attributes = host_groups(hosts, ranks, topology)
    reason = ""
    if ranks < FEWEST:
        reason = f"{ranks} ranks; {FEWEST} are needed"
    elif len(pairs.logs) < FEWEST_LAUNCHES:
        reason = f"{len(pairs.logs)} launches have every round; {FEWEST_LAUNCHES} are needed"
    groups = {attribute.name: np.array(attribute.of, np.int64) for attribute in attributes}
    localisation = localise(pairs, groups)
    return RandomPairs(
        benchmark=benchmark,
        message_bytes=size,
        transport=transport,
        placement=placement,
        origin=origin,
        names=names,
        rounds=len(rounds),
        launches=len({case.launch for case in cases}),
        pairs=len(
            np.unique(np.minimum(pairs.first, pairs.second) * ranks + np.maximum(pairs.first, pairs.second))
        ),
        of_pairs=all_pairs(ranks),
        chance_of_pair=chance_of_pair(ranks, len(rounds)),
        typical_s=float(np.exp(np.median(pairs.typical))) if pairs.logs.size else None,
        excess=[None if np.isnan(effect) else float(f"{np.expm1(effect):.4g}") for effect in localisation.effects],
        attributes=[_with_slow(attribute, localisation, pairs, len(rounds)) for attribute in attributes],
        slow_processes=[_slow(location, names) for location in localisation.hosts],
        slow_pairs=[_slow(location, names) for location in localisation.pairs],
        reason=reason,
        switches=switch_latency(np.exp(pairs.logs), wiring.switches(hosts, pairs.first, pairs.second))
        if wiring is not None and len(hosts) == ranks
        else None,
    )


def measured(cases: list[CaseSamples], ranks: int) -> Pairs:
    """Return the pairs of the rounds in all complete launches; the slower of both partners' times counts."""
    launches: dict[int, dict[int, Floats]] = defaultdict(dict)
    for case in cases:
        launches[case.launch][int(case.case.parameters["round"])] = _times_of_ranks(case, ranks)
    most = max((len(rounds) for rounds in launches.values()), default=0)
    whole = [rounds for rounds in launches.values() if len(rounds) == most]
    known = sorted(set.intersection(*(set(rounds) for rounds in whole))) if whole else []
    firsts, seconds, columns = [], [], []
    for number in known:
        other = partners(number, ranks)
        first = np.flatnonzero(np.arange(ranks) < other)
        both = np.array([np.fmax(rounds[number][first], rounds[number][other[first]]) for rounds in whole])
        seen = np.isfinite(both).all(axis=0)
        firsts.append(first[seen])
        seconds.append(other[first][seen])
        columns.append(np.log(both[:, seen]))
    none = np.zeros(0, np.int64)
    return Pairs(
        ranks,
        np.concatenate(firsts) if firsts else none,
        np.concatenate(seconds) if seconds else none,
        np.concatenate(columns, axis=1) if columns else np.zeros((0, 0)),
    )


def between_groups(pairs: Pairs, of: Integers) -> list[list[float | None]]:
    """Return the median time between every two groups over the median of all pairs; empty for many groups."""
    count = int(of.max(initial=-1)) + 1
    if count > MOST_IN_A_MATRIX or not pairs.logs.size:
        return []
    one, other = of[pairs.first], of[pairs.second]
    low, high = np.minimum(one, other), np.maximum(one, other)
    times = pairs.typical - np.median(pairs.typical)
    groups: list[list[float | None]] = [[None] * count for _ in range(count)]
    for i in range(count):
        row = low == i
        for j in range(i, count):
            inside = times[row & (high == j)]
            if inside.size:
                groups[i][j] = groups[j][i] = float(f"{np.exp(np.median(inside)):.4g}")
    return groups


def _times_of_ranks(case: CaseSamples, ranks: int) -> Floats:
    """Return every rank's one-way latency in s; NaN if it rested or its times were not kept."""
    series = next(times for times in case.times if times.cadence == "isolated")
    found = np.full(ranks, np.nan)
    if series.medians_s is not None and series.medians_s.size == ranks:
        found[:] = series.medians_s / float(np.median(series.operations)) / 2
    elif series.counted.any():
        counted = (series.elapsed_s / series.operations / 2)[:, series.counted]
        found[series.ranks_kept] = np.median(counted, axis=1)
    found[found <= 0] = np.nan
    return found


def host_groups(hosts: list[str], ranks: int, topology: Topology | None) -> list[Attribute]:
    """Return the groups of the topology, level by level from the switches up, and the rails."""
    if len(hosts) != ranks:
        return []
    labels: list[tuple[str, list[str]]] = []
    if topology is not None:
        known = HostNames(topology.group_of)
        ways = [
            list(topology.way_up(topology.group_of[called]))[:-1] if (called := known.find(host)) else []
            for host in hosts
        ]
        for level in range(max(map(len, ways), default=0)):
            name = "switch" if level == 0 else "group of switches" + (f", level {level}" if level > 1 else "")
            labels.append((name, [way[level].name if level < len(way) else "" for way in ways]))
    numbers: dict[str, int] = defaultdict(int)
    rails = []
    for host in hosts:
        rails.append(f"{RAIL} {numbers[host]}")
        numbers[host] += 1
    if len(set(numbers.values())) == 1 and 1 < len(set(rails)) < ranks:
        labels.append((RAIL, rails))
    attributes = []
    for name, each in labels:
        groups = sorted(set(each) - {""})
        numbered = {group: number for number, group in enumerate(groups)}
        attributes.append(
            Attribute(name=name, groups=groups, of=[numbered.get(place, -1) for place in each], chance=0.0)
        )
    return [attribute for attribute in attributes if len(attribute.groups) > 1]


def _with_slow(attribute: Attribute, localisation: Localisation, pairs: Pairs, rounds: int) -> Attribute:
    usual = int(np.median(np.bincount([number for number in attribute.of if number >= 0])))
    slow, slow_between = (
        [_slow(location, attribute.groups) for location in found.get(attribute.name, [])]
        for found in (localisation.groups, localisation.paths)
    )
    return attribute.model_copy(
        update={
            "slow": slow,
            "slow_between": slow_between,
            "between": between_groups(pairs, np.array(attribute.of, np.int64)),
            "chance": chance_of_path(pairs.count, rounds, usual, usual),
        }
    )


def _slow(location: Found, names: list[str]) -> Slow:
    return Slow(members=[names[member] for member in location.members], excess=location.excess)
