"""Ranks were not bound as requested, or share a processor."""

from collections import Counter

from hpcscope.findings.finding import Evidence, Finding, Severity
from hpcscope.findings.results import Run
from hpcscope.samples.records import LaunchRecord


def find(run: Run) -> list[Finding]:
    """Find launches whose ranks escaped the requested binding, were not to be bound, or share a processor."""
    if run.machine.lab is not None:
        return []  # all hosts of a lab share one machine's processors: there is nothing to bind
    free = [
        launch
        for launch in run.raw_samples.launches
        if launch.batch not in run.measurements.oversubscribed
        # On a host with one processor there is nothing to bind.
        and all((run.usable(p.host) or 2) > 1 for p in launch.processes)
    ]
    ignored = [launch for launch in free if str(launch.placement) == "core" and _loose(run, launch)]
    unbound = [launch for launch in free if str(launch.placement) == "none" and _loose(run, launch)]
    stacked = [launch for launch in free if _stacked(run, launch)]
    findings = []
    if stacked:
        findings.append(_stacked_finding(run, stacked))
    if ignored:
        findings.append(_loose_finding("warning", "should be bound to cores but may move", ignored))
    if unbound:
        findings.append(_loose_finding("advice", "were not bound and may move", unbound))
    return findings


def _threads_of_a_core(run: Run, host: str) -> int:
    """Return the hardware threads per core: a rank bound to a core may use all of them."""
    facts = run.host(host)
    return facts.processor.threads_per_core if facts else 1


def _loose(run: Run, launch: LaunchRecord) -> bool:
    return any(len(p.processors) > _threads_of_a_core(run, p.host) for p in launch.processes)


def _stacked(run: Run, launch: LaunchRecord) -> list[tuple[str, tuple[int, ...]]]:
    """Return (host, processors) of the cores to which several ranks are bound."""
    places = Counter(
        (p.host, tuple(p.processors))
        for p in launch.processes
        if 0 < len(p.processors) <= _threads_of_a_core(run, p.host)
    )
    return [(host, cores) for (host, cores), processes in places.items() if processes > len(cores)]


def _loose_finding(severity: Severity, what: str, launches: list[LaunchRecord]) -> Finding:
    launch = launches[0]
    process = max(launch.processes, key=lambda p: len(p.processors))
    return Finding(
        code="no-pinning",
        about="measurement",
        severity=severity,
        title=f"Ranks {what} between {len(process.processors)} processors (launches: {len(launches)})",
        where={"host": process.host, "ranks": launch.ranks, "launch": launch.launch},
        evidence=[
            Evidence(
                what=f"processors of rank {process.rank} in launch {launch.launch}", value=len(process.processors)
            )
        ],
        advice=(
            "Bind the ranks: `scope run --binding core` (mpiexec --bind-to core). If the site forbids binding, "
            "more launches (`--launches`) show how much the times change."
        ),
    )


def _stacked_finding(run: Run, launches: list[LaunchRecord]) -> Finding:
    host, cores = _stacked(run, launches[0])[0]
    ranks = [p.rank for p in launches[0].processes if p.host == host and tuple(p.processors) == cores]
    where = f"processor {', '.join(map(str, cores))} of {host}"
    return Finding(
        code="shared-processor",
        about="measurement",
        severity="warning",
        title=f"Ranks {', '.join(map(str, ranks))} were all bound to {where}",
        where={"host": host, "ranks": launches[0].ranks, "launch": launches[0].launch},
        evidence=[Evidence(what=f"ranks on {where}", value=len(ranks))],
        advice=(
            "Messages of these ranks wait milliseconds for the operating system's scheduler. Concurrent "
            "launchers all bind from processor 0 upward: use `scope run --binding none`, or bind explicitly."
        ),
    )
