"""File use of a program: one row per file and layer, over all ranks."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from hpcscope.programs.profiles.profile import Profile, Rows
from hpcscope.programs.profiles.records import FileLayer, FileUse

LAYERS: tuple[FileLayer, ...] = ("posix", "stream", "mpi-io", "inside mpi-io")
"""Layers by number in the profile."""
MOST_FILES = 1000
"""Maximum number of files in a merged profile; all others are added up by layer."""
_COUNTS = (
    *("opens", "reads", "writes", "syncs", "others", "consecutive", "forward", "unaligned", "collective"),
    *("file_gaps", "memory_gaps"),
)
_TIMES = ("open", "read", "write", "sync", "other")

_Rows = list[tuple[Profile, np.void]]


def gather(profiles: Sequence[Profile]) -> list[FileUse]:
    """Return the files of all ranks, most time first; the rest has no path."""
    rows: dict[tuple[str, int], _Rows] = defaultdict(list)
    for profile in profiles:
        for row in profile.tables["files"]:
            path = bytes(row["path"]).decode("utf-8", errors="replace")
            rows[path, min(int(row["layer"]), len(LAYERS) - 1)].append((profile, row))
    named = sorted(((key, found) for key, found in rows.items() if key[0]), key=lambda pair: -_time_s(pair[1]))
    rest: dict[int, _Rows] = defaultdict(list)
    unnamed = [(key, found) for key, found in rows.items() if not key[0]]
    for (_, layer), found in [*named[MOST_FILES:], *unnamed]:
        rest[layer] += found
    merged = [_merged(path, LAYERS[layer], found) for (path, layer), found in named[:MOST_FILES]]
    merged += [_merged("", LAYERS[layer], found) for layer, found in rest.items()]
    return sorted(merged, key=lambda file: -file.time_s)


def of_process(profile: Profile) -> tuple[int, float]:
    """Return the bytes that a rank's program moved to and from files, and the time in s in these calls.

    MPI-IO's own POSIX calls do not count as calls of the program.
    """
    rows = profile.tables["files"]
    own = rows[rows["layer"] != LAYERS.index("inside mpi-io")]
    moved = int(own["read_bytes"].sum()) + int(own["written_bytes"].sum())
    return moved, _ticks(own) * profile.tick_s


def _time_s(rows: _Rows) -> float:
    return sum(_ticks(row) * profile.tick_s for profile, row in rows)


def _ticks(rows: Rows | np.void) -> float:
    return float(sum(np.sum(rows[f"{name}_ticks"]) for name in _TIMES))


def _merged(path: str, layer: FileLayer, rows: _Rows) -> FileUse:
    by_rank = groupby(sorted(rows, key=lambda pair: pair[0].rank), key=lambda pair: pair[0].rank)
    moved = {
        rank: sum(int(row["read_bytes"]) + int(row["written_bytes"]) for _, row in of_rank)
        for rank, of_rank in by_rank
    }
    most_rank = max(moved, key=lambda rank: moved[rank])
    return FileUse(
        path=path,
        layer=layer,
        processes=len(moved),
        read_bytes=sum(int(row["read_bytes"]) for _, row in rows),
        written_bytes=sum(int(row["written_bytes"]) for _, row in rows),
        **{name: sum(int(row[name]) for _, row in rows) for name in _COUNTS},
        **{
            f"{name}_s": sum(float(row[f"{name}_ticks"]) * profile.tick_s for profile, row in rows)
            for name in _TIMES
        },
        longest_s=max(float(row["longest_ticks"]) * profile.tick_s for profile, row in rows),
        extent_bytes=max(int(row["extent"]) for _, row in rows),
        block_bytes=max(int(row["block_bytes"]) for _, row in rows),
        read_sizes=_sizes(row["read_sizes"] for _, row in rows),
        write_sizes=_sizes(row["write_sizes"] for _, row in rows),
        most_rank=most_rank,
        most_bytes=moved[most_rank],
    )


def _sizes(each: Iterable[np.ndarray]) -> list[int]:
    """Return the sum of histograms without the empty classes at its end."""
    total = [int(count) for count in np.asarray(list(each), np.int64).sum(axis=0)]
    while total and total[-1] == 0:
        total.pop()
    return total
