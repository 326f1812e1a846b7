"""Processes were not held where they were wanted."""

from __future__ import annotations

from collections import Counter

from scope.findings.context import Context
from scope.findings.finding import Evidence, Finding
from scope.findings.oversubscription import crowded, usable
from scope.samples.records import LaunchRecord


def find(context: Context) -> list[Finding]:
    """Find launches whose processes were to be bound but may move, were not bound, or share a processor."""
    crowds = crowded(context)
    free = [
        launch
        for launch in context.samples.launches
        if (launch.ranks, launch.transport, launch.placement) not in crowds
        # A host with one processor binds by itself.
        and all((usable(context, p.host) or 2) > 1 for p in launch.processes)
    ]
    ignored = [launch for launch in free if launch.placement == "core" and _loose(launch)]
    unbound = [launch for launch in free if launch.placement == "none" and _loose(launch)]
    stacked = [launch for launch in free if _stacked(launch)]
    found = []
    if stacked:
        found.append(_stacked_finding(stacked))
    if ignored:
        found.append(_loose_finding("no-pinning", "warning", "were to be bound to cores, but may move", ignored))
    if unbound:
        found.append(_loose_finding("no-pinning", "advice", "were not bound and may move", unbound))
    return found


def _loose(launch: LaunchRecord) -> bool:
    return any(len(process.cores) > 1 for process in launch.processes)


def _stacked(launch: LaunchRecord) -> list[tuple[str, int]]:
    """Return (host, processor) of the processors to which several processes are bound."""
    places = Counter((p.host, p.cores[0]) for p in launch.processes if len(p.cores) == 1)
    return [place for place, processes in places.items() if processes > 1]


def _loose_finding(code: str, severity: str, what: str, launches: list[LaunchRecord]) -> Finding:
    launch = launches[0]
    process = max(launch.processes, key=lambda p: len(p.cores))
    return Finding.model_validate(
        {
            "code": code,
            "severity": severity,
            "title": f"Processes of {len(launches)} launches {what} between {len(process.cores)} processors",
            "where": {"host": process.host, "ranks": launch.ranks, "launch": launch.launch},
            "evidence": [
                Evidence(
                    what=f"processors of rank {process.rank} in launch {launch.launch}", value=len(process.cores)
                )
            ],
            "advice": "Bind them: `scope run --binding core` (mpiexec --bind-to core). Where the site forbids it, "
            "more launches (`--launches`) show what it costs.",
        }
    )


def _stacked_finding(launches: list[LaunchRecord]) -> Finding:
    host, core = _stacked(launches[0])[0]
    ranks = [p.rank for p in launches[0].processes if p.host == host and p.cores == [core]]
    return Finding(
        code="shared-processor",
        severity="warning",
        title=f"Ranks {', '.join(map(str, ranks))} were all bound to processor {core} of {host}",
        where={"host": host, "ranks": launches[0].ranks, "launch": launches[0].launch},
        evidence=[Evidence(what=f"processes on processor {core} of {host}", value=len(ranks))],
        advice=(
            "Their messages wait for the scheduler (multiples of some milliseconds). Several launchers count from "
            "processor 0 on every host: use `scope run --binding none`, or bind by hand."
        ),
    )
