"""More processes than processors."""

from __future__ import annotations

from collections import Counter

from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context, one_of_each_case
from scope.findings.settings import setting
from scope.samples.records import LaunchRecord


def find(context: Context) -> list[Finding]:
    """Find launches with more processes on a host than processors that they may use; one finding per host."""
    crowded: dict[str, list[LaunchRecord]] = {}
    for launch in context.samples.launches:
        for host, processes in Counter(p.host for p in launch.processes).items():
            room = context.usable(host)
            if room is not None and processes > room:
                crowded.setdefault(host, []).append(launch)
    return [_finding(context, host, launches) for host, launches in crowded.items()]


def _finding(context: Context, host: str, launches: list[LaunchRecord]) -> Finding:
    most = max(launches, key=lambda launch: sum(p.host == host for p in launch.processes))
    processes = sum(p.host == host for p in most.processes)
    room = context.usable(host) or 0
    numbers = {launch.launch for launch in launches}
    ran = [one for one in context.samples.cases if one.launch in numbers]
    cases = {one.key for one in ran}
    everything = len(one_of_each_case(context.summaries))
    return Finding(
        code="oversubscription",
        about="measurement",
        severity="warning",
        title=f"{processes} processes shared {room} processors of {host} in {len(cases)} of {everything} cases",
        where={
            "host": host,
            "ranks": most.ranks,
            "benchmarks": ", ".join(sorted({one.case.benchmark for one in ran})),
        },
        evidence=[
            Evidence(what=f"processes on {host}", value=processes),
            Evidence(what=f"processors usable on {host}", value=room),
        ],
        advice=(
            "Their times include waiting for a processor and say little about the machine. Use at most "
            f"{room} ranks on {host}; {setting(context.mpi, 'waiting')}."
        ),
    )
