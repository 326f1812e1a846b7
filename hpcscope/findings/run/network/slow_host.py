"""Hosts that are slower than their peers: one or several, in all launches or in some."""

from __future__ import annotations

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
SMALLEST_LOSS = 0.03
THRESHOLD = 3.5
"""Robust z score (Iglewicz & Hoaglin 1993, How to Detect and Handle Outliers, sec. 3)."""
LAUNCH_THRESHOLD = 7.0
"""The same of a host in one launch: of hundreds, some are far out by chance."""
LEAST_SPREAD = 0.01
"""Hosts that agree to this share are equal; a smaller spread is not used."""
SMALLEST_GAP, WIDE = 0.05, 3.0
"""Two groups of hosts are so far apart, and so many times the width of either."""
FEWEST_FAST = 1 / 3
"""Share of the hosts that must be as fast as one another to be the standard of the others."""
FEWEST_SLOW_LAUNCHES = 2
"""Launches in which a host is slow, where it is not in all; and at least a third of them."""
CAUSE = "hosts slower than their peers"


@dataclass(frozen=True)
class HostComparison:
    """One host beside its peers, over all launches."""

    host: str
    excess: float
    """Logarithm of its time over that of the typical host: the median over the launches in which it is slow."""
    score: float
    """Robust z score of the host; in some launches only, the least of those."""
    slow_launches: int
    """0: it is not slow."""
    launches: int
    peers: int
    """Hosts that are not slow."""

    @property
    def lost(self) -> float:
        """The share of the time of a job on all hosts, of all launches, that waits for it."""
        return (1 - exp(-self.excess)) * self.slow_launches / self.launches


def find(run: Run) -> list[Finding]:
    """Find hosts whose own work certainly takes longer than that of hosts of the same kind."""
    return [
        _finding(run, comparison)
        for group in _equals(run)
        for comparison in compare(_excesses(run, group), group)
        if comparison.slow_launches
    ]


def compare(excesses: list[dict[str, float]], group: list[str]) -> list[HostComparison]:
    """Compare the hosts of a group, given for each launch each host's log excess over the typical host."""
    if not excesses or len(group) < FEWEST_EQUALS:
        return []
    table = np.array([[launch[host] for host in group] for launch in excesses])
    standard = _standard(np.median(table, axis=0))
    table = table - np.median(table[:, standard], axis=1, keepdims=True)
    typical = np.median(table, axis=0)
    among_hosts = _spread(typical[standard])
    among_launches = _spread((table - typical)[:, standard])
    scores = table / np.hypot(among_hosts, among_launches)
    slow = (scores > LAUNCH_THRESHOLD) & (table > SMALLEST_LOSS)
    fewest = max(FEWEST_SLOW_LAUNCHES, len(excesses) / 3)
    found = []
    for i, host in enumerate(group):
        steady = typical[i] / among_hosts > THRESHOLD and 1 - exp(-typical[i]) > SMALLEST_LOSS
        if steady and np.count_nonzero(table[:, i] > 0) >= len(excesses) - len(excesses) // 6:
            found.append((host, float(typical[i]), float(typical[i]) / among_hosts, len(excesses)))
        elif np.count_nonzero(slow[:, i]) >= fewest:
            launches = slow[:, i]
            excess, score = np.median(table[launches, i]), scores[launches, i].min()
            found.append((host, float(excess), float(score), int(np.count_nonzero(launches))))
        else:
            found.append((host, float(typical[i]), float(typical[i]) / among_hosts, 0))
    peers = sum(not launches for *_, launches in found)
    return [HostComparison(*one, launches=len(excesses), peers=peers) for one in found]


def _standard(typical: Floats) -> Integers:
    """Return the hosts that the others are held against: all, or the faster of two groups that lie far apart.

    Where many hosts are slow the middle of all is one of them, or between the groups.
    """
    order = np.argsort(typical)
    ordered = typical[order]
    split = int(np.argmax(np.diff(ordered))) + 1
    fast, slow = ordered[:split], ordered[split:]
    widest = max(float(np.ptp(fast)), float(np.ptp(slow)), LEAST_SPREAD)
    apart = slow[0] - fast[-1] > max(SMALLEST_GAP, WIDE * widest)
    return order[:split] if apart and split >= max(2, FEWEST_FAST * typical.size) else order


def _spread(values: Floats) -> float:
    """Return the robust standard deviation (MAD) about the median."""
    return max(1.4826 * float(np.median(np.abs(values - np.median(values)))), LEAST_SPREAD)


def _equals(run: Run) -> list[list[str]]:
    """Group the hosts with equal processors and memory."""
    groups: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for host in run.machine.hosts:
        p = host.processor
        kind = (p.model, p.sockets, p.cores, p.threads, len(p.usable), round(log(max(host.memory_bytes, 1)), 1))
        groups[kind].append(host.name)
    return [group for group in groups.values() if len(group) >= FEWEST_EQUALS]


def _excesses(run: Run, group: list[str]) -> list[dict[str, float]]:
    """Return for each launch on all hosts of the group the log excess of each, the median over its cases."""
    short = {host.split(".")[0]: host for host in group}
    places = {
        (launch.launch, launch.attempt): {p.rank: short.get(p.host.split(".")[0], "") for p in launch.processes}
        for launch in run.raw_samples.launches
    }
    launches: dict[tuple[int, int], list[dict[str, float]]] = defaultdict(list)
    for one in run.raw_samples.cases:
        key = (one.launch, one.attempt)
        for times, values in _own_work(run, one):
            hosts = _time_per_host(times, values, places.get(key, {}))
            if set(hosts) >= set(group):
                middle = float(np.median([hosts[host] for host in group]))
                launches[key].append({host: log(hosts[host] / middle) for host in group})
    return [
        {host: float(np.median([case[host] for case in cases])) for host in group} for cases in launches.values()
    ]


def _own_work(run: Run, one: CaseSamples) -> list[tuple[Times, Floats]]:
    """Return the local work of each rank: node benchmarks, and the computing phase of programs.

    The time of an exchange says nothing about the host that waits.
    """
    if not one.ok:
        return []
    own: list[tuple[Times, Floats]] = []
    for times in one.times:
        if run.benchmark(one.case).level == "node" and times.cadence == "isolated":
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
    facts = run.host(comparison.host)
    slower = exp(comparison.excess) - 1
    often = f"{comparison.slow_launches} of {comparison.launches} launches"
    when = "" if comparison.slow_launches == comparison.launches else f"In {often} "
    return Finding(
        code="slow-host",
        cause=CAUSE,
        severity="warning",
        title=(
            f"{when}{comparison.host} takes {units.share(slower)} longer for the same work than the other "
            f"{comparison.peers} hosts of its kind"
        ),
        where={"host": comparison.host, "layer": "node"},
        evidence=[
            Evidence(what=f"{comparison.host}: excess over the typical host, median over launches", value=slower),
            Evidence(what=f"{comparison.host}: robust z score among its peers", value=comparison.score),
            Evidence(what=f"{comparison.host}: slow launches", value=often),
            *(
                [
                    Evidence(what=f"governor of {facts.name}", value=facts.governor or "not shown"),
                    Evidence(what=f"load of {facts.name} before the run", value=facts.load),
                ]
                if facts
                else []
            ),
        ],
        advice=(
            f"Check {comparison.host} for other processes (`top`), throttling (`dmesg`, temperatures), the "
            "governor, the installed memory (`dmidecode -t memory`) and firmware settings; a job on all hosts "
            f"loses {units.share(comparison.lost)} of its computing time waiting for it."
        ),
        lost=comparison.lost,
    )
