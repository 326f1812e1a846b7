"""The cluster has several types of node."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.machine.machine import Host
from hpcscope.machine.node_types import node_types
from hpcscope.names import several
from hpcscope.plan.placement import ALL


def find(run: Run) -> Found:
    """Find a cluster whose hosts differ in processors, caches or memory, and describe each type."""
    hosts = run.machine.hosts
    types = [[hosts[position] for position in members] for members in node_types(hosts)]
    if len(types) < 2:
        return
    apart = sorted({s.placement.group for s in run.statistics} - {ALL})
    advice = (
        f"Sub-clusters of equal nodes were measured separately ({', '.join(apart)}): use the separate results."
        if apart
        else "Measure sub-clusters of equal nodes separately: `scope run --by node-type`."
    )
    yield Finding(
        code="node-types",
        severity="advice",
        title=f"The cluster has {len(types)} types of node; results on all hosts are limited by the slowest",
        where={"host": several([host.name for members in types[1:] for host in members]), "layer": "node"},
        evidence=[
            Evidence(
                what=f"type{number}: {several([host.name for host in members])}", value=_described(members[0])
            )
            for number, members in enumerate(types, start=1)
        ],
        advice=advice,
    )


def _described(host: Host) -> str:
    processor = host.processor
    memory = units.quantity(host.memory_bytes, "B")
    return f"{processor.model}, {len(processor.usable)} of {processor.threads} processors usable, {memory}"
