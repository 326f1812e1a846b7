"""The sources of findings about a topology."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hpcscope.topology.discovery import Discovery


@dataclass(frozen=True)
class TopologyFacts:
    """A discovery and further facts about its hosts."""

    discovery: Discovery
    hosts_by_rank: Sequence[str] = ()
    """The host of each rank, in rank order."""
    declared_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    """Declared rate of each host's port, where the kernel or the lab file says one."""
    declared_by: str = ""
    """Its source, for example `the link speed that the kernel reports`."""
