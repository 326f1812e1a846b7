"""Tables of a monitored program, shared by the page and the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hpcscope import units
from hpcscope.programs.profiles.machine_comparison import MachineComparison
from hpcscope.programs.profiles.records import Calls, FileLayer, FileUse, Merged, Spread
from hpcscope.programs.profiles.regions import OUTSIDE
from hpcscope.report.figure import Table
from hpcscope.report.profile.figures import size_range

_SPREADS = {
    "wall_s": ("wall-clock", "s"),
    "compute_s": ("computation", "s"),
    "mpi_s": ("in MPI", "s"),
    "user_s": ("CPU, user", "s"),
    "system_s": ("CPU, system", "s"),
    "off_processor_s": ("off-CPU", "s"),
    "init_s": ("MPI_Init", "s"),
    "file_s": ("in files", "s"),
    "file_bytes": ("bytes of files", "B"),
    "calls": ("calls", ""),
    "sent_messages": ("messages sent", ""),
    "sent_bytes": ("bytes sent", "B"),
    "voluntary_switches": ("voluntary context switches", ""),
    "involuntary_switches": ("involuntary context switches", ""),
    "major_faults": ("major page faults", ""),
    "peak_resident_bytes": ("peak resident memory", "B"),
}
"""Quantities of a process in reading order, with names and units."""


def spreads(merged: Merged, names: Sequence[str] | None = None) -> Table:
    """Return the quantities of the processes: mean, extremes, raw and sanitised variation, imbalance."""
    chosen = [(name, *_SPREADS[name]) for name in names or _SPREADS if name in merged.spreads]
    return Table(
        ["", "mean", "minimum", "maximum", "variation", "sanitized mean", "sanitized variation", "imbalance"],
        [_spread(title, merged.spreads[name], unit) for name, title, unit in chosen],
    )


def _spread(title: str, one: Spread, unit: str) -> list[str]:
    return [
        title,
        units.quantity(one.mean, unit),
        f"{units.quantity(one.least, unit)} (rank {one.least_rank})",
        f"{units.quantity(one.most, unit)} (rank {one.most_rank})",
        units.share(one.coefficient_of_variation),
        units.quantity(one.sanitised_mean, unit),
        units.share(one.sanitised_coefficient_of_variation),
        units.share(one.imbalance),
    ]


def routines(merged: Merged, most: int) -> Table:
    """Return the routines with the most time."""
    sums: dict[str, list[Calls]] = defaultdict(list)
    for one in merged.calls:
        sums[one.routine].append(one)
    ordered = sorted(sums.items(), key=lambda pair: -sum(one.time_s for one in pair[1]))[:most]
    whole_s = merged.calls_s
    rows = []
    for name, alike in ordered:
        time_s, calls = sum(one.time_s for one in alike), sum(one.calls for one in alike)
        carried = sum(one.bytes for one in alike)
        rows.append(
            [
                "beyond the table size" if name == "none" else name,
                units.quantity(time_s, "s"),
                units.share(time_s / whole_s),
                str(calls),
                units.quantity(time_s / max(calls, 1), "s"),
                units.quantity(carried / max(calls, 1), "B"),
            ]
        )
    return Table(["routine", "time", "of MPI", "calls", "per call", "bytes per call"], rows)


def sites(merged: Merged, most: int, frames: int | None = None) -> Table:
    """Return the call sites with the most time; those alike in their innermost `frames` are one, None: in all."""
    names = [" < ".join(one.frames[:frames]) for one in merged.sites]
    sums: dict[tuple[str, str], list[Calls]] = defaultdict(list)
    for one in merged.calls:
        if one.site is not None:
            sums[names[one.site], one.routine].append(one)
    whole_s = merged.calls_s
    ordered = sorted(sums.items(), key=lambda pair: -sum(one.time_s for one in pair[1]))[:most]
    return Table(
        ["call site", "routine", "time", "of MPI", "calls", "processes"],
        [
            [
                site,
                routine,
                units.quantity(sum(one.time_s for one in alike), "s"),
                units.share(sum(one.time_s for one in alike) / whole_s),
                str(sum(one.calls for one in alike)),
                str(max(one.processes for one in alike)),
            ]
            for (site, routine), alike in ordered
        ],
    )


def collectives(merged: Merged, most: int) -> Table:
    """Return the waiting time in synchronising collectives."""
    return Table(
        ["collective", "processes", "size", "calls per process", "time", "waiting at least", "at most", "last"],
        [
            [
                one.routine,
                str(one.communicator_size),
                size_range(one.size_class),
                str(one.calls),
                units.quantity(one.time_s, "s"),
                _part(one.waiting_least_s, one.time_s),
                _part(one.waiting_most_s, one.time_s),
                f"rank {one.last_rank}",
            ]
            for one in merged.collectives[:most]
        ],
    )


def waits(merged: Merged, most: int) -> Table:
    """Return the time in waits by the routine that created the request."""
    return Table(
        ["request of", "call site", "size", "requests", "time", "per request"],
        [
            [
                one.operation,
                merged.sites[one.site].frames[0] if one.site is not None and merged.sites[one.site].frames else "",
                size_range(one.size_class),
                str(one.requests),
                units.quantity(one.time_s, "s"),
                units.quantity(one.time_s / max(one.requests, 1), "s"),
            ]
            for one in merged.waits[:most]
        ],
    )


def machine_comparison(found: MachineComparison, most: int) -> Table:
    """Return each routine and size with its time on the machine; times of all processes."""
    return Table(
        [
            "routine",
            "size",
            "processes",
            "per call",
            "on the machine",
            "rate",
            "time",
            "avoidable",
            "waiting",
            "",
        ],
        [
            [
                one.routine,
                units.quantity(one.message_bytes, "B"),
                str(one.communicator_size),
                units.quantity(one.mean_s, "s"),
                units.quantity(one.machine_s, "s"),
                units.share(one.share),
                units.quantity(one.time_s, "s"),
                units.quantity(one.avoidable_s, "s"),
                _between(one.waiting_s, one.waiting_most_s),
                f"{one.benchmark}{', ' + one.note if one.note else ''}",
            ]
            for one in found.routines[:most]
        ],
    )


LAYERS: dict[FileLayer, str] = {
    "posix": "POSIX",
    "stream": "C stream",
    "mpi-io": "MPI-IO",
    "inside mpi-io": "POSIX in MPI-IO",
}


def files(merged: Merged, most: int) -> Table:
    """Return the files with the most time; MPI-IO's time includes that of its own calls of POSIX."""
    return Table(
        [
            *("file", "layer", "processes", "time", "opens", "read", "written", "per transfer"),
            *("in order", "unaligned", "collective", "gaps in the file", "in memory"),
        ],
        [
            [
                one.path or "other files",
                LAYERS[one.layer],
                str(one.processes),
                units.quantity(one.time_s, "s"),
                str(one.opens),
                units.quantity(one.read_bytes, "B"),
                units.quantity(one.written_bytes, "B"),
                units.quantity(one.bytes / one.transfers if one.transfers else None, "B"),
                *_order(one),
                *(
                    units.share(number / one.transfers if one.layer == "mpi-io" and one.transfers else None)
                    for number in (one.collective, one.file_gaps, one.memory_gaps)
                ),
            ]
            for one in merged.files[:most]
        ],
    )


def _order(one: FileUse) -> list[str]:
    """Return the shares of transfers that begin where the last one ended, and within a block; of POSIX alone."""
    known = one.layer in ("posix", "inside mpi-io") and one.transfers > 0
    counts = (one.consecutive, one.unaligned)
    return [units.share(count / one.transfers if known else None) for count in counts]


def file_times(merged: Merged, most: int) -> Table:
    """Return the time of the same files by what was done, and the rate of their reads and writes."""
    return Table(
        [
            "file",
            "layer",
            "opening",
            "reading",
            "writing",
            "syncing",
            "closing, seeking, locking",
            "longest",
            "rate",
            "most by",
        ],
        [
            [
                one.path or "other files",
                LAYERS[one.layer],
                *(_seconds(getattr(one, f"{name}_s")) for name in ("open", "read", "write", "sync", "other")),
                _seconds(one.longest_s),
                units.quantity(one.bytes / one.transfer_s if one.bytes and one.transfer_s else None, "B/s"),
                f"rank {one.most_rank}, {units.share(one.most_bytes / one.bytes)}" if one.bytes else "",
            ]
            for one in merged.files[:most]
        ],
    )


def transfer_sizes(merged: Merged) -> Table:
    """Return the numbers of reads and writes of all files by their size and layer."""
    kinds: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for layer, name in LAYERS.items():
        for one in merged.files:
            if one.layer == layer:
                for action, sizes in (("reads", one.read_sizes), ("writes", one.write_sizes)):
                    for size, transfers in enumerate(sizes):
                        kinds[f"{action}, {name}"][size] += transfers
    shown = {name: sizes for name, sizes in kinds.items() if any(sizes.values())}
    classes = sorted({size for sizes in shown.values() for size, transfers in sizes.items() if transfers})
    return Table(
        ["size", *shown],
        [[size_range(size), *(str(sizes.get(size, 0)) for sizes in shown.values())] for size in classes],
    )


def _seconds(value: float) -> str:
    return units.quantity(value, "s") if value else "0"


def regions(merged: Merged) -> Table:
    """Return the regions that the program marks."""
    return Table(
        ["region", "processes", "entries", "time", "in MPI", "longest"],
        [
            [
                one.label if one.number else OUTSIDE,
                str(one.processes),
                str(one.entries),
                units.quantity(one.time_s, "s"),
                _part(one.mpi_s, one.time_s),
                f"{units.quantity(one.most_s, 's')} (rank {one.most_rank})",
            ]
            for one in merged.regions
        ],
    )


def unfinished(merged: Merged, most: int) -> Table:
    """Return the processes that did not reach the end of MPI_Finalize."""
    return Table(
        ["rank", "host", "end", "last heartbeat", "inside", "resident"],
        [
            [
                str(one.rank),
                one.host,
                one.state if one.abort_code is None else f"{one.state}, code {one.abort_code}",
                units.quantity(one.wall_s, "s"),
                one.in_routine or "computation",
                units.quantity(one.usage.resident_bytes if one.usage else None, "B"),
            ]
            for one in merged.unfinished[:most]
        ],
    )


def late(merged: Merged, most: int) -> Table:
    """Return late senders and receivers in the traced window."""
    found = merged.late.ranks if merged.late else []
    ordered = sorted(found, key=lambda one: -(one.late_sender_s + one.late_receiver_s))[:most]
    return Table(
        ["rank", "waited", "others waited for its sends", "for its receives"],
        [
            [
                str(one.rank),
                *(units.quantity(value, "s") for value in (one.waited_s, one.late_sender_s, one.late_receiver_s)),
            ]
            for one in ordered
        ],
    )


def _between(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "unknown"
    shown = [units.quantity(value, "s") for value in (low, high)]
    return shown[0] if shown[0] == shown[1] else " to ".join(shown)


def _part(part: float, whole: float) -> str:
    return f"{units.quantity(part, 's')} ({units.share(part / whole if whole else None)})"
