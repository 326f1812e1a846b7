"""Where cases can run: the slots of each host, and which hosts are alike."""

from dataclasses import dataclass

from hpcscope.plan.placement import ALL, Placement


@dataclass(frozen=True)
class Place:
    """The hosts of a site."""

    slots: tuple[int, ...]
    """Number of ranks that each host takes without oversubscription."""
    types: tuple[tuple[int, ...], ...] = ()
    """Positions of the hosts of each type; empty if all hosts are alike."""
    crowded: bool = False
    """Whether a host must take more ranks than it has slots (`launcher.ranks_per_host`)."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the sub-clusters of equal nodes; only `all` if there is one type."""
        if len(self.types) < 2:
            return (ALL,)
        return tuple(f"type{number}" for number in range(1, len(self.types) + 1))

    def members(self, group: str) -> tuple[int, ...]:
        """Return the positions of a group's hosts."""
        if group == ALL:
            return tuple(range(len(self.slots)))
        return self.types[int(group.removeprefix("type")) - 1]

    def room(self, placement: Placement) -> int:
        """Return how many ranks a placement takes without oversubscription."""
        members = self.members(placement.group)
        return len(members) if placement.one_per_host else sum(self.slots[position] for position in members)

    def oversubscribes(self, ranks: int, placement: Placement) -> bool:
        """Return whether some host would take more ranks than it has slots."""
        crowds = self.crowded and not placement.one_per_host and ranks > min(self.slots)
        return crowds or ranks > self.room(placement)
