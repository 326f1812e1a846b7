"""More processes than processors."""

from __future__ import annotations

from collections import Counter

from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context, one_of_each_case
from scope.findings.settings import setting
from scope.models.fitting import oversubscription as crowding
from scope.samples.records import LaunchRecord


def find(context: Context) -> list[Finding]:
    """Find launches that put more processes on a host than it lets them use processors; one finding per host."""
    crowds: dict[str, list[LaunchRecord]] = {}
    for launch in context.samples.launches:
        for host, processes in Counter(p.host for p in launch.processes).items():
            room = usable(context, host)
            if room is not None and processes > room:
                crowds.setdefault(host, []).append(launch)
    return [_finding(context, host, launches) for host, launches in crowds.items()]


def usable(context: Context, host: str) -> float | None:
    """Return how many processors the run may use on a host; None where the host is not known."""
    return crowding.usable(context.machine, host)


def crowded(context: Context) -> set[tuple[int, str, str]]:
    """Return (ranks, transport, placement) of the launches with more processes than processors somewhere."""
    return crowding.crowded(context.machine, context.samples.launches)


def _finding(context: Context, host: str, launches: list[LaunchRecord]) -> Finding:
    most = max(launches, key=lambda launch: sum(p.host == host for p in launch.processes))
    processes = sum(p.host == host for p in most.processes)
    room = usable(context, host) or 0
    numbers = {launch.launch for launch in launches}
    ran = {case.identity for case in context.samples.cases if case.launch in numbers}
    names = sorted({case.benchmark for case in context.samples.cases if case.launch in numbers})
    everything = len(one_of_each_case(context.summaries))
    return Finding(
        code="oversubscription",
        severity="warning",
        title=f"{processes} processes shared {room:g} processors of {host} in {len(ran)} of {everything} cases",
        where={"host": host, "ranks": most.ranks, "benchmarks": ", ".join(names)},
        evidence=[
            Evidence(what=f"processes on {host}", value=processes),
            Evidence(what=f"processors usable on {host}", value=room),
        ],
        advice=(
            f"Their times are those of waiting for a processor, not of the machine: read them as such, or use at "
            f"most {room:g} ranks on {host}; {setting(context.mpi, 'waiting')}."
        ),
    )
