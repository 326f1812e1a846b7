"""What the profiles of a run say of it, as a handful of numbers.

Times are means over the ranks, as NetFinity's are: computation is what lies between the calls, so that compute_s
and mpi_s add up to wall_s exactly. A wait counts for the operation it waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import theilslopes

from scope.profiles.folder import job
from scope.profiles.profile import Profile
from scope.profiles.routines import kind, plain
from scope.samples.samples import Floats
from scope.strict import Strict

PARTS = {"send": "send_s", "receive": "receive_s", "send and receive": "exchange_s", "collective": "collective_s"}
"""Which part of the time a kind of routine counts for; all others are `other_mpi_s`."""
COUNTED = (*PARTS, "one-sided", "file")
"""The kinds whose calls count as communications."""
FEWEST_ROWS = 6
"""Of the second half of a time series, for a slope of memory."""

NAMES = {
    "elapsed_s": "time of the command",
    "wall_s": "time from MPI_Init to MPI_Finalize",
    "compute_s": "computation",
    "mpi_s": "inside MPI",
    "send_s": "sending",
    "receive_s": "receiving",
    "exchange_s": "sending and receiving at once",
    "collective_s": "collectives",
    "other_mpi_s": "the rest inside MPI",
    "cpu_s": "processor's time",
    "user_s": "processor's time in the program",
    "system_s": "processor's time in the kernel",
    "communications": "communications per process",
    "sent_bytes": "bytes sent per process",
    "compute_imbalance": "the slowest computation over the mean, less one",
    "peak_resident_bytes": "largest memory of a process",
    "memory_slope_bytes_per_s": "growth of memory in the second half, mean over the ranks",
    "memory_slope_worst_bytes_per_s": "growth of memory of the process that grows most",
    "memory_slope_worst_rank": "which process that is",
}


class Routine(Strict):
    """What a routine took: NetFinity's "protocol". Means over the ranks."""

    calls: float
    seconds: float
    bytes: float


@dataclass(frozen=True)
class Features:
    """A run as its profiles tell it."""

    figures: dict[str, float] = field(default_factory=dict)
    """By the names of `NAMES`; those that could not be known are absent."""
    routines: dict[str, Routine] = field(default_factory=dict)
    ranks: int | None = None
    """How many processes there were; None where nobody told."""


def of_folder(folder: Path) -> Features:
    """Return the features of a run in its folder; ScopeError where no process left a profile that can be read."""
    return of_profiles(job(folder).profiles)


def of_profiles(found: Sequence[Profile]) -> Features:
    """Return the features of a run: one profile per rank, at least one."""
    return Features(_figures(found), _routines(found), found[0].ranks)


def _figures(found: Sequence[Profile]) -> dict[str, float]:
    ranks = [_of_one(one) for one in found]
    names = [name for name in ranks[0] if not name.startswith(("peak", "memory"))]
    features = {name: float(np.mean([rank[name] for rank in ranks])) for name in names}
    compute = np.array([rank["compute_s"] for rank in ranks])
    if compute.mean() > 0:
        features["compute_imbalance"] = float(compute.max() / compute.mean() - 1)
    features["peak_resident_bytes"] = max(rank["peak_resident_bytes"] for rank in ranks)
    slopes = {
        one.rank: rank["memory_slope"] for one, rank in zip(found, ranks, strict=True) if "memory_slope" in rank
    }
    if slopes:
        worst = max(slopes, key=lambda rank: slopes[rank])
        features["memory_slope_bytes_per_s"] = float(np.mean(list(slopes.values())))
        features["memory_slope_worst_bytes_per_s"] = slopes[worst]
        features["memory_slope_worst_rank"] = float(worst)
    return features


def _routines(found: Sequence[Profile]) -> dict[str, Routine]:
    sums: dict[str, Floats] = {}
    for one in found:
        for row in one.tables["calls"]:
            name = plain(one.routine(int(row["routine"])))
            taken = [float(row["calls"]), float(row["ticks"]) * one.tick_s, float(row["bytes"])]
            sums[name] = sums.get(name, np.zeros(3)) + np.array(taken)
    means = {name: total / len(found) for name, total in sums.items()}
    return {
        name: Routine(calls=float(mean[0]), seconds=float(mean[1]), bytes=float(mean[2]))
        for name, mean in sorted(means.items(), key=lambda each: -each[1][1])
    }


def _of_one(one: Profile) -> dict[str, float]:
    process, tick_s = one.process, one.tick_s
    wall_s = one.wall_s
    mpi_s = min(float(process["mpi_ticks"]) * tick_s, wall_s)
    parts = dict.fromkeys((*PARTS.values(), "other_mpi_s"), 0.0)
    communications = 0.0
    waited_s = 0.0
    for row in one.tables["calls"]:
        what = kind(one.routine(int(row["routine"])))
        communications += int(row["calls"]) if what in COUNTED else 0
        if what == "wait":
            waited_s += float(row["ticks"]) * tick_s
        else:
            parts[PARTS.get(what, "other_mpi_s")] += float(row["ticks"]) * tick_s
    for row in one.tables["waits"]:
        seconds = float(row["ticks"]) * tick_s
        parts[PARTS.get(kind(one.routine(int(row["operation"]))), "other_mpi_s")] += seconds
        waited_s -= seconds
    parts["other_mpi_s"] += max(waited_s, 0.0)  # tests and waits that completed nothing
    slope = _memory_slope(one)
    return {
        "wall_s": wall_s,
        "compute_s": wall_s - mpi_s,
        "mpi_s": mpi_s,
        **parts,
        "cpu_s": float(process["user_s"]) + float(process["system_s"]),
        "user_s": float(process["user_s"]),
        "system_s": float(process["system_s"]),
        "communications": communications,
        "sent_bytes": float(one.tables["partners"]["sent_bytes"].sum()),
        "peak_resident_bytes": float(process["peak_resident_bytes"]),
        **({} if slope is None else {"memory_slope": slope}),
    }


def _memory_slope(one: Profile) -> float | None:
    """Return the slope of resident memory in bytes/s over the second half of the run; None of too few rows.

    Only the second half: programs allocate as they begin. The median of all pairs' slopes (Theil and Sen) does not
    heed a single jump.
    """
    rows = one.tables["timeline"]
    rows = rows[rows["resident_bytes"] > 0]
    if not len(rows):
        return None
    end_s = (rows["end_tick"] - rows["end_tick"][0]).astype(np.float64) * one.tick_s
    late = end_s >= end_s[-1] / 2
    if late.sum() < FEWEST_ROWS:
        return None
    return float(theilslopes(rows["resident_bytes"][late].astype(np.float64), end_s[late]).slope)
