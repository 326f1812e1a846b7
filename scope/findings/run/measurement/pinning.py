"""Processes were not held where they were wanted."""

from __future__ import annotations

from collections import Counter

from scope.findings.finding import Evidence, Finding, Severity
from scope.findings.run.context import Context
from scope.findings.run.measurement.oversubscription import crowded, usable
from scope.samples.records import LaunchRecord


def find(context: Context) -> list[Finding]:
    """Find launches whose processes were to be bound but may move, were not bound, or share a processor."""
    if context.machine.lab is not None:
        return []  # all its hosts share these processors: nothing is to be bound
    crowds = crowded(context)
    free = [
        launch
        for launch in context.samples.launches
        if (launch.ranks, launch.transport, launch.placement) not in crowds
        # A host with one processor binds by itself.
        and all((usable(context, p.host) or 2) > 1 for p in launch.processes)
    ]
    ignored = [launch for launch in free if launch.placement == "core" and _loose(context, launch)]
    unbound = [launch for launch in free if launch.placement == "none" and _loose(context, launch)]
    stacked = [launch for launch in free if _stacked(context, launch)]
    found = []
    if stacked:
        found.append(_stacked_finding(context, stacked))
    if ignored:
        found.append(_loose_finding("warning", "were to be bound to cores, but may move", ignored))
    if unbound:
        found.append(_loose_finding("advice", "were not bound and may move", unbound))
    return found


def _threads_of_a_core(context: Context, host: str) -> int:
    """Return how many processors one core shows: a process bound to a core may use all of them."""
    facts = context.host(host)
    return max(facts.processor.threads // max(facts.processor.cores, 1), 1) if facts else 1


def _loose(context: Context, launch: LaunchRecord) -> bool:
    return any(len(p.cores) > _threads_of_a_core(context, p.host) for p in launch.processes)


def _stacked(context: Context, launch: LaunchRecord) -> list[tuple[str, tuple[int, ...]]]:
    """Return (host, processors) of the cores to which several processes are bound."""
    places = Counter(
        (p.host, tuple(p.cores))
        for p in launch.processes
        if 0 < len(p.cores) <= _threads_of_a_core(context, p.host)
    )
    return [(host, cores) for (host, cores), processes in places.items() if processes > len(cores)]


def _loose_finding(severity: Severity, what: str, launches: list[LaunchRecord]) -> Finding:
    launch = launches[0]
    process = max(launch.processes, key=lambda p: len(p.cores))
    return Finding(
        code="no-pinning",
        severity=severity,
        title=f"Processes of {len(launches)} launches {what} between {len(process.cores)} processors",
        where={"host": process.host, "ranks": launch.ranks, "launch": launch.launch},
        evidence=[
            Evidence(what=f"processors of rank {process.rank} in launch {launch.launch}", value=len(process.cores))
        ],
        advice=(
            "Bind them: `scope run --binding core` (mpiexec --bind-to core). Where the site forbids it, more "
            "launches (`--launches`) show what it costs."
        ),
    )


def _stacked_finding(context: Context, launches: list[LaunchRecord]) -> Finding:
    host, cores = _stacked(context, launches[0])[0]
    ranks = [p.rank for p in launches[0].processes if p.host == host and tuple(p.cores) == cores]
    where = f"processor {', '.join(map(str, cores))} of {host}"
    return Finding(
        code="shared-processor",
        severity="warning",
        title=f"Ranks {', '.join(map(str, ranks))} were all bound to {where}",
        where={"host": host, "ranks": launches[0].ranks, "launch": launches[0].launch},
        evidence=[Evidence(what=f"processes on {where}", value=len(ranks))],
        advice=(
            "Their messages wait for the scheduler (multiples of some milliseconds). Several launchers count from "
            "processor 0 on every host: use `scope run --binding none`, or bind by hand."
        ),
    )
