"""Sums over processes: calls by routine, place and size; waits; waiting in collectives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scope.profiles import sites as places
from scope.profiles.profile import Profile, Rows
from scope.profiles.records import Calls, Collective, Times, Waits
from scope.profiles.routines import SYNCHRONISING, kind, plain

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

SANITISED = 0.99
"""The share of the calls, in order of their length, that stays in the sanitised view."""


@dataclass(frozen=True)
class Columns:
    """A table of all processes, one behind the other."""

    rows: Rows
    process: Integers
    """To which of the profiles each row belongs."""
    routine: Integers
    """Number in `routines`."""
    site: Integers
    routines: list[str]
    ticks_s: Floats
    """Length of a tick for each row."""
    time_s: Floats
    """Time of each row."""


def gather(profiles: Sequence[Profile], table: str, column: str, numbers: Sequence[Integers]) -> Columns:
    """Put a table of all processes together; `column` names the routine, `numbers` are those of their sites."""
    tables = [one.tables[table] for one in profiles]
    names = sorted({name for one in profiles for name in one.header.routines[1:]})
    place = {name: number for number, name in enumerate(["none", *names])}
    known = list(place)
    routines, sites = [], []
    for profile, rows, own in zip(profiles, tables, numbers, strict=True):
        translated = np.array([place["none"], *(place[name] for name in profile.header.routines[1:])], np.int64)
        asked = rows[column].astype(np.int64)
        routines.append(translated[np.where(asked < len(translated), asked, 0)])
        sites.append(places.renumbered(rows["site"], own))
    lengths = [len(rows) for rows in tables]
    fields = [name for name in (tables[0].dtype.names or ()) if all(name in (t.dtype.names or ()) for t in tables)]
    together = np.concatenate([rows[fields] for rows in tables])
    ticks_s = np.repeat([one.tick_s for one in profiles], lengths)
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

    `ranks` are those of the profiles.
    """
    rows, time_s = columns.rows, columns.time_s
    found = []
    for chosen in alike(
        columns.routine, columns.site, *(rows[n] for n in ("communicator_size", "size_class", "region"))
    ):
        first = chosen[0]
        name = columns.routines[columns.routine[first]]
        mine = time_s[chosen]
        least, most = int(np.argmin(mine)), int(np.argmax(mine))
        found.append(
            Calls(
                routine=name,
                kind=kind(name),
                site=_known(columns.site[first]),
                communicator_size=int(rows["communicator_size"][first]),
                size_class=int(rows["size_class"][first]),
                region=int(rows["region"][first]),
                overflow=columns.routine[first] == 0,
                processes=len(np.unique(columns.process[chosen])),
                calls=int(rows["calls"][chosen].sum()),
                time_s=float(mine.sum()),
                bytes=int(rows["bytes"][chosen].sum()),
                least_s=float(mine[least]),
                least_rank=ranks[columns.process[chosen[least]]],
                most_s=float(mine[most]),
                most_rank=ranks[columns.process[chosen[most]]],
                times=_times(columns, chosen),
            )
        )
    return sorted(found, key=lambda one: -one.time_s)


def waits(columns: Columns) -> list[Waits]:
    """Return waits and tests by the routine that made the request, longest first."""
    rows, time_s = columns.rows, columns.time_s
    found = [
        Waits(
            operation=columns.routines[columns.routine[chosen[0]]],
            site=_known(columns.site[chosen[0]]),
            communicator_size=int(rows["communicator_size"][chosen[0]]),
            size_class=int(rows["size_class"][chosen[0]]),
            processes=len(np.unique(columns.process[chosen])),
            requests=int(rows["requests"][chosen].sum()),
            time_s=float(time_s[chosen].sum()),
            bytes=int(rows["bytes"][chosen].sum()),
        )
        for chosen in alike(columns.routine, columns.site, rows["communicator_size"], rows["size_class"])
    ]
    return sorted(found, key=lambda one: -one.time_s)


def collectives(columns: Columns, ranks: Sequence[int]) -> list[Collective]:
    """Return the waiting in the blocking collectives that synchronise, longest first.

    Only where every member of one communicator made the same number of calls: sums of several communicators of
    one size cannot be told apart. Calls whose members send unlike sizes (`v` and `w`) are taken together.
    """
    rows = columns.rows
    synchronising = np.array([plain(name) in SYNCHRONISING for name in columns.routines])
    unlike = np.array([plain(name).endswith(("v", "w", "scatter")) for name in columns.routines])
    usable = np.flatnonzero(synchronising[columns.routine] & (rows["communicator_size"] > 1))
    if not len(usable):
        return []
    sizes = np.where(unlike[columns.routine[usable]], -1, rows["size_class"][usable].astype(np.int64))
    found = []
    for group in alike(columns.routine[usable], rows["communicator_size"][usable], sizes):
        one = _collective(columns, usable[group], ranks)
        if one is not None:
            found.append(one)
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


def alike(*keys: NDArray[Any]) -> Iterator[Integers]:
    """Yield the positions of rows whose keys are the same, group by group."""
    if not len(keys[0]):
        return
    columns = [np.asarray(key).astype(np.int64) for key in keys]
    order = np.lexsort(columns[::-1])
    differs = np.zeros(len(order) - 1, bool)
    for column in columns:
        differs |= np.diff(column[order]) != 0
    yield from np.split(order, np.flatnonzero(differs) + 1)


def _times(columns: Columns, chosen: Integers) -> Times:
    """Return the merged histograms of some rows.

    Processes on unlike hosts have ticks of unlike lengths; their histograms are added as they are, which is less
    than the width of a place.
    """
    rows = columns.rows
    tick_s = float(np.sort(columns.ticks_s[chosen])[len(chosen) // 2])
    number, total_s = int(rows["calls"][chosen].sum()), float(columns.time_s[chosen].sum())
    least_s = float((rows["min_ticks"][chosen] * columns.ticks_s[chosen]).min())
    most_s = float((rows["max_ticks"][chosen] * columns.ticks_s[chosen]).max())
    counts = rows["histogram"][chosen].astype(np.int64).sum(axis=0)
    filled = np.flatnonzero(counts)
    mean_s = total_s / max(number, 1)
    if not len(filled):
        return Times(
            mean_s=mean_s,
            least_s=least_s,
            most_s=most_s,
            median_s=None,
            p99_s=None,
            sanitised_mean_s=None,
            coefficient_of_variation=None,
            first_tick_exponent=0,
            histogram=[],
            tick_s=tick_s,
        )
    middle_s = 1.5 * 2.0 ** np.arange(len(counts)) * tick_s
    reached = np.cumsum(counts) / counts.sum()
    median, p99 = (int(np.searchsorted(reached, q - 1e-12)) for q in (0.5, SANITISED))
    # The middles of the places are scaled so that all calls together take as long as they did.
    middle_s *= mean_s / (middle_s @ counts / counts.sum() or 1.0)
    kept = np.where(np.arange(len(counts)) <= p99, counts, 0)
    spread_s = float(np.sqrt((middle_s - mean_s) ** 2 @ counts / counts.sum()))
    return Times(
        mean_s=mean_s,
        least_s=least_s,
        most_s=most_s,
        median_s=float(np.clip(2.0 ** (median + 0.5) * tick_s, least_s, most_s)),
        p99_s=float(np.clip(2.0 ** (p99 + 1) * tick_s, least_s, most_s)),
        sanitised_mean_s=float(middle_s @ kept / kept.sum()),
        coefficient_of_variation=spread_s / mean_s if number > 1 and mean_s > 0 else None,
        first_tick_exponent=int(filled[0]),
        histogram=[int(one) for one in counts[filled[0] : filled[-1] + 1]],
        tick_s=tick_s,
    )


def _known(site: np.int64) -> int | None:
    return int(site) if site >= 0 else None
