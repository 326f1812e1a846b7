"""The course of a program: rows of each process, resampled to common steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpcscope.programs.profiles.profile import Floats, Profile, Rows
from hpcscope.programs.profiles.records import Timeline

MOST_STEPS = 240
MOST_RANKS = 64
"""Maximum number of ranks with a separate course."""


@dataclass(frozen=True)
class RowsInTime:
    """The rows of one process in order of time, in seconds after the end of its MPI_Init."""

    rows: Rows
    begins_s: Floats
    ends_s: Floats
    tick_s: float

    def spread(self, values: Floats, edges_s: Floats) -> Floats:
        """Distribute the values of each row evenly over the steps that it overlaps."""
        corners = np.empty(2 * len(values))
        corners[::2], corners[1::2] = self.begins_s, self.ends_s
        reached = np.empty(2 * len(values))
        reached[1::2] = np.cumsum(values)
        reached[::2] = reached[1::2] - values
        return np.asarray(np.diff(np.interp(edges_s, np.maximum.accumulate(corners), reached)), np.float64)


def course(profile: Profile) -> RowsInTime:
    """Return the rows of a process's time series in order of time."""
    rows = np.sort(profile.tables["timeline"], order="begin_tick")
    first, tick_s = int(profile.process["first_tick"]), profile.tick_s
    begins, ends = (
        np.asarray((rows[name].astype(np.int64) - first) * tick_s, np.float64)
        for name in ("begin_tick", "end_tick")
    )
    return RowsInTime(rows, begins, ends, tick_s)


def timeline(profiles: Sequence[Profile]) -> Timeline | None:
    """Return the course after MPI_Init in at most `MOST_STEPS` steps; None without any row."""
    known = {profile.rank: course(profile) for profile in profiles if len(profile.tables["timeline"])}
    if not known:
        return None
    end_s = max(float(rows.ends_s[-1]) for rows in known.values())
    usual_s = min(float(np.median(rows.ends_s - rows.begins_s)) for rows in known.values())
    if end_s <= 0 or usual_s <= 0:
        return None
    # Steps shorter than the shortest usual row would not show anything new.
    steps = int(np.clip(end_s / usual_s, 1, MOST_STEPS))
    edges_s = np.linspace(0.0, end_s, steps + 1)
    ranks = sorted(known)
    kept = [ranks[index] for index in np.linspace(0, len(ranks) - 1, min(len(ranks), MOST_RANKS)).astype(int)]
    sums = {name: np.zeros(steps) for name in ("alive", "mpi", "user", "system", "sent", "resident")}
    shares: dict[int, Floats] = {}
    for rank, time in known.items():
        alive = np.clip(np.minimum(edges_s[1:], time.ends_s[-1]) - edges_s[:-1], 0.0, None)
        mpi = time.spread(time.rows["mpi_ticks"] * time.tick_s, edges_s)
        sums["alive"] += alive
        sums["mpi"] += mpi
        sums["user"] += time.spread(time.rows["user_s"], edges_s)
        sums["system"] += time.spread(time.rows["system_s"], edges_s)
        sums["sent"] += time.spread(time.rows["sent_bytes"].astype(np.float64), edges_s)
        at = np.searchsorted(time.ends_s, (edges_s[1:] + edges_s[:-1]) / 2)
        sums["resident"] += np.where(alive > 0, time.rows["resident_bytes"][np.minimum(at, len(time.rows) - 1)], 0)
        if rank in kept:
            shares[rank] = _share(mpi, alive)
    return Timeline(
        step_s=float(edges_s[1]),
        mpi_share=_rounded(_share(sums["mpi"], sums["alive"])),
        processor_share=_rounded(_share(sums["user"] + sums["system"], sums["alive"])),
        system_share=_rounded(_share(sums["system"], sums["alive"])),
        sent_bytes=_rounded(sums["sent"]),
        resident_bytes=_rounded(sums["resident"]),
        ranks=kept,
        mpi_share_by_rank=[_rounded(shares[rank], 3) for rank in kept],
    )


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _rounded(values: Floats, digits: int = 6) -> list[float]:
    return [float(f"{value:.{digits}g}") for value in values]
