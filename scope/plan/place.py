"""Where cases can run: the slots of each host, which hosts are alike, and how a launch names its place.

A launch's placement is a binding (`core`, `socket`, `none`), `node` for one rank on each host, or `threads` for
ranks that are not bound and whose threads may all call MPI (MPI_THREAD_MULTIPLE). On a cluster of several types of
node it may end in the type whose hosts alone are used: `core:type2`.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL = "all"
"""Every host."""
ONE_PER_HOST = "node"
THREADS = "threads"


@dataclass(frozen=True)
class Place:
    """The hosts of a site."""

    slots: tuple[int, ...]
    """Ranks that each host takes without oversubscription."""
    types: tuple[tuple[int, ...], ...] = ()
    """Positions of the hosts of each type; empty means that all are alike."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the sub-clusters of equal nodes; `all` alone where there is one type."""
        if len(self.types) < 2:
            return (ALL,)
        return tuple(f"type{number}" for number in range(1, len(self.types) + 1))

    def members(self, group: str) -> tuple[int, ...]:
        """Return the positions of a group's hosts."""
        if group == ALL:
            return tuple(range(len(self.slots)))
        return self.types[int(group.removeprefix("type")) - 1]

    def room(self, placement: str) -> int:
        """Return how many ranks a placement takes without oversubscription."""
        kind, group = split(placement)
        members = self.members(group)
        return len(members) if kind == ONE_PER_HOST else sum(self.slots[position] for position in members)


def split(placement: str) -> tuple[str, str]:
    """Return the kind of a placement and its group of hosts."""
    kind, _, group = placement.partition(":")
    return kind, group or ALL


def joined(kind: str, group: str) -> str:
    """Return the placement of a kind on a group of hosts."""
    return kind if group == ALL else f"{kind}:{group}"


def with_kind(placement: str, kind: str) -> str:
    """Return the same group of hosts with another kind of placement."""
    return joined(kind, split(placement)[1])
