"""The pair matrix of a cluster: the time of a message between every two ranks, and the outliers."""

import numpy as np

from hpcscope.catalog.benchmark import Pattern
from hpcscope.catalog.catalog import Catalog
from hpcscope.grouping import grouped
from hpcscope.models.communication.decomposition import FEWEST, FEWEST_LAUNCHES, Outlier, decompose
from hpcscope.models.communication.switch_latency import SwitchLatency, Wiring, switch_latency
from hpcscope.plan.case import Batch
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import Origin
from hpcscope.samples.samples import CaseSamples, Floats, Samples
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict

PATTERN: Pattern = "pair_matrix"
"""Its benchmarks have a message size, a `load`, and a `round`, in which ranks with i + j = round (mod p) meet."""

Kind = tuple[str, int, str, Batch, Origin]
"""Benchmark, message bytes, load, batch and origin of a matrix."""


class Slow(Strict):
    """A rank, a pair or a group of ranks whose messages take longer than the messages of its peers."""

    members: list[str]
    excess: Estimate
    """Relative excess of its time (0.1 is 10 %), with its interval over the launches."""


class PairMatrix(Strict):
    """The ping-pong of every pair of ranks, and its outliers."""

    benchmark: str
    message_bytes: int
    load: str
    """`isolated`: one pair at a time; `concurrent`: all pairs of a round at once."""
    transport: str
    placement: Placement
    origin: str
    names: list[str]
    """Names of the ranks, in order: their hosts, with the rank if a host has several."""
    time_s: list[list[float | None]]
    """One-way latency of each pair, the median over the launches; None if it was not measured."""
    launches: int
    slow_processes: list[Slow] = []
    slow_pairs: list[Slow] = []
    slow_between: Slow | None = None
    """The smaller of two groups between which messages are slower than inside them."""
    reason: str = ""
    """Why no outliers were searched for; empty if they were."""
    switches: SwitchLatency | None = None
    """None if no wiring is known, all pairs pass the same number of switches, or pairs may wait for each other."""


def pair_matrices(samples: Samples, catalog: Catalog, wiring: Wiring | None = None) -> list[PairMatrix]:
    """Return a matrix for each kind of round that was measured, in the order of the sizes."""
    kinds = grouped(visits_of(samples, catalog, PATTERN), lambda visit: _kind(visit, catalog))
    return [_matrix(kind, kinds[kind], hosts_of(kinds[kind][0], samples), wiring) for kind in sorted(kinds)]


def hosts_of(visit: CaseSamples, samples: Samples) -> list[str]:
    """Return the hosts of the launch of a visit, in the order in which it names its ranks; empty if not known."""
    launches = {(launch.launch, launch.attempt): launch for launch in samples.launches}
    launch = launches.get((visit.launch, visit.attempt))
    return [process.host for process in launch.processes] if launch else []


def visits_of(samples: Samples, catalog: Catalog, pattern: Pattern) -> list[CaseSamples]:
    """Return the visits with times to benchmarks of a pattern, without those that failed."""
    declared = {place.benchmark.name for place in catalog.standing(pattern)}
    return [visit for visit in samples.cases if visit.case.benchmark in declared and visit.ok and visit.times]


def half_round_trips(cases: list[CaseSamples], ranks: int) -> Floats:
    """Return each pair's one-way latency in each launch, in s, shape (launches, ranks, ranks); NaN if none.

    In round r the ranks i and j with i + j = r (mod p) are a pair, and both time it.
    """
    numbers = sorted({case.launch for case in cases})
    times_s = np.full((len(numbers), ranks, ranks), np.nan)
    for case in cases:
        series = next(times for times in case.times if times.cadence == "isolated")
        counted = (series.elapsed_s / series.operations / 2)[:, series.counted]
        if not counted.size:
            continue
        medians = np.median(counted, axis=1)
        for rank, median in zip(series.ranks_kept.tolist(), medians.tolist(), strict=True):
            partner = (int(case.case.parameters["round"]) - rank) % ranks
            if median > 0 and partner != rank:
                times_s[numbers.index(case.launch), rank, partner] = median
    with np.errstate(invalid="ignore"):
        both: Floats = np.fmax(times_s, times_s.transpose(0, 2, 1))
    return both


def _kind(samples: CaseSamples, catalog: Catalog) -> Kind:
    size = catalog.size(samples.case.benchmark, samples.case.parameters) or 0
    return samples.case.benchmark, size, str(samples.case.parameters["load"]), samples.case.batch, samples.origin


def _matrix(kind: Kind, cases: list[CaseSamples], hosts: list[str], wiring: Wiring | None) -> PairMatrix:
    benchmark, size, load, (ranks, transport, placement), origin = kind
    names = process_names(hosts, ranks)
    times_s = half_round_trips(cases, ranks)
    whole = times_s[~np.isnan(times_s[:, ~np.eye(ranks, dtype=bool)]).any(axis=1)]
    reason = ""
    if ranks < FEWEST:
        reason = f"{ranks} ranks; {FEWEST} are needed to distinguish a slow rank from slow pairs"
    elif len(whole) < FEWEST_LAUNCHES:
        reason = f"{len(whole)} launches have every pair; {FEWEST_LAUNCHES} are needed"
    decomposition = decompose(np.nan_to_num(whole))
    pairs = np.triu_indices(ranks, 1)

    def slow(outlier: Outlier) -> Slow:
        members = [names[member] for member in outlier.members]
        return Slow(members=members, excess=outlier.excess)

    return PairMatrix(
        benchmark=benchmark,
        message_bytes=size,
        load=load,
        transport=transport,
        placement=placement,
        origin=origin,
        names=names,
        time_s=_medians(times_s),
        launches=len(times_s),
        slow_processes=[slow(effect) for effect in decomposition.hosts],
        slow_pairs=[slow(effect) for effect in decomposition.pairs],
        slow_between=slow(decomposition.groups) if decomposition.groups else None,
        reason=reason,
        switches=switch_latency(times_s[:, *pairs], wiring.switches(hosts, *pairs))
        if wiring is not None and load == "isolated" and len(hosts) == ranks
        else None,
    )


def _medians(times_s: Floats) -> list[list[float | None]]:
    """Return the median over the launches that have the pair; None if no launch has it."""

    def median(values: Floats) -> float | None:
        measured = values[~np.isnan(values)]
        return float(np.median(measured)) if measured.size else None

    count = times_s.shape[1]
    return [[median(times_s[:, i, j]) for j in range(count)] for i in range(count)]


def process_names(hosts: list[str], ranks: int) -> list[str]:
    """Return the names of the ranks: their hosts, with the rank if a host has several."""
    if len(hosts) != ranks:
        return [f"rank {rank}" for rank in range(ranks)]
    if len(set(hosts)) == ranks:
        return hosts
    return [f"{host} rank {rank}" for rank, host in enumerate(hosts)]
