"""Hosts that are slower than their peers: one or several hosts, in all launches or in some."""

from collections import defaultdict
from dataclasses import dataclass
from math import exp, log

import numpy as np

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.samples.samples import CaseSamples, Floats, Integers, Times

FEWEST_EQUALS = 4
"""Among fewer hosts an outlier cannot be identified."""
FEWEST_LAUNCHES = 3
SMALLEST_LOSS = 0.03
LEVEL = 0.01
"""False-alarm rate: fraction of healthy clusters of equal hosts in which some host is called slow."""
THRESHOLD = 5.0
"""A slow host's excess is at least this many standard deviations of equal hosts."""
NATURAL = 1.5
"""Hosts differ by nature if their means scatter by more than this multiple of what the launch noise explains."""
LEAST_SPREAD = 0.01
"""Hosts that agree within this fraction are equal; a smaller spread is not used."""
SMALLEST_GAP, WIDE = 0.05, 3.0
"""Least distance between two groups of hosts, and least ratio of this distance to the wider group's width."""
FEWEST_FAST = 1 / 3
"""Least fraction of the hosts in the fast group for it to be the standard of the others."""
CLEAR = 5.0
"""Slow launches are counted if their excess is more than this multiple of the launch noise."""
CELLS = 1024
"""Number of cells of the grid on which sums of excesses are computed."""
CAUSE = "hosts slower than their peers"


@dataclass(frozen=True)
class HostComparison:
    """One host compared with its peers, over all launches."""

    host: str
    excess: float
    """Logarithm of its time over the typical host's time: the median over the launches in which it is slow."""
    chance: float
    """Probability that some host of a healthy cluster has a mean excess this large; at most 1."""
    slow_launches: int
    """Launches in which the host is slow; 0 if it is not a slow host."""
    launches: int
    peers: int
    """Number of hosts that are not slow."""

    @property
    def lost(self) -> float:
        """Fraction of the time of a job on all hosts, averaged over all launches, spent waiting for this host."""
        return (1 - exp(-self.excess)) * self.slow_launches / self.launches


def find(run: Run) -> list[Finding]:
    """Find hosts whose own work takes significantly longer than on other hosts of the same kind."""
    return [
        _finding(run, comparison)
        for group in _equals(run)
        for comparison in compare(_excesses(run, group), group)
        if comparison.slow_launches
    ]


def compare(excesses: list[dict[str, float]], group: list[str]) -> list[HostComparison]:
    """Compare the hosts of a group, given each host's log excess over the typical host in each launch."""
    if len(excesses) < FEWEST_LAUNCHES or len(group) < FEWEST_EQUALS:
        return []
    table = np.array([[launch[host] for host in group] for launch in excesses])
    standard = _standard(np.median(table, axis=0))
    table = table - np.median(table[:, standard], axis=1, keepdims=True)
    means = table.mean(axis=0)
    typical = float(np.median(means[standard]))
    # One slow launch may be chance: the excess must remain without the slowest launch.
    lasting = (table.sum(axis=0) - table.max(axis=0)) / (len(table) - 1) - typical
    found = {place: (float(means[place]) - typical, 1.0, 0) for place in range(len(group))}
    # Slowest first, so that a host that is found slow does not hide the next one.
    for place in np.argsort(-means).tolist():
        if lasting[place] > -log(1 - SMALLEST_LOSS):
            found[place] = _judged(table, place, standard[standard != place], float(lasting[place]))
            standard = standard[(standard != place) | (found[place][2] == 0)]
    peers = sum(not launches for *_, launches in found.values())
    return [HostComparison(host, *found[i], launches=len(excesses), peers=peers) for i, host in enumerate(group)]


def _judged(table: Floats, place: int, others: Integers, lasting: float) -> tuple[float, float, int]:
    """Return the excess of a host, the chance of its mean excess, and in how many launches it is slow.

    The chance is from a permutation test (Edgington & Onghena 2007, Randomization Tests, ch. 3): in each launch
    any equal host may be as slow as this one. It is valid for any scatter, even if all hosts are slow at times.
    Hosts that differ by nature are not exchangeable: the excess must be large compared with this spread, too.
    """
    launches, hosts = table.shape
    own, peers = table[:, place], table[:, others]
    means = np.sort(peers.mean(axis=0))
    excess = float(own.mean() - np.median(means))
    noise = float(peers.var(axis=0, ddof=1).mean()) ** 0.5
    # Without the slowest sixth of the peers, which may be slow, too.
    nature = float(np.std(means[: means.size - means.size // 6], ddof=min(1, means.size - 1)))
    if nature > NATURAL * noise / launches**0.5 and lasting < THRESHOLD * nature:
        return excess, 1.0, 0
    chance = min(hosts * _chance_of_sum(np.column_stack([own, peers])), 1.0)
    if chance > LEVEL:
        return excess, chance, 0
    highest = float(np.sort(own)[-(launches // 3) :].mean())
    slow = own > highest / 2 if highest > CLEAR * noise else np.ones(launches, dtype=np.bool_)
    return float(np.median(own[slow])), chance, int(np.count_nonzero(slow))


def _chance_of_sum(table: Floats) -> float:
    """Return the probability that values drawn one from each row sum to at least the sum of the first column."""
    step = max(float(np.ptp(table)), LEAST_SPREAD) / CELLS
    cells = np.round((table - table.min()) / step).astype(np.int64)
    length = 1 << (len(table) * (CELLS + 1)).bit_length()
    each = [np.fft.rfft(np.bincount(row) / row.size, length) for row in cells]
    return max(float(np.fft.irfft(np.prod(each, axis=0), length)[cells[:, 0].sum() :].sum()), 0.0)


def _standard(typical: Floats) -> Integers:
    """Return the hosts that the others are compared with: all, or the faster of two groups that are far apart.

    If many hosts are slow, the median of all hosts is a slow host or between the groups.
    """
    order = np.argsort(typical)
    ordered = typical[order]
    split = int(np.argmax(np.diff(ordered))) + 1
    fast, slow = ordered[:split], ordered[split:]
    widest = max(float(np.ptp(fast)), float(np.ptp(slow)), LEAST_SPREAD)
    apart = slow[0] - fast[-1] > max(SMALLEST_GAP, WIDE * widest)
    return order[:split] if apart and split >= max(2, FEWEST_FAST * typical.size) else order


def _equals(run: Run) -> list[list[str]]:
    """Group the hosts with equal processors and memory."""
    groups: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for host in run.machine.hosts:
        p = host.processor
        kind = (p.model, p.sockets, p.cores, p.threads, len(p.usable), round(log(max(host.memory_bytes, 1)), 1))
        groups[kind].append(host.name)
    return [group for group in groups.values() if len(group) >= FEWEST_EQUALS]


def _excesses(run: Run, group: list[str]) -> list[dict[str, float]]:
    """Return for each launch on all hosts of the group each host's log excess, the median over its cases."""
    places = {
        (launch.launch, launch.attempt): {
            p.rank: facts.name if (facts := run.host(p.host)) and facts.name in group else ""
            for p in launch.processes
        }
        for launch in run.raw_samples.launches
    }
    launches: dict[tuple[int, int], list[dict[str, float]]] = defaultdict(list)
    for samples in run.raw_samples.cases:
        key = (samples.launch, samples.attempt)
        for times, values in _own_work(run, samples):
            hosts = _time_per_host(times, values, places.get(key, {}))
            if set(hosts) >= set(group):
                middle = float(np.median([hosts[host] for host in group]))
                launches[key].append({host: log(hosts[host] / middle) for host in group})
    return [
        {host: float(np.median([case[host] for case in cases])) for host in group} for cases in launches.values()
    ]


def _own_work(run: Run, samples: CaseSamples) -> list[tuple[Times, Floats]]:
    """Return the local work of each rank: node benchmarks, and the computing phase of programs.

    The time of an exchange says nothing about the host that is waiting.
    """
    if not samples.ok:
        return []
    own: list[tuple[Times, Floats]] = []
    for times in samples.times:
        if run.benchmark(samples.case).level == "node" and times.cadence == "isolated":
            own.append((times, times.elapsed_s / times.operations))
        if "compute_s" in times.observed:
            own.append((times, times.observed["compute_s"]))
    return own


def _time_per_host(times: Times, values: Floats, hosts: dict[int, str]) -> dict[str, float]:
    """Return the median over a host's ranks of their median times."""
    counted = values[:, times.counted]
    if not counted.size:
        return {}
    by_host: dict[str, list[float]] = defaultdict(list)
    for rank, typical in zip(times.ranks_kept.tolist(), np.median(counted, axis=1).tolist(), strict=True):
        if hosts.get(rank) and typical > 0:
            by_host[hosts[rank]].append(typical)
    return {host: float(np.median(medians)) for host, medians in by_host.items()}


def _finding(run: Run, comparison: HostComparison) -> Finding:
    facts = next(host for host in run.machine.hosts if host.name == comparison.host)
    slower = exp(comparison.excess) - 1
    often = f"{comparison.slow_launches} of {comparison.launches} launches"
    when = "" if comparison.slow_launches == comparison.launches else f"In {often} "
    return Finding(
        code="slow-host",
        cause=CAUSE,
        severity="warning",
        title=(
            f"{when}{comparison.host} takes {units.longer(slower)} the other {comparison.peers} hosts of its kind"
            " for the same work"
        ),
        where={"host": comparison.host, "layer": "node"},
        evidence=[
            Evidence(what=f"{comparison.host}: excess time over a typical host, median of launches", value=slower),
            Evidence(
                what=f"{comparison.host}: probability of this excess among equal hosts", value=comparison.chance
            ),
            Evidence(what=f"{comparison.host}: slow launches", value=often),
            Evidence(what=f"governor of {facts.name}", value=facts.governor or "not shown"),
            Evidence(what=f"load of {facts.name} before the run", value=facts.load),
        ],
        advice=(
            f"Check {comparison.host} for other processes (`top`), throttling (`dmesg`, temperatures), the "
            "governor, the installed memory (`dmidecode -t memory`) and firmware settings. A job on all hosts "
            f"loses {units.share(comparison.lost)} of its computing time because it waits for {comparison.host}."
        ),
        lost=comparison.lost,
    )
