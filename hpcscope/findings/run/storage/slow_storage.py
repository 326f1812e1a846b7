"""Some ranks take far longer for the same amount of data: a slow client, or a slow server of some files."""

from dataclasses import dataclass

import numpy as np

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.storage.file_cases import rates, where
from hpcscope.samples.samples import CaseSamples, Floats
from hpcscope.statistics.summary import Summary

FACTOR = 2.0
"""A rank that takes longer than this multiple of the typical rank's time is slow."""
FEWEST_RANKS, FEWEST_LAUNCHES = 4, 3
MOST_SLOW = 0.5
"""Largest fraction of the ranks that may be slow; with more slow ranks, the others are fast instead."""


@dataclass(frozen=True)
class UnevenClients:
    """A case in which some ranks are slow."""

    summary: Summary
    factors: Floats
    """Each rank's time over the typical rank's time, shape (launches, ranks)."""
    hosts: list[str]
    """Host of each rank."""

    @property
    def slow_hosts(self) -> list[str]:
        """The hosts whose ranks are all slow in every launch."""
        always = np.all(self.factors > FACTOR, axis=0).tolist()
        fast = {host for host, slow in zip(self.hosts, always, strict=True) if not slow}
        slow = [host for host in dict.fromkeys(self.hosts) if host not in fast]
        return slow if len(slow) < len(set(self.hosts)) else []

    @property
    def worst(self) -> float:
        """The factor of the slowest rank: the median over the launches."""
        return float(np.median(self.factors.max(axis=1)))


def find(run: Run) -> list[Finding]:
    """Find the most uneven case whose ranks have their own processors; a case with slow hosts comes first."""
    cases = run.raw_samples.by_case()
    clients = [
        uneven
        for case in rates(run)
        if not run.shares_processors(case)
        and (uneven := _uneven(case, cases.get(case.samples_key, []), run)) is not None
    ]
    worst = sorted(clients, key=lambda uneven: (bool(uneven.slow_hosts), uneven.worst))[-1:]
    return [_finding(run, uneven) for uneven in worst]


def _uneven(case: Summary, launches: list[CaseSamples], run: Run) -> UnevenClients | None:
    rows = [times for launch in launches if launch.ok for times in launch.times if times.counted.any()]
    alike = [times for times in rows if times.elapsed_s.shape[0] == case.ranks]
    if case.ranks < FEWEST_RANKS or len(alike) < max(FEWEST_LAUNCHES, len(launches)):
        return None
    medians = np.array([np.median(times.elapsed_s[:, times.counted], axis=1) for times in alike])
    factors = medians / np.median(medians, axis=1, keepdims=True)
    slow = factors > FACTOR
    hosts = run.measurements.hosts(case)
    if not slow.any(axis=1).all() or slow.mean() > MOST_SLOW or len(hosts) != case.ranks:
        return None
    return UnevenClients(case, factors, hosts)


def _finding(run: Run, uneven: UnevenClients) -> Finding:
    case, hosts = uneven.summary, uneven.slow_hosts
    times = f"{units.digits(uneven.worst)} times as long as the typical rank"
    if hosts:
        title = f"{case.label}: in every launch, ranks on {', '.join(hosts)} take {times} (a slow client)"
        advice = "Compare the network, mount options and load of the slow client with the other hosts."
    else:
        title = (
            f"{case.label}: in every launch, some ranks, not on a single host, take {times} (maybe a slow server)"
        )
        advice = (
            "On a parallel file system, check the load and the disks of the servers. One slow server slows every "
            "file striped over all servers, and every rank's own file on this server. "
            "On a local disk, the ranks of a host compete for the disk: check how ranks are bound to cores."
        )
    return Finding(
        code="slow-storage-client" if hosts else "slow-storage-server",
        severity="warning",
        title=title,
        where={**where(case), **({"host": ", ".join(hosts)} if hosts else {})},
        evidence=[*run.evidence(case), Evidence(what="time of the slowest / typical rank", value=uneven.worst)],
        advice=advice,
        lost=1 - 1 / uneven.worst,
    )
