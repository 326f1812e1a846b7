"""The features of a run: a handful of numbers from its profiles.

Times are means over the ranks, as in NetFinity: computation is the time between calls, so that compute_s and
mpi_s add up to wall_s exactly. A wait counts towards the operation that it completes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hpcscope.programs.profiles.folder import job
from hpcscope.programs.profiles.profile import Profile
from hpcscope.programs.profiles.routines import kind, plain
from hpcscope.samples.samples import Floats
from hpcscope.strict import Strict

PARTS = {"send": "send_s", "receive": "receive_s", "send and receive": "exchange_s", "collective": "collective_s"}
"""The feature that each kind of routine counts towards; all other kinds are `other_mpi_s`."""
COUNTED = (*PARTS, "one-sided", "file")
"""The kinds whose calls count as communications."""
FEWEST_ROWS = 6
"""Minimum number of rows in the second half of a time series for a memory slope."""

NAMES = {
    "elapsed_s": "time of the command",
    "wall_s": "time from MPI_Init to MPI_Finalize",
    "compute_s": "computation",
    "mpi_s": "inside MPI",
    "send_s": "sending",
    "receive_s": "receiving",
    "exchange_s": "combined sending and receiving",
    "collective_s": "collectives",
    "other_mpi_s": "other time inside MPI",
    "cpu_s": "CPU time",
    "user_s": "CPU time in user mode",
    "system_s": "CPU time in the kernel",
    "communications": "communications per rank",
    "sent_bytes": "bytes sent per rank",
    "compute_imbalance": "slowest rank's computation / mean computation - 1",
    "peak_resident_bytes": "peak memory of a rank",
    "memory_slope_bytes_per_s": "memory growth in the second half, mean over the ranks",
    "memory_slope_worst_bytes_per_s": "largest memory growth of a rank",
    "memory_slope_worst_rank": "that rank",
}


class Routine(Strict):
    """Calls, time and bytes of an MPI routine (NetFinity: "protocol"), means over the ranks."""

    calls: float
    seconds: float
    bytes: float


@dataclass(frozen=True)
class Features:
    """The features of a run."""

    figures: dict[str, float] = field(default_factory=dict)
    """Values by the names in `NAMES`; unknown values are absent."""
    routines: dict[str, Routine] = field(default_factory=dict)
    ranks: int | None = None
    """Number of ranks; None if not known."""


def of_folder(folder: Path) -> Features:
    """Return the features of the run in a directory; ScopeError if no process left a readable profile."""
    profiles = job(folder).profiles
    return Features(_figures(profiles), _routines(profiles), profiles[0].ranks)


def _figures(profiles: Sequence[Profile]) -> dict[str, float]:
    ranks = [_of_one(profile) for profile in profiles]
    names = [name for name in ranks[0] if not name.startswith(("peak", "memory"))]
    features = {name: float(np.mean([rank[name] for rank in ranks])) for name in names}
    compute = np.array([rank["compute_s"] for rank in ranks])
    if compute.mean() > 0:
        features["compute_imbalance"] = float(compute.max() / compute.mean() - 1)
    features["peak_resident_bytes"] = max(rank["peak_resident_bytes"] for rank in ranks)
    slopes = {
        profile.rank: rank["memory_slope"]
        for profile, rank in zip(profiles, ranks, strict=True)
        if "memory_slope" in rank
    }
    if slopes:
        worst = max(slopes, key=lambda rank: slopes[rank])
        features["memory_slope_bytes_per_s"] = float(np.mean(list(slopes.values())))
        features["memory_slope_worst_bytes_per_s"] = slopes[worst]
        features["memory_slope_worst_rank"] = float(worst)
    return features


def _routines(profiles: Sequence[Profile]) -> dict[str, Routine]:
    sums: dict[str, Floats] = {}
    for profile in profiles:
        for row in profile.tables["calls"]:
            name = plain(profile.routine(int(row["routine"])))
            taken = [float(row["calls"]), float(row["ticks"]) * profile.tick_s, float(row["bytes"])]
            sums[name] = sums.get(name, np.zeros(3)) + np.array(taken)
    means = {name: total / len(profiles) for name, total in sums.items()}
    return {
        name: Routine(calls=float(mean[0]), seconds=float(mean[1]), bytes=float(mean[2]))
        for name, mean in sorted(means.items(), key=lambda item: -item[1][1])
    }


def _of_one(profile: Profile) -> dict[str, float]:
    process, tick_s = profile.process, profile.tick_s
    wall_s = profile.wall_s
    mpi_s = min(float(process["mpi_ticks"]) * tick_s, wall_s)
    parts = dict.fromkeys((*PARTS.values(), "other_mpi_s"), 0.0)
    communications = 0.0
    waited_s = 0.0
    for row in profile.tables["calls"]:
        what = kind(profile.routine(int(row["routine"])))
        communications += int(row["calls"]) if what in COUNTED else 0
        if what == "wait":
            waited_s += float(row["ticks"]) * tick_s
        else:
            parts[PARTS.get(what, "other_mpi_s")] += float(row["ticks"]) * tick_s
    for row in profile.tables["waits"]:
        seconds = float(row["ticks"]) * tick_s
        parts[PARTS.get(kind(profile.routine(int(row["operation"]))), "other_mpi_s")] += seconds
        waited_s -= seconds
    parts["other_mpi_s"] += max(waited_s, 0.0)  # tests and waits that completed no operation
    slope = _memory_slope(profile)
    return {
        "wall_s": wall_s,
        "compute_s": wall_s - mpi_s,
        "mpi_s": mpi_s,
        **parts,
        "cpu_s": float(process["user_s"]) + float(process["system_s"]),
        "user_s": float(process["user_s"]),
        "system_s": float(process["system_s"]),
        "communications": communications,
        "sent_bytes": float(profile.tables["partners"]["sent_bytes"].sum()),
        "peak_resident_bytes": float(process["peak_resident_bytes"]),
        **({} if slope is None else {"memory_slope": slope}),
    }


def _memory_slope(profile: Profile) -> float | None:
    """Return the slope of resident memory in bytes/s over the second half of the run; None if too few rows.

    The first half is left out because programs allocate memory at the start. The median of all pairwise slopes
    (Theil and Sen) ignores a single jump.
    """
    from scipy.stats import theilslopes  # takes a second to load

    rows = profile.tables["timeline"]
    rows = rows[rows["resident_bytes"] > 0]
    if not len(rows):
        return None
    end_s = (rows["end_tick"] - rows["end_tick"][0]).astype(np.float64) * profile.tick_s
    late = end_s >= end_s[-1] / 2
    if late.sum() < FEWEST_ROWS:
        return None
    return float(theilslopes(rows["resident_bytes"][late].astype(np.float64), end_s[late]).slope)
