"""More ranks than processors."""

from collections import Counter

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import one_of_each_case
from hpcscope.findings.settings import advised
from hpcscope.names import several
from hpcscope.samples.records import LaunchRecord


def find(run: Run) -> list[Finding]:
    """Find launches with more ranks on a host than usable processors; one finding for hosts with equal numbers."""
    crowded: dict[str, list[tuple[int, LaunchRecord]]] = {}
    for launch in run.raw_samples.launches:
        for host, processes in Counter(p.host for p in launch.processes).items():
            room = run.usable(host)
            if room is not None and processes > room:
                crowded.setdefault(host, []).append((processes, launch))
    alike: dict[tuple[int, int], list[str]] = {}
    for host, found in crowded.items():
        alike.setdefault((max(processes for processes, _ in found), run.usable(host) or 0), []).append(host)
    return [
        _finding(run, hosts, processes, room, [found for host in hosts for found in crowded[host]])
        for (processes, room), hosts in alike.items()
    ]


def _finding(
    run: Run, hosts: list[str], processes: int, room: int, found: list[tuple[int, LaunchRecord]]
) -> Finding:
    most = next(launch for count, launch in found if count == processes)
    launches = {launch.launch: launch for _, launch in found}.values()
    where = hosts[0] if len(hosts) == 1 else f"each of {len(hosts)} hosts"
    numbers = {launch.launch for launch in launches}
    ran = [case for case in run.raw_samples.cases if case.launch in numbers]
    cases = {case.key for case in ran}
    everything = len(one_of_each_case(run.statistics))
    how = advised(run, "waiting", ran[0].case if ran else None)
    return Finding(
        code="oversubscription",
        about="measurement",
        severity="warning",
        title=f"{processes} ranks shared {room} processors of {where} in {len(cases)} of {everything} cases",
        where={
            "host": several(hosts),
            "ranks": most.ranks,
            "benchmarks": ", ".join(sorted({samples.case.benchmark for samples in ran})),
        },
        evidence=[
            Evidence(what=f"ranks on {where}", value=processes),
            Evidence(what=f"processors usable on {where}", value=room),
        ],
        advice=(
            "The times include waiting for a processor and say little about the machine. Use at most "
            f"{room} ranks on {where}; {how.words}."
        ),
        trials=how.trials,
    )
