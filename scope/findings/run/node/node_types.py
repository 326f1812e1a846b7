"""The cluster is made of several types of node."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context
from scope.machine.machine import Host
from scope.machine.node_types import node_types


def find(context: Context) -> list[Finding]:
    """Find a cluster whose hosts differ in processors, caches or memory, and say what each type is."""
    hosts = context.machine.hosts
    types = [[hosts[position] for position in members] for members in node_types(hosts)]
    if len(types) < 2:
        return []
    apart = sorted({s.placement.partition(":")[2] for s in context.summaries if ":" in s.placement})
    advice = (
        f"Sub-clusters of equal nodes were measured apart ({', '.join(apart)}): read and compare those."
        if apart
        else "Measure sub-clusters of equal nodes apart: `nodes=types` in a case."
    )
    return [
        Finding(
            code="node-types",
            severity="advice",
            title=f"The cluster has {len(types)} types of node; figures over all hosts are those of the slowest",
            where={"host": ", ".join(host.name for members in types[1:] for host in members), "layer": "node"},
            evidence=[
                Evidence(what=f"type{number}: {_names(members)}", value=_described(members[0]))
                for number, members in enumerate(types, start=1)
            ],
            advice=advice,
        )
    ]


def _names(hosts: list[Host]) -> str:
    names = [host.name for host in hosts]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _described(host: Host) -> str:
    processor = host.processor
    memory = units.quantity(host.memory_bytes, "B")
    return f"{processor.model}, {len(processor.usable)} of {processor.threads} processors usable, {memory}"
