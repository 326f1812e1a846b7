"""The profiles of a monitored command that belong to one start of one program."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError
from hpcscope.programs.profiles import PROFILES
from hpcscope.programs.profiles.profile import STATES, SUFFIX, Profile, read

_TOGETHER_S = 120.0
"""Processes of one start leave MPI_Init within this time of each other."""


@dataclass
class Job:
    """The processes of one MPI_COMM_WORLD, by rank."""

    profiles: list[Profile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def ranks(self) -> int:
        """Number of ranks, including ranks without a profile."""
        return max(profile.ranks for profile in self.profiles)

    @property
    def total_s(self) -> float:
        """Time of all ranks together."""
        return sum(profile.wall_s for profile in self.profiles)


def job(folder: Path) -> Job:
    """Return the processes of the program below `folder` that took the most time; other programs become a warning.

    `folder` is the directory of a monitored run, or contains profiles itself. Raises UsageError if it does not
    exist, ScopeError if no process left a readable profile.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: is not a directory; must be the directory of a monitored run")
    place = folder / PROFILES if (folder / PROFILES).is_dir() else folder
    found: list[Profile] = []
    damaged: list[str] = []
    for path in sorted(place.glob(f"*{SUFFIX}")):
        try:
            found.append(read(path))
        except ScopeError as error:
            damaged.append(str(error))
    if not found:
        raise ScopeError(damaged[0] if damaged else f"{place}: no rank left a profile")
    jobs = sorted(apart(found), key=lambda one: one.total_s, reverse=True)
    largest = jobs[0]
    largest.profiles.sort(key=lambda profile: profile.rank)
    largest.warnings += damaged + [text for profile in largest.profiles for text in profile.warnings]
    if len(jobs) > 1:
        largest.warnings.append(
            f"the command ran {len(jobs)} MPI programs; this profile is of the program that took longest:"
            f" {largest.profiles[0].header.program or 'a program'} (ranks: {largest.ranks})"
        )
    return largest


def complete(place: Path) -> list[Path]:
    """Return the profiles in a directory that are final, because their processes have ended by themselves."""
    paths = []
    for path in sorted(place.glob(f"*{SUFFIX}")):
        with suppress(ScopeError):
            if read(path).state != STATES[0]:
                paths.append(path)
    return paths


def apart(profiles: Sequence[Profile]) -> list[Job]:
    """Separate the processes of several starts by the launcher's job name, by rank and by time."""
    jobs: list[Job] = []
    ranks: list[set[int]] = []
    for profile in sorted(profiles, key=lambda one: int(one.process["first_unix_ns"])):
        fitting = (
            place
            for place, job in enumerate(jobs)
            if profile.rank not in ranks[place] and _together(profile, job.profiles[0])
        )
        place = next(fitting, len(jobs))
        if place == len(jobs):
            jobs.append(Job())
            ranks.append(set())
        jobs[place].profiles.append(profile)
        ranks[place].add(profile.rank)
    return jobs


def _together(profile: Profile, first: Profile) -> bool:
    near_s = (int(profile.process["first_unix_ns"]) - int(first.process["first_unix_ns"])) * 1e-9
    return (profile.ranks, profile.header.job) == (first.ranks, first.header.job) and near_s < _TOGETHER_S
