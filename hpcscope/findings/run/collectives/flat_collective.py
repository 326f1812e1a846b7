"""A collective sends its payload over a slow trunk more than once."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.evidence import largest_of_each
from hpcscope.statistics.summary import Summary
from hpcscope.topology.topology import Group, Topology

ONCE = ("MPI_Bcast", "MPI_Reduce", "MPI_Allreduce")
"""Collectives whose payload has to cross every trunk once (and back at the same time)."""
SLOW_SHARE = 0.5
"""A trunk is slow if it carries less than this fraction of the rate of one host below it."""
TOO_OFTEN = 1.5
BETTER = "collectives"


def find(run: Run) -> list[Finding]:
    """Find collectives that take longer than topology-aware ones, or than one crossing of the slowest trunk.

    Only the worst case of each benchmark is reported. If no topology-aware collective was measured, small messages
    do not count: they are limited by latency, not by the trunk.
    """
    if run.topology is None:
        return []
    times = (
        summary
        for summary in run.headlines
        if run.calls(summary, *ONCE) and summary.unit == "s" and not summary.transport.startswith(BETTER)
    )
    findings = (finding for summary in times for finding in _compared(run, run.topology, summary))
    return largest_of_each(findings, lambda one: one.where["benchmark"], lambda one: one.lost or 0.0)


def _compared(run: Run, topology: Topology, summary: Summary) -> Found:
    hosts = run.measurements.hosts(summary)
    better = _better(run, summary)
    trunk = _slowest_trunk(topology, hosts, shared=better is not None)
    message_bytes = int(summary.parameters.get("message_bytes", 0))
    if trunk is None or trunk.uplink_bytes_per_s is None or summary.median is None:
        return
    crossing_s = message_bytes / trunk.uplink_bytes_per_s
    needed_s = crossing_s + topology.join(*_across(topology, trunk, hosts)).latency_s
    gained = better.median if better and better.median else needed_s
    if summary.median < TOO_OFTEN * gained or (better is None and crossing_s < needed_s / 2):
        return
    how = "takes" if better else "would take at least"
    seconds = units.quantity(summary.median, "s")
    yield Finding(
        code="flat-collective",
        severity="warning",
        title=f"{summary.label} takes {seconds}; with one crossing of the trunk of {trunk.name}, it {how} "
        f"{units.quantity(gained, 's')}",
        where={"benchmark": summary.benchmark, "group": trunk.name, "layer": "mpi"},
        evidence=[
            Evidence(what=summary.label, value=summary.median, unit="s"),
            Evidence(what=f"one crossing of the trunk of {trunk.name}", value=crossing_s, unit="s"),
            Evidence(what="one crossing of the trunk, including path latency", value=needed_s, unit="s"),
            Evidence(what="measured time / time of one crossing", value=summary.median / crossing_s),
            *([Evidence(what=better.label, value=gained, unit="s")] if better else []),
        ],
        advice="Number the ranks group by group, and use the topology-aware collectives "
        "(docs/how-to/topology.md).",
        lost=1 - gained / summary.median,
    )


def _slowest_trunk(topology: Topology, hosts: list[str], shared: bool) -> Group | None:
    """Return the group with the slowest uplink that separates the hosts and is slow even for one host inside.

    `shared`: an uplink that is slow only when all hosts inside send at once counts, too.
    """
    known = [host for host in dict.fromkeys(hosts) if host in topology.group_of]
    parting = [
        group
        for group in topology.group
        if group.uplink_bytes_per_s is not None and 0 < len(_inside(topology, group, known)) < len(known)
    ]
    slow = [
        group
        for group in parting
        if shared or (group.uplink_bytes_per_s or 0) < SLOW_SHARE * _own_rate(topology, group)
    ]
    return min(slow, key=lambda group: group.uplink_bytes_per_s or 0.0, default=None)


def _inside(topology: Topology, group: Group, hosts: list[str]) -> list[str]:
    members = set(topology.members(group))
    return [host for host in hosts if host in members]


def _own_rate(topology: Topology, group: Group) -> float:
    """Return the sending rate of one host of a group."""
    return max(topology.group_of[host].bandwidth_bytes_per_s for host in topology.members(group))


def _across(topology: Topology, trunk: Group, hosts: list[str]) -> tuple[str, str]:
    """Return one host on each side of the trunk."""
    inside = _inside(topology, trunk, hosts)
    return inside[0], next(host for host in hosts if host not in inside and host in topology.group_of)


def _better(run: Run, summary: Summary) -> Summary | None:
    """Return the fastest measurement of the same case over topology-aware collectives."""
    same = [
        other
        for other in run.headlines
        if other.transport.startswith(BETTER)
        and (other.benchmark, other.metric, other.ranks) == (summary.benchmark, summary.metric, summary.ranks)
        and other.parameters == summary.parameters
    ]
    return min(same, key=lambda other: other.median or float("inf"), default=None)
