"""One host is slower than its peers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import exp, log

import numpy as np

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context
from scope.samples.samples import CaseSamples, Floats, Times

FEWEST_EQUALS = 4
"""Among fewer hosts an outlier cannot be identified."""
SMALLEST_LOSS = 0.03
THRESHOLD = 3.5
"""Robust z score (Iglewicz & Hoaglin 1993, How to Detect and Handle Outliers, sec. 3)."""
LEAST_SPREAD = 0.01
"""Hosts that agree to this share are equal; a smaller spread is not used."""


@dataclass(frozen=True)
class Comparison:
    """One host beside its peers, over all launches."""

    host: str
    excess: float
    """Logarithm of its time over that of the typical host: the median over the launches."""
    score: float
    always: bool
    """Whether it was slower than the typical host in every launch."""
    launches: int
    group: list[str]


def find(context: Context) -> list[Finding]:
    """Find hosts whose own work certainly takes longer than that of hosts of the same kind."""
    found = []
    for group in _equals(context):
        for comparison in compare(_excesses(context, group), group):
            lost = 1 - exp(-comparison.excess)
            if comparison.score > THRESHOLD and comparison.always and lost > SMALLEST_LOSS:
                found.append(_finding(context, comparison, lost))
    return found


def compare(excesses: list[dict[str, float]], group: list[str]) -> list[Comparison]:
    """Compare the hosts of a group, given for each launch each host's log excess over the typical host."""
    if not excesses or len(group) < FEWEST_EQUALS:
        return []
    table = np.array([[launch[host] for host in group] for launch in excesses])
    typical = np.median(table, axis=0)
    deviation = typical - np.median(typical)
    spread = max(1.4826 * float(np.median(np.abs(deviation))), LEAST_SPREAD)
    return [
        Comparison(
            host=host,
            excess=float(typical[i]),
            score=float(deviation[i]) / spread,
            always=bool((table[:, i] > 0).all()),
            launches=len(excesses),
            group=group,
        )
        for i, host in enumerate(group)
    ]


def _equals(context: Context) -> list[list[str]]:
    """Group the hosts with equal processors and memory."""
    groups: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for host in context.machine.hosts:
        p = host.processor
        kind = (p.model, p.sockets, p.cores, p.threads, len(p.usable), round(log(max(host.memory_bytes, 1)), 1))
        groups[kind].append(host.name)
    return [group for group in groups.values() if len(group) >= FEWEST_EQUALS]


def _excesses(context: Context, group: list[str]) -> list[dict[str, float]]:
    """Return for each launch on all hosts of the group the log excess of each, the median over its cases."""
    short = {host.split(".")[0]: host for host in group}
    places = {
        (launch.launch, launch.attempt): {p.rank: short.get(p.host.split(".")[0], "") for p in launch.processes}
        for launch in context.samples.launches
    }
    launches: dict[tuple[int, int], list[dict[str, float]]] = defaultdict(list)
    for one in context.samples.cases:
        key = (one.launch, one.attempt)
        for times, values in _own_work(context, one):
            hosts = _time_per_host(times, values, places.get(key, {}))
            if set(hosts) >= set(group):
                middle = float(np.median([hosts[host] for host in group]))
                launches[key].append({host: log(hosts[host] / middle) for host in group})
    return [
        {host: float(np.median([case[host] for case in cases])) for host in group} for cases in launches.values()
    ]


def _own_work(context: Context, one: CaseSamples) -> list[tuple[Times, Floats]]:
    """Return the local work of each rank: node benchmarks, and the computing phase of programs.

    The time of an exchange says nothing about the host that waits.
    """
    if not one.ok:
        return []
    own: list[tuple[Times, Floats]] = []
    for times in one.times:
        if context.benchmark(one.case).level == "node" and times.cadence == "isolated":
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


def _finding(context: Context, comparison: Comparison, lost: float) -> Finding:
    facts = context.host(comparison.host)
    slower = exp(comparison.excess) - 1
    return Finding(
        code="slow-host",
        severity="warning",
        title=(
            f"{comparison.host} takes {units.share(slower)} longer for the same work than the other "
            f"{len(comparison.group) - 1} hosts of its kind"
        ),
        where={"host": comparison.host, "layer": "node"},
        evidence=[
            Evidence(what="excess over the typical host, median over launches", value=slower),
            Evidence(what="robust z score among its peers", value=comparison.score),
            Evidence(what="launches in which it was slower", value=comparison.launches),
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
            f"loses {units.share(lost)} of its computing time waiting for it."
        ),
        lost=lost,
    )
