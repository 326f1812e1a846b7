"""Sums over ranks: calls by routine, call site and size; waits; waiting in collectives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcscope.programs.profiles import sites as places
from hpcscope.programs.profiles.profile import Floats, Integers, Profile, Rows
from hpcscope.programs.profiles.records import Calls, CallTimes, Collective, Waits
from hpcscope.programs.profiles.routines import SYNCHRONIZING, kind, plain


class Groups:
    """Groups of rows with equal keys, in the order of the keys."""

    def __init__(self, *keys: NDArray[Any]) -> None:
        columns = [np.asarray(key).astype(np.int64) for key in keys]
        self._order = np.lexsort(columns[::-1])
        begins = np.arange(len(self._order)) == 0
        for column in columns:
            begins[1:] |= np.diff(column[self._order]) != 0
        self._starts = np.flatnonzero(begins)
        self._sizes = np.diff(self._starts, append=len(begins))

    def __iter__(self) -> Iterator[Integers]:
        """Yield the row indices of each group."""
        return iter(np.split(self._order, self._starts[1:]) if len(self._starts) else [])

    @property
    def first(self) -> Integers:
        """Index of one row of each group; all rows of a group have the same keys."""
        return self._order[self._starts]

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of the values of each group; short integers do not overflow."""
        if values.ndim > 1:
            # Column by column: a copy of all columns in wide integers would double the memory for a large job.
            return np.stack([self.sum(column) for column in values.T], axis=1)
        wide = np.result_type(values, np.int64) if values.dtype.itemsize < 8 else values.dtype
        sums: NDArray[Any] = np.add.reduceat(values[self._order], self._starts, dtype=wide)
        return sums

    def least(self, values: Floats) -> Floats:
        """Return the smallest value of each group."""
        least: Floats = np.minimum.reduceat(values[self._order], self._starts)
        return least

    def least_row(self, values: Floats) -> Integers:
        """Return the (first) row with the smallest value of each group."""
        rows = np.flatnonzero(values[self._order] == np.repeat(self.least(values), self._sizes))
        first = np.searchsorted(rows, self._starts)
        row: Integers = self._order[rows[first]]
        return row

    def middle(self, values: Floats) -> Floats:
        """Return the upper median of the values of each group."""
        ascending = np.lexsort((values[self._order], np.repeat(self._starts, self._sizes)))
        middle: Floats = values[self._order[ascending[self._starts + self._sizes // 2]]]
        return middle

    def distinct(self, values: Integers) -> Integers:
        """Count the distinct values of each group; values must not decrease from row to row of the table."""
        ordered = values[self._order]
        new = np.ones(len(ordered), np.int64)
        new[1:] = ordered[1:] != ordered[:-1]
        new[self._starts] = 1
        number: Integers = np.add.reduceat(new, self._starts)
        return number


SANITISED = 0.99
"""Fraction of the calls, shortest first, that the sanitized view keeps."""
_OVERFLOW = "none"
"""The routine of rows that collect calls without their own row."""


@dataclass(frozen=True)
class Columns:
    """A table of all processes, concatenated."""

    rows: Rows
    process: Integers
    """Index of the profile of each row."""
    routine: Integers
    """Index in `routines`."""
    site: Integers
    routines: list[str]
    ticks_s: Floats
    """Length of a tick for each row."""
    time_s: Floats
    """Time of each row."""


def gather(profiles: Sequence[Profile], table: str, column: str, numbers: Sequence[Integers]) -> Columns:
    """Concatenate a table of all processes; `column` holds the routine, `numbers` translates sites."""
    tables = [profile.tables[table] for profile in profiles]
    names = sorted({name for profile in profiles for name in profile.header.routines[1:]})
    place = {name: number for number, name in enumerate([_OVERFLOW, *names])}
    known = list(place)
    routines, sites = [], []
    for profile, rows, own in zip(profiles, tables, numbers, strict=True):
        translated = np.array([place[_OVERFLOW], *(place[name] for name in profile.header.routines[1:])], np.int64)
        asked = rows[column].astype(np.int64)
        routines.append(translated[np.where(asked < len(translated), asked, 0)])
        sites.append(places.renumbered(rows["site"], own))
    lengths = [len(rows) for rows in tables]
    fields = [name for name in (tables[0].dtype.names or ()) if all(name in (t.dtype.names or ()) for t in tables)]
    together = np.concatenate([rows[fields] for rows in tables])
    ticks_s = np.repeat([profile.tick_s for profile in profiles], lengths)
    return Columns(
        rows=together,
        process=np.repeat(np.arange(len(profiles)), lengths),
        routine=np.concatenate(routines),
        site=np.concatenate(sites),
        routines=known,
        ticks_s=ticks_s,
        time_s=np.asarray(together["ticks"] * ticks_s, np.float64),
    )


def calls(columns: Columns, ranks: Sequence[int]) -> list[Calls]:
    """Return all calls by routine, site, communicator size, size class and region, longest first.

    `ranks`: ranks of the profiles.
    """
    rows, time_s = columns.rows, columns.time_s
    keys = ("communicator_size", "size_class", "region")
    groups = Groups(columns.routine, columns.site, *(rows[name] for name in keys))
    least, most = groups.least_row(time_s), groups.least_row(-time_s)
    rank = np.asarray(ranks)[columns.process]
    fields = {
        **{name: rows[name][groups.first] for name in keys},
        "processes": groups.distinct(columns.process),
        "calls": groups.sum(rows["calls"]),
        "time_s": groups.sum(time_s),
        "bytes": groups.sum(rows["bytes"]),
        "least_s": time_s[least],
        "least_rank": rank[least],
        "most_s": time_s[most],
        "most_rank": rank[most],
    }
    found = [
        Calls(routine=name, kind=kind(name), site=site, overflow=name == _OVERFLOW, times=times, **others)
        for (name, site), times, others in zip(
            _places(columns, groups), _times(columns, groups), _by_row(fields), strict=True
        )
    ]
    return sorted(found, key=lambda one: -one.time_s)


def waits(columns: Columns) -> list[Waits]:
    """Return waits and tests by routine that made the request, longest first."""
    rows = columns.rows
    keys = ("communicator_size", "size_class")
    groups = Groups(columns.routine, columns.site, *(rows[name] for name in keys))
    fields = {
        **{name: rows[name][groups.first] for name in keys},
        "processes": groups.distinct(columns.process),
        "requests": groups.sum(rows["requests"]),
        "time_s": groups.sum(columns.time_s),
        "bytes": groups.sum(rows["bytes"]),
    }
    found = [
        Waits(operation=name, site=site, **others)
        for (name, site), others in zip(_places(columns, groups), _by_row(fields), strict=True)
    ]
    return sorted(found, key=lambda one: -one.time_s)


def collectives(columns: Columns, ranks: Sequence[int]) -> list[Collective]:
    """Return the waiting time in synchronizing blocking collectives, longest first.

    This requires that every member of a single communicator made the same number of calls, because sums over
    several communicators of one size cannot be separated. Routines with unequal sizes (`v`, `w`) are merged.
    """
    rows = columns.rows
    synchronizing = np.array([plain(name) in SYNCHRONIZING for name in columns.routines])
    unlike = np.array([plain(name).endswith(("v", "w", "scatter")) for name in columns.routines])
    usable = np.flatnonzero(synchronizing[columns.routine] & (rows["communicator_size"] > 1))
    if not len(usable):
        return []
    sizes = np.where(unlike[columns.routine[usable]], -1, rows["size_class"][usable].astype(np.int64))
    found = []
    for group in Groups(columns.routine[usable], rows["communicator_size"][usable], sizes):
        collective = _collective(columns, usable[group], ranks)
        if collective is not None:
            found.append(collective)
    return sorted(found, key=lambda one: -one.time_s)


def _collective(columns: Columns, chosen: Integers, ranks: Sequence[int]) -> Collective | None:
    rows = columns.rows
    members, place = np.unique(columns.process[chosen], return_inverse=True)
    number = np.bincount(place, rows["calls"][chosen]).astype(np.int64)
    size = int(rows["communicator_size"][chosen[0]])
    if len(members) != size or number.min() != number.max() or number[0] == 0:
        return None
    time_s = np.bincount(place, columns.time_s[chosen])
    shortest_s = float((rows["min_ticks"][chosen] * columns.ticks_s[chosen]).min())
    ordered = np.sort(time_s)
    transfer_s = size * float(ordered[0])
    total_s = float(time_s.sum())
    return Collective(
        routine=columns.routines[columns.routine[chosen[0]]],
        communicator_size=size,
        size_class=int(rows["size_class"][chosen].max()),
        calls=int(number[0]),
        time_s=total_s,
        transfer_most_s=transfer_s,
        waiting_least_s=total_s - transfer_s,
        waiting_most_s=max(total_s - transfer_s, total_s - size * int(number[0]) * shortest_s),
        last_rank=ranks[members[int(np.argmin(time_s))]],
        last_s=float(ordered[0]),
        next_s=float(ordered[1]),
        median_s=float(np.median(time_s)),
    )


def _times(columns: Columns, groups: Groups) -> Iterator[CallTimes]:
    """Yield the merged histograms of the rows of each group.

    Processes on different hosts may have ticks of different lengths; their histograms are added unchanged, because
    the error is less than the width of a bin.
    """
    rows, ticks_s = columns.rows, columns.ticks_s
    least_s, most_s = groups.least(rows["min_ticks"] * ticks_s), -groups.least(-(rows["max_ticks"] * ticks_s))
    tick_s = groups.middle(ticks_s)
    number = groups.sum(rows["calls"])
    mean_s = groups.sum(columns.time_s) / np.maximum(number, 1)
    counts = groups.sum(rows["histogram"])
    binned = np.maximum(counts.sum(axis=1), 1)
    reached = np.cumsum(counts, axis=1) / binned[:, None]
    median, p99 = (np.sum(reached < quantile - 1e-12, axis=1) for quantile in (0.5, SANITISED))
    places = np.arange(counts.shape[1])
    middle_s = 1.5 * 2.0**places * tick_s[:, None]
    # The middles of the bins are scaled so that the total time of all calls is preserved.
    told_s = np.sum(middle_s * counts, axis=1) / binned
    middle_s *= (mean_s / np.where(told_s > 0, told_s, 1.0))[:, None]
    kept = np.where(places <= p99[:, None], counts, 0)
    sanitized_s = np.sum(middle_s * kept, axis=1) / np.maximum(kept.sum(axis=1), 1)
    spread_s = np.sqrt(np.sum((middle_s - mean_s[:, None]) ** 2 * counts, axis=1) / binned)
    filled = counts > 0
    fields = {
        "mean_s": mean_s,
        "least_s": least_s,
        "most_s": most_s,
        "median_s": np.clip(2.0 ** (median + 0.5) * tick_s, least_s, most_s),
        "p99_s": np.clip(2.0 ** (p99 + 1.0) * tick_s, least_s, most_s),
        "sanitized_mean_s": sanitized_s,
        "first_tick_exponent": filled.argmax(axis=1),
        "tick_s": tick_s,
    }
    ends = len(places) - filled[:, ::-1].argmax(axis=1)
    varies = (number > 1) & (mean_s > 0)
    further = zip(*(column.tolist() for column in (counts, ends, varies, spread_s)), strict=True)
    for others, (bins, end, has_variation, deviation_s) in zip(_by_row(fields), further, strict=True):
        histogram = bins[others["first_tick_exponent"] : end] if any(bins) else []
        if not histogram:
            others |= {"median_s": None, "p99_s": None, "sanitized_mean_s": None}
        variation = deviation_s / others["mean_s"] if histogram and has_variation else None
        yield CallTimes(histogram=histogram, coefficient_of_variation=variation, **others)


def _places(columns: Columns, groups: Groups) -> Iterator[tuple[str, int | None]]:
    """Yield the routine and the site of each group."""
    for routine, site in zip(
        columns.routine[groups.first].tolist(), columns.site[groups.first].tolist(), strict=True
    ):
        yield columns.routines[routine], site if site >= 0 else None


def _by_row(columns: Mapping[str, NDArray[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of numeric columns."""
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield dict(zip(columns, values, strict=True))
