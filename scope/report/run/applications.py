"""Tables of applications: what each is made of, whatever machine runs it, and what became of its time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.table import Table as Grid
from rich.text import Text

from scope import units
from scope.build.registry import BenchmarkDescription
from scope.models.fit import Application, ApplicationPoint, Bounds, Models, Speedup, SpeedupPoint
from scope.models.scaling.amdahl import WORST_ERROR
from scope.report.figure import Table

STATIC = ["application", "class", "problem", "iterations", "10^6 operations", "processes"]
STATIC += ["memory of a process", "messages", "sent", "of each message"]
TIMES = ["application", "processes", "time", "speed-up", "efficiency", "compute", "of a0/p", "communicate", "idle"]
WORDS = ("application", "class", "problem")
CROWDED = " (more processes than processors)"


def characterisation(found: Sequence[Application], benchmarks: dict[str, BenchmarkDescription]) -> Table:
    """Return what does not depend on the machine, as NetFinity's table 2 (Tessera, sec. 3.1) and beyond it.

    Messages and bytes are those of all processes; memory is that of the largest.
    """
    rows = [
        [*_problem(one, benchmarks.get(one.subject.benchmark)), *_sent(point)]
        for one in found
        for point in one.points
    ]
    return Table(STATIC, [list(row) for row in dict.fromkeys(map(tuple, rows))])


def times(models: Models) -> Table:
    """Return the time of each application on each number of processes, and the parts of it."""
    return Table(
        TIMES,
        [
            [_words(one), *_shares(one, point, _speedup(one, point, models.speedups))]
            for one in models.applications
            for point in one.points
        ],
    )


def laws(found: Sequence[Application]) -> list[str]:
    """Say for each application what its computation takes altogether, and how far its points are from that."""
    return [f"{_words(one)}: {law(one)}." for one in found]


def drawn(table: Table) -> Grid:
    """Return a table for the terminal: names at the left, figures at the right."""
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="italic")
    for name in table.columns:
        grid.add_column(name, no_wrap=True, justify="left" if name in WORDS else "right")
    for row in table.rows:
        grid.add_row(*map(Text, row))
    return grid


def law(one: Application) -> str:
    """Write the law of computation, or why there is none."""
    if one.computation_s is None:
        return f"no law of computation: {one.reason}"
    a0, off = f"a0 = {_quantity(one.computation_s)}", units.share(one.deviation)
    if (one.deviation or 0.0) > WORST_ERROR:
        return f"{a0}, which describes nothing: computation lies up to {off} off a0/p"
    return f"{a0}, computation lies at most {off} off a0/p"


def _problem(one: Application, described: BenchmarkDescription | None) -> list[str]:
    size = str(one.subject.parameters.get("class", "–"))
    return [
        _name(one),
        size,
        _size(size, described),
        f"{one.iterations:.0f}",
        f"{one.operations / 1e6:.1f}",
    ]


def _size(size: str, described: BenchmarkDescription | None) -> str:
    """Return what the benchmark says of a class: `S 12^3 points, W 33^3 points` stands behind a colon."""
    meanings = [each.meaning for each in described.parameters if each.name == "class"] if described else []
    said = re.search(rf"[:,] {size} ([^,]+)", meanings[0]) if meanings else None
    return said[1] if said else "–"


def _sent(point: ApplicationPoint) -> list[str]:
    each = point.message_bytes / point.messages if point.messages else None
    return [
        str(point.ranks),
        units.quantity(point.memory_bytes, "B"),
        f"{point.messages:.0f}",
        units.quantity(point.message_bytes, "B"),
        units.quantity(each, "B"),
    ]


def _shares(one: Application, point: ApplicationPoint, gained: SpeedupPoint | None) -> list[str]:
    law_s = one.computation_s.value / point.ranks if one.computation_s else None
    efficiency = gained.efficiency if gained else None
    return [
        f"{point.ranks}{CROWDED if point.oversubscribed else ''}",
        _quantity(point.time_s),
        _figure(gained.speedup if gained else None),
        units.share(efficiency.value, efficiency.low, efficiency.high) if efficiency else "–",
        _quantity(point.compute_s),
        units.share(point.compute_s.value / law_s) if law_s else "–",
        _quantity(point.communicate_s) if point.ranks > 1 else "–",
        _quantity(point.idle_s) if point.ranks > 1 else "–",
    ]


def _speedup(one: Application, point: ApplicationPoint, found: Sequence[Speedup]) -> SpeedupPoint | None:
    wanted = one.subject
    for each in found:
        subject = each.subject
        same = (subject.benchmark, subject.parameters, subject.transport, each.origin)
        if same == (wanted.benchmark, wanted.parameters, wanted.transport, one.origin):
            return next((other for other in each.points if other.ranks == point.ranks), None)
    return None


def _name(one: Application) -> str:
    return one.subject.benchmark.partition(".")[2]


def _words(one: Application) -> str:
    subject = one.subject
    words = [_name(one), *(str(value) for value in subject.parameters.values())]
    words += [subject.transport] if subject.transport != "default" else []
    words += [one.origin] if one.origin != "measured" else []
    return " ".join(words)


def _quantity(bounds: Bounds) -> str:
    return units.interval(bounds.value, bounds.low, bounds.high, "s")


def _figure(bounds: Bounds | None) -> str:
    return units.interval(bounds.value, bounds.low, bounds.high, "") if bounds else "–"
