"""Kinds of findings about a topology: one file each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hpcscope.findings import find
from hpcscope.findings.finding import Finding
from hpcscope.topology.discovery import Discovery


@dataclass(frozen=True)
class TopologyFacts:
    """A discovery and further facts about its hosts."""

    discovery: Discovery
    hosts_by_rank: Sequence[str] = ()
    """The host of each rank, in rank order."""
    declared_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    """Declared rate of each host's port, if the kernel or the lab file gives one."""
    declared_by: str = ""
    """Source of the declared rates, for example `the link speed that the kernel reports`."""


def find_all(facts: TopologyFacts) -> list[Finding]:
    """Return the findings of all kinds, worst first."""
    return find.find_all(__name__, facts)
