"""Tables of a monitored program, shared by the report and the terminal."""

from collections import defaultdict
from collections.abc import Sequence

from hpcscope import units
from hpcscope.programs.profiles.machine_comparison import MachineComparison
from hpcscope.programs.profiles.records import FileLayer, FileUse, Merged
from hpcscope.programs.profiles.regions import OUTSIDE
from hpcscope.report.figure import Table
from hpcscope.report.profile.figures import by_time, size_range, time_s, total

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
"""Quantities of a rank in reading order, with their titles and units."""


def spreads(merged: Merged, names: Sequence[str] | None = None) -> Table:
    """Return each quantity over the ranks: mean, extremes, raw and sanitized variation, imbalance."""
    chosen = [(merged.spreads[name], *_SPREADS[name]) for name in names or _SPREADS if name in merged.spreads]
    return Table.of(
        {
            "": title,
            "mean": units.quantity(spread.mean, unit),
            "minimum": f"{units.quantity(spread.least, unit)} (rank {spread.least_rank})",
            "maximum": f"{units.quantity(spread.most, unit)} (rank {spread.most_rank})",
            "variation": units.share(spread.coefficient_of_variation),
            "sanitized mean": units.quantity(spread.sanitized_mean, unit),
            "sanitized variation": units.share(spread.sanitized_coefficient_of_variation),
            "imbalance": units.share(spread.imbalance),
        }
        for spread, title, unit in chosen
    )


def routines(merged: Merged, most: int) -> Table:
    """Return the routines with the most time."""
    whole_s = merged.calls_s
    ordered = by_time(merged.calls, lambda call: call.routine)[:most]
    return Table.of(
        {
            "routine": "beyond the table size" if name == "none" else name,
            "time": units.quantity(time_s(alike), "s"),
            "of MPI": units.share(time_s(alike) / whole_s),
            "calls": str(total(alike, "calls")),
            "per call": units.quantity(time_s(alike) / max(total(alike, "calls"), 1), "s"),
            "bytes per call": units.quantity(total(alike, "bytes") / max(total(alike, "calls"), 1), "B"),
        }
        for name, alike in ordered
    )


def sites(merged: Merged, most: int, frames: int | None = None) -> Table:
    """Return the call sites with the most time; sites with equal innermost `frames` (None: all frames) are one."""
    names = [" < ".join(site.frames[:frames]) for site in merged.sites]
    known = [call for call in merged.calls if call.site is not None]
    ordered = by_time(known, lambda call: (names[call.site or 0], call.routine))
    whole_s = merged.calls_s
    return Table.of(
        {
            "call site": site,
            "routine": routine,
            "time": units.quantity(time_s(alike), "s"),
            "of MPI": units.share(time_s(alike) / whole_s),
            "calls": str(total(alike, "calls")),
            "ranks": str(max(calls.processes for calls in alike)),
        }
        for (site, routine), alike in ordered[:most]
    )


def collectives(merged: Merged, most: int) -> Table:
    """Return the time spent waiting in synchronizing collectives."""
    return Table.of(
        {
            "collective": collective.routine,
            "ranks": str(collective.communicator_size),
            "size": size_range(collective.size_class),
            "time": units.quantity(collective.time_s, "s"),
            "waiting at least": _part(collective.waiting_least_s, collective.time_s),
            "at most": _part(collective.waiting_most_s, collective.time_s),
            "last rank": f"rank {collective.last_rank}",
            "calls per rank": str(collective.calls),
        }
        for collective in merged.collectives[:most]
    )


def waits(merged: Merged, most: int) -> Table:
    """Return the time in wait calls by the routine that created the request."""
    return Table.of(
        {
            "request of": waits.operation,
            "call site": merged.sites[waits.site].frames[0]
            if waits.site is not None and merged.sites[waits.site].frames
            else "",
            "size": size_range(waits.size_class),
            "requests": str(waits.requests),
            "time": units.quantity(waits.time_s, "s"),
            "per request": units.quantity(waits.time_s / max(waits.requests, 1), "s"),
        }
        for waits in merged.waits[:most]
    )


def machine_comparison(comparison: MachineComparison, most: int) -> Table:
    """Return each routine and size with its time per call, the machine's time, and the sums over all ranks."""
    return Table(
        ["routine", "size", "ranks", "per call", "on the machine", "rate", "time", "avoidable", "waiting", ""],
        [
            [
                line.routine,
                units.quantity(line.message_bytes, "B"),
                str(line.communicator_size),
                units.quantity(line.mean_s, "s"),
                units.quantity(line.machine_s, "s"),
                units.share(line.share),
                units.quantity(line.time_s, "s"),
                units.quantity(line.avoidable_s, "s"),
                _between(line.waiting_s, line.waiting_most_s),
                f"{line.benchmark}{', ' + line.note if line.note else ''}",
            ]
            for line in comparison.routines[:most]
        ],
    )


LAYERS: dict[FileLayer, str] = {
    "posix": "POSIX",
    "stream": "C stream",
    "mpi-io": "MPI-IO",
    "inside mpi-io": "POSIX in MPI-IO",
}


def files(merged: Merged, most: int) -> Table:
    """Return the files with the most time; the time of MPI-IO includes its own POSIX calls."""
    return Table(
        [
            *("file", "layer", "ranks", "time", "opens", "read", "written", "per transfer"),
            *("in order", "unaligned", "collective", "gaps in the file", "gaps in memory"),
        ],
        [
            [
                file.path or "other files",
                LAYERS[file.layer],
                str(file.processes),
                units.quantity(file.time_s, "s"),
                str(file.opens),
                units.quantity(file.read_bytes, "B"),
                units.quantity(file.written_bytes, "B"),
                units.quantity(file.bytes / file.transfers if file.transfers else None, "B"),
                *_order(file),
                *(
                    units.share(number / file.transfers if file.layer == "mpi-io" and file.transfers else None)
                    for number in (file.collective, file.file_gaps, file.memory_gaps)
                ),
            ]
            for file in merged.files[:most]
        ],
    )


def _order(file: FileUse) -> list[str]:
    """Return the fractions of POSIX transfers that continue the previous one, and that start inside a block."""
    known = file.layer in ("posix", "inside mpi-io") and file.transfers > 0
    counts = (file.consecutive, file.unaligned)
    return [units.share(count / file.transfers if known else None) for count in counts]


def file_times(merged: Merged, most: int) -> Table:
    """Return the time of the same files by operation, and the rate of their reads and writes."""
    return Table(
        [
            *("file", "layer", "opening", "reading", "writing", "syncing", "closing, seeking, locking"),
            *("longest", "rate", "most by"),
        ],
        [
            [
                file.path or "other files",
                LAYERS[file.layer],
                *(seconds(getattr(file, f"{name}_s")) for name in ("open", "read", "write", "sync", "other")),
                seconds(file.longest_s),
                units.quantity(file.bytes / file.transfer_s if file.bytes and file.transfer_s else None, "B/s"),
                f"rank {file.most_rank}, {units.share(file.most_bytes / file.bytes)}" if file.bytes else "",
            ]
            for file in merged.files[:most]
        ],
    )


def transfer_sizes(merged: Merged) -> Table:
    """Return the numbers of reads and writes of all files by transfer size and layer."""
    kinds: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for layer, name in LAYERS.items():
        for file in merged.files:
            if file.layer == layer:
                for action, sizes in (("reads", file.read_sizes), ("writes", file.write_sizes)):
                    for size, transfers in enumerate(sizes):
                        kinds[f"{action}, {name}"][size] += transfers
    shown = {name: sizes for name, sizes in kinds.items() if any(sizes.values())}
    classes = sorted({size for sizes in shown.values() for size, transfers in sizes.items() if transfers})
    return Table(
        ["size", *shown],
        [[size_range(size), *(str(sizes.get(size, 0)) for sizes in shown.values())] for size in classes],
    )


def seconds(value: float) -> str:
    """Return a time in words; no time at all has no unit."""
    return units.quantity(value, "s") if value else "0"


def regions(merged: Merged) -> Table:
    """Return the regions that the program marked."""
    return Table.of(
        {
            "region": region.label if region.number else OUTSIDE,
            "ranks": str(region.processes),
            "entries": str(region.entries),
            "time": units.quantity(region.time_s, "s"),
            "in MPI": _part(region.mpi_s, region.time_s),
            "longest": f"{units.quantity(region.most_s, 's')} (rank {region.most_rank})",
        }
        for region in merged.regions
    )


def unfinished(merged: Merged, most: int) -> Table:
    """Return the ranks that did not reach the end of MPI_Finalize."""
    return Table.of(
        {
            "rank": str(process.rank),
            "host": process.host,
            "end": process.state if process.abort_code is None else f"{process.state}, code {process.abort_code}",
            "last heartbeat": units.quantity(process.wall_s, "s"),
            "inside": process.in_routine or "computation",
            "resident": units.quantity(process.usage.resident_bytes if process.usage else None, "B"),
        }
        for process in merged.unfinished[:most]
    )


def late(merged: Merged, most: int) -> Table:
    """Return the late senders and receivers in the trace window."""
    ranks = merged.late.ranks if merged.late else []
    ordered = sorted(ranks, key=lambda one: -(one.late_sender_s + one.late_receiver_s))
    return Table.of(
        {
            "rank": str(one.rank),
            "waited": units.quantity(one.waited_s, "s"),
            "others waited for its sends": units.quantity(one.late_sender_s, "s"),
            "others waited for its receives": units.quantity(one.late_receiver_s, "s"),
        }
        for one in ordered[:most]
    )


def _between(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "unknown"
    shown = [units.quantity(value, "s") for value in (low, high)]
    return shown[0] if shown[0] == shown[1] else " to ".join(shown)


def _part(part: float, whole: float) -> str:
    return f"{units.quantity(part, 's')} ({units.share(part / whole if whole else None)})"
