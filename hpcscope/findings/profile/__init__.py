"""Kinds of findings about a monitored program: one file each."""

from collections.abc import Iterable
from dataclasses import dataclass

from hpcscope.findings import find
from hpcscope.findings.finding import Finding
from hpcscope.programs.profiles.machine_comparison import MachineComparison
from hpcscope.programs.profiles.records import Calls, Merged, Usage

SHORTEST_S = 0.02
"""Shortest program whose time is judged: a few time slices of the scheduler."""
WORTH = 0.05
"""Least fraction of all time that most kinds report."""


@dataclass(frozen=True)
class ProfileFacts:
    """A profile, and its comparison with a measured run of the machine, if there is one."""

    merged: Merged
    machine_comparison: MachineComparison | None = None

    @property
    def total_s(self) -> float:
        """Time of all ranks; never 0."""
        return max(self.merged.total_s, 1e-9)

    @property
    def long_enough(self) -> bool:
        """Whether the program ran long enough for fractions of its time to be meaningful."""
        return self.merged.wall_s >= SHORTEST_S

    def worth(self, time_s: float) -> bool:
        """Return whether a time of all ranks is large enough to be reported."""
        return time_s >= WORTH * self.total_s

    @property
    def usages(self) -> list[Usage]:
        """Resource usage of each rank from the operating system; empty unless it is known for all ranks."""
        known = [process.usage for process in self.merged.processes if process.usage is not None]
        return known if len(known) == len(self.merged.processes) else []

    def site(self, calls: Iterable[Calls]) -> str:
        """Return the call site of the longest of these calls; empty if no call site is known."""
        known = [call for call in calls if call.site is not None]
        if not known:
            return ""
        most = max(known, key=lambda one: one.time_s)
        frames = self.merged.sites[most.site or 0].frames
        return frames[0] if frames else ""


def placed(where: dict[str, str | int | float], site: str) -> dict[str, str | int | float]:
    """Add the call site if it is known."""
    return where | {"site": site} if site else where


def find_all(facts: ProfileFacts) -> list[Finding]:
    """Return the findings of all kinds, worst first; findings about lost time only if the run was long enough."""
    findings = find.find_all(__name__, facts)
    return findings if facts.long_enough else [finding for finding in findings if finding.lost is None]
