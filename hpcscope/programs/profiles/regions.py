"""The parts of a program that MPI_Pcontrol or scope-timer mark."""

from collections import defaultdict
from collections.abc import Sequence

from hpcscope.programs.profiles.profile import Profile
from hpcscope.programs.profiles.records import Region

OUTSIDE = "outside of regions"
"""Name of region number 0."""


def region_names(profiles: Sequence[Profile]) -> dict[int, str]:
    """Return the names of the named regions by number."""
    named: dict[int, str] = {}
    for profile in profiles:
        for row in profile.tables["regions"]:
            if name := bytes(row["name"]).decode(errors="replace"):
                named[int(row["number"])] = name
    return named


def regions(profiles: Sequence[Profile]) -> list[Region]:
    """Return each region's time over all ranks, first outside regions, then longest first; [] without marks."""
    found: dict[int, list[tuple[int, float, float, int]]] = defaultdict(list)
    for profile in profiles:
        for row in profile.tables["regions"]:
            time_s, mpi_s = (float(row[name]) * profile.tick_s for name in ("ticks", "mpi_ticks"))
            found[int(row["number"])].append((int(row["entries"]), time_s, mpi_s, profile.rank))
    names = region_names(profiles)
    if not any(found):
        return []  # all time is outside regions regions
    listed = [
        Region(
            number=number,
            name=names.get(number, ""),
            processes=len(rows),
            entries=sum(entries for entries, *_ in rows),
            time_s=sum(time_s for _, time_s, *_ in rows),
            mpi_s=sum(mpi_s for _, _, mpi_s, _ in rows),
            most_s=max(time_s for _, time_s, *_ in rows),
            most_rank=max(rows, key=lambda row: row[1])[3],
        )
        for number, rows in found.items()
    ]
    return sorted(listed, key=lambda region: (region.number != 0, -region.time_s))
