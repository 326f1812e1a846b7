"""What findings about a monitored program are derived from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scope.profiles.against import Against
from scope.profiles.records import Calls, Merged, Usage

SHORTEST_S = 0.02
"""Of a program that is judged: a few turns of the scheduler."""


@dataclass(frozen=True)
class Facts:
    """A profile, and the same held against what the machine showed, where it was measured."""

    merged: Merged
    against: Against | None = None

    @property
    def total_s(self) -> float:
        """Time of all processes; never 0."""
        return max(self.merged.total_s, 1e-9)

    @property
    def telling(self) -> bool:
        """Whether the program ran long enough for shares of its time to say something."""
        return self.merged.wall_s >= SHORTEST_S

    @property
    def usages(self) -> list[Usage]:
        """What the operating system counted for each process; empty where it was not asked for all of them."""
        known = [one.usage for one in self.merged.processes if one.usage is not None]
        return known if len(known) == len(self.merged.processes) else []

    def site(self, calls: Iterable[Calls]) -> str:
        """Name the place in the program where most of the time of some calls went; empty where it is not known."""
        known = [one for one in calls if one.site is not None]
        if not known:
            return ""
        most = max(known, key=lambda one: one.time_s)
        frames = self.merged.sites[most.site or 0].frames
        return frames[0] if frames else ""


def placed(where: dict[str, str | int | float], site: str) -> dict[str, str | int | float]:
    """Add the place in the program, where it is known."""
    return where | {"site": site} if site else where
