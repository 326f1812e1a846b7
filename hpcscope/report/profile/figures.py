"""Figures of a monitored program: its time by rank, routine, message size, partner and moment."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from hpcscope import units
from hpcscope.grouping import grouped
from hpcscope.programs.profiles.records import Calls, Merged, ProfiledProcess
from hpcscope.programs.profiles.routines import Kind, kind
from hpcscope.programs.profiles.traffic import matrix
from hpcscope.report.figure import Figure, Plot, Table, number, scatter
from hpcscope.report.run.figures.heat import cells, places
from hpcscope.report.run.figures.stacked import bars, layout

Group = TypeVar("Group", bound=Hashable)
MOST_RANKS = 48
"""Maximum number of ranks in figures by rank; beyond it, a selection and the ranks that stand out."""
MOST_ROUTINES = 16
_KINDS: tuple[Kind, ...] = ("send", "receive", "send and receive", "wait", "collective")
"""Kinds of routines with their own colors, starting at slot 1; all other kinds share a color."""
_OTHER = "other"
SLOTS: dict[str, int] = {"computation": 0} | {name: slot for slot, name in enumerate(_KINDS, 1)} | {_OTHER: 8}
"""Color slot of each kind of time, the same in all figures."""
_IN_MPI, _ON_PROCESSOR, _IN_KERNEL, _MEMORY = 6, 7, 9, 10
"""Color slots of quantities that are not kinds of time."""
_SIDE, _LOWEST, _HIGHEST = 26, 300, 720
_WRITTEN = 12
"""Maximum number of rows at which the cells of a matrix contain values."""
_MEASURED = ["measured"]
_WAITS = "waits for "


def by_process(merged: Merged) -> Figure:
    """Return computation and time in MPI of each rank as stacked bars."""
    chosen = outstanding(merged)
    parts = _by_kind([[("computation", process.compute_s), *process.kinds_s.items()] for process in chosen])
    left_out = len(merged.processes) - len(chosen)
    return Figure(
        key="by-process",
        title="Where the time of each rank goes",
        caption="Between MPI_Init and MPI_Finalize. Time outside MPI is computation, file access and the rest."
        + (" Concurrent calls of several threads are added up." if _threaded(merged) else "")
        + (f" Ranks that are not shown: {left_out}." if left_out else ""),
        traces=_bars([f"rank {process.rank}" for process in chosen], parts),
        layout=layout(len(chosen)),
        table=Table(
            ["rank", "host", "wall", *parts, "user", "system", "off the processor"],
            [
                [
                    str(process.rank),
                    process.host,
                    _s(process.wall_s),
                    *(_s(seconds[index]) for seconds in parts.values()),
                    *_usage(process),
                ]
                for index, process in enumerate(chosen)
            ],
        ),
        origins=_MEASURED,
        wide=True,
    )


def by_routine(merged: Merged) -> Figure:
    """Return the time of all processes in each routine."""
    ordered = by_time(merged.calls, lambda call: call.routine)
    shown = ordered[:MOST_ROUTINES]
    whole_s = merged.calls_s
    return Figure(
        key="by-routine",
        title="Time in each routine, all ranks together",
        caption="A nonblocking call counts until it returns; the completion counts in the wait routine."
        + (f" The table has {len(ordered) - len(shown)} more routines." if len(ordered) > len(shown) else ""),
        traces=_bars(
            [name for name, _ in shown], _by_kind([[(kind(name), time_s(calls))] for name, calls in shown])
        ),
        layout=layout(len(shown)),
        table=Table.of(
            {
                "routine": name,
                "time": _s(time_s(calls)),
                "fraction of MPI": units.share(time_s(calls) / whole_s),
                "calls": str(total(calls, "calls")),
                "per call": _s(time_s(calls) / max(total(calls, "calls"), 1)),
                "bytes": units.quantity(total(calls, "bytes"), "B"),
            }
            for name, calls in ordered
        ),
        origins=_MEASURED,
    )


def by_size(merged: Merged) -> Figure:
    """Return the time by message size in the routines that carry data, with a color for each kind of routine."""
    carrying = [call for call in merged.calls if call.size_class > 0 and call.time_s > 0]
    waits: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for link in carrying:
        waits[link.routine][link.size_class] += link.time_s
    for wait in merged.waits:
        if wait.size_class > 0:
            waits[f"{_WAITS}{wait.operation}"][wait.size_class] += wait.time_s
    ordered = sorted(waits.items(), key=lambda pair: -sum(pair[1].values()))
    classes = sorted({size for _, sizes in ordered for size in sizes})
    labels = [size_range(size) for size in classes]
    kinds = {name: "wait" if name.startswith(_WAITS) else kind(name) for name in waits}
    parts = _by_kind([[(kinds[name], sizes.get(size, 0.0)) for name, sizes in ordered] for size in classes])
    return Figure(
        key="by-size",
        title="Time by message size, all ranks together",
        caption="Size of the message, or of a rank's contribution to a collective. The table has each routine.",
        traces=_bars(labels, parts),
        layout=layout(len(classes)),
        table=Table(
            ["size", *(name for name, _ in ordered)],
            [
                [label, *(_s(sizes.get(size, 0.0)) for _, sizes in ordered)]
                for label, size in zip(labels, classes, strict=True)
            ],
        ),
        origins=_MEASURED,
    )


def _by_kind(rows: Sequence[Iterable[tuple[str, float]]]) -> dict[str, list[float]]:
    """Return the times in s of each kind in each row, in the order of the colors; a row is kinds with times."""
    sums = {name: [0.0] * len(rows) for name in SLOTS}
    for place, row in enumerate(rows):
        for name, seconds in row:
            sums[name if name in sums else _OTHER][place] += seconds
    return {name: seconds for name, seconds in sums.items() if any(seconds)}


def _bars(labels: Sequence[str], parts: dict[str, list[float]]) -> list[Plot]:
    return [bars(name, SLOTS[name], labels, seconds) for name, seconds in parts.items()]


def traffic(merged: Merged) -> Iterator[Figure]:
    """Yield the matrices of bytes, of messages, and of the time that receivers spent on the messages."""
    if not merged.traffic.sender:
        return
    for column, unit, title in (
        ("bytes", "B", "Bytes sent, point to point"),
        ("messages", "", "Messages sent, point to point"),
        ("receive_s", "s", "Time that the receiver spends in receive calls and in their wait calls"),
    ):
        dense = matrix(merged.traffic, merged.ranks, column)
        if dense.any():
            yield _matrix(merged, dense.tolist(), column, unit, title)


def course(merged: Merged) -> Iterator[Figure]:
    """Yield the course over time: fractions of all ranks' time, memory and messages, and each rank's course."""
    found = merged.timeline
    if found is None or len(found.mpi_share) < 2:
        return
    moments = [number((index + 0.5) * found.step_s) for index in range(len(found.mpi_share))]
    axis: Plot = {"title": {"text": "time after MPI_Init in s"}}
    shares = {
        "in MPI": found.mpi_share,
        "on the processor": found.processor_share,
        "in the kernel": found.system_share,
    }
    slots = (_IN_MPI, _ON_PROCESSOR, _IN_KERNEL)
    yield Figure(
        key="course-shares",
        title="The program over time",
        caption="Fractions of the time of all ranks, in steps of " + _s(found.step_s) + ".",
        traces=[
            _line(name, slot, moments, values) for slot, (name, values) in zip(slots, shares.items(), strict=True)
        ],
        layout={"xaxis": axis, "yaxis": {"title": {"text": "fraction of the time"}, "tickformat": ".0%"}},
        table=_course_table(moments, {name: [units.share(v) for v in values] for name, values in shares.items()}),
        origins=_MEASURED,
    )
    yield Figure(
        key="course-memory",
        title="Memory and messages over time",
        caption="Resident memory of all ranks together, and bytes sent point to point in each second.",
        traces=[
            _line("resident memory in GiB", _MEMORY, moments, [value / 2**30 for value in found.resident_bytes]),
            _line(
                "sent in GB/s", SLOTS["send"], moments, [value / found.step_s / 1e9 for value in found.sent_bytes]
            ),
        ],
        layout={"xaxis": axis, "yaxis": {"title": {"text": "GiB, GB/s"}, "rangemode": "tozero"}},
        table=_course_table(
            moments,
            {
                "resident": [units.quantity(value, "B") for value in found.resident_bytes],
                "sent": [units.quantity(value / found.step_s, "B/s") for value in found.sent_bytes],
            },
        ),
        origins=_MEASURED,
    )
    if len(found.ranks) > 1:
        yield _course_by_rank(merged, moments)


def outstanding(merged: Merged) -> list[ProfiledProcess]:
    """Return the ranks that figures show: all, or an evenly spread selection and the ranks that stand out."""
    if len(merged.processes) <= MOST_RANKS:
        return merged.processes
    marked = {merged.spreads[name].most_rank for name in ("compute_s", "mpi_s", "wall_s")}
    marked |= {merged.spreads[name].least_rank for name in ("compute_s", "mpi_s")}
    marked |= {process.rank for process in merged.unfinished[:8]}
    places = np.linspace(0, len(merged.processes) - 1, MOST_RANKS - len(marked)).astype(int)
    marked |= {merged.processes[place].rank for place in places}
    return [process for process in merged.processes if process.rank in marked]


def size_range(size_class: int) -> str:
    """Return the size range of a class without its upper end: 1,024 to 2,047 B is `1 KiB to 2 KiB`."""
    if size_class == 0:
        return "0 B"
    return f"{units.size(1 << (size_class - 1))} to {units.size(1 << size_class)}"


def _matrix(merged: Merged, dense: list[list[float]], column: str, unit: str, title: str) -> Figure:
    side, block = len(dense), merged.traffic.block
    names = [_ranks(place, block, merged.ranks) for place in range(side)]
    shown = [[units.quantity(value, unit) if value else "" for value in row] for row in dense]
    hover = [
        [f"{names[row]} to {names[place]}: {units.quantity(dense[row][place], unit)}" for place in range(side)]
        for row in range(side)
    ]
    numbers = [name.removeprefix("rank ").removeprefix("ranks ") for name in names]
    values: list[list[float | None]] = [[float(value) if value else None for value in row] for row in dense]
    pairs = sorted(
        ((dense[row][place], row, place) for row in range(side) for place in range(side) if dense[row][place]),
        reverse=True,
    )
    return Figure(
        key=f"traffic-{column}",
        title=title,
        caption=("A dark row is a sender that others wait for, or that sends many bytes. " if unit == "s" else "")
        + "A row for each sender, a column for each receiver."
        + (f" {block} successive ranks share a row and a column." if block > 1 else ""),
        traces=[cells(values, hover, shown if side <= _WRITTEN else None, unit)],
        layout={
            "height": min(_HIGHEST, max(_LOWEST, 110 + _SIDE * side)),
            "xaxis": places(numbers, "receiver"),
            "yaxis": places(numbers, "sender", down=True, scaleanchor="x"),
        },
        table=Table(
            ["sender", "receiver", column.removesuffix("_s")],
            [[names[row], names[place], units.quantity(value, unit)] for value, row, place in pairs[:200]],
        ),
        origins=_MEASURED,
    )


def _course_by_rank(merged: Merged, moments: Sequence[float]) -> Figure:
    found = merged.timeline
    assert found is not None
    shares = found.mpi_share_by_rank
    left_out = len(merged.processes) - len(found.ranks)
    return Figure(
        key="course-by-rank",
        title="Fraction of time in MPI, by rank and over time",
        caption="Dark is MPI. Stripes across all rows are communication phases. A light row among dark rows is a "
        "rank for which the other ranks wait." + (f" Ranks that are not shown: {left_out}." if left_out else ""),
        traces=[
            {
                "type": "heatmap",
                "x": list(moments),
                "y": list(range(len(shares))),
                "z": shares,
                "zmin": 0,
                "zmax": 1,
                "hovertemplate": "%{x} s\n%{z:.0%} in MPI",
                "colorbar": {"tickformat": ".0%"},
                "meta": {"role": "heat"},
            }
        ],
        layout={
            "height": min(_HIGHEST, max(240, 110 + 14 * len(shares))),
            "xaxis": {"title": {"text": "time after MPI_Init in s"}},
            "yaxis": places([f"rank {rank}" for rank in found.ranks], down=True),
        },
        table=Table.of(
            {
                "rank": str(process.rank),
                "in MPI / all": units.share(process.mpi_s / process.wall_s if process.wall_s else None),
            }
            for process in merged.processes
            if process.rank in set(found.ranks)
        ),
        origins=_MEASURED,
        wide=True,
    )


def _line(name: str, slot: int, moments: Sequence[float], values: Sequence[float]) -> Plot:
    return scatter(moments, values, name, slot=slot, mode="lines", hover=f"{name}\n%{{x}} s: %{{y}}")


def _course_table(moments: Sequence[float], columns: dict[str, list[str]]) -> Table:
    return Table(
        ["time after MPI_Init", *columns],
        [[_s(moment), *(values[index] for values in columns.values())] for index, moment in enumerate(moments)],
    )


def _ranks(place: int, block: int, ranks: int) -> str:
    first, last = place * block, min((place + 1) * block, ranks) - 1
    return f"rank {first}" if first == last else f"ranks {first} to {last}"


def _threaded(merged: Merged) -> bool:
    """Return whether several threads were in MPI at once: their calls add up to more than a rank's time in MPI."""
    return any(sum(process.kinds_s.values()) > 1.02 * process.mpi_s for process in merged.processes)


def _usage(process: ProfiledProcess) -> list[str]:
    if process.usage is None:
        return ["–"] * 3
    return [
        units.quantity(value, "s")
        for value in (process.usage.user_s, process.usage.system_s, process.off_processor_s)
    ]


def time_kind(kind: Kind) -> str:
    """Return the kind that determines the color in figures."""
    return kind if kind in _KINDS else _OTHER


def by_time(calls: Iterable[Calls], key: Callable[[Calls], Group]) -> list[tuple[Group, list[Calls]]]:
    """Group calls by their `key`, groups with the most time first."""
    return sorted(grouped(calls, key).items(), key=lambda group: -time_s(group[1]))


def time_s(calls: Sequence[Calls]) -> float:
    """Return the time of several calls."""
    return sum(call.time_s for call in calls)


def total(calls: Sequence[Calls], name: str) -> int:
    """Return the number of several calls (`calls`), or of the bytes that they carried (`bytes`)."""
    return sum(getattr(call, name) for call in calls)


def _s(seconds: float) -> str:
    return units.quantity(seconds, "s")


def described(merged: Merged) -> str:
    """Return one line that describes a program: `lmp: 4 ranks on 2 hosts`."""
    name = (merged.arguments or [merged.program])[0].rpartition("/")[2] or "a program"
    hosts = f" on {merged.hosts[0]}" if len(merged.hosts) == 1 else f" on {len(merged.hosts)} hosts"
    return f"{name}: {units.count(merged.ranks, 'rank')}{hosts}"
