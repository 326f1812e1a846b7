"""What findings about a topology are derived from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scope.topology.discovery import Discovery


@dataclass(frozen=True)
class Facts:
    """A discovery and what else is known of its hosts."""

    discovery: Discovery
    hosts_by_rank: Sequence[str] = ()
    """Where each rank was, in order of rank."""
    declared_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    """What the port of a host should do, where somebody says: the kernel, or the lab file."""
    declared_by: str = ""
    """Who says so, for example `the link speed that the kernel reports`."""
