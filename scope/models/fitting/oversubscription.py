"""More processes than processors: their times are those of waiting for a processor, and no point of a model."""

from __future__ import annotations

from collections import Counter

from scope.machine.machine import Machine
from scope.samples.records import LaunchRecord


def usable(machine: Machine, host: str) -> float | None:
    """Return how many processors the run may use on a host; None where the host is not known."""
    short = host.split(".")[0]
    facts = next((one for one in machine.hosts if one.name.split(".")[0] == short), None)
    if facts is None or not facts.processor.usable:
        return None
    quota = facts.processor.quota_cores
    return min(len(facts.processor.usable), quota) if quota else len(facts.processor.usable)


def crowded(machine: Machine, launches: list[LaunchRecord]) -> set[tuple[int, str, str]]:
    """Return (ranks, transport, placement) of the launches with more processes than processors somewhere."""
    return {
        (launch.ranks, launch.transport, launch.placement)
        for launch in launches
        for host, processes in Counter(p.host for p in launch.processes).items()
        if (room := usable(machine, host)) is not None and processes > room
    }
