"""Rooflines: arithmetic rate of a core or device over the operations per byte of memory traffic."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from hpcscope import units
from hpcscope.catalog.benchmark import Layer, Pattern
from hpcscope.catalog.catalog import LIMIT
from hpcscope.findings.results import Run
from hpcscope.report.figure import Figure, Plot, Table, log_axis, origins, scatter, shown
from hpcscope.report.run.figures.grouping import MOST_SERIES
from hpcscope.report.run.results import has_default_problem, results
from hpcscope.statistics.summary import Summary

_ROOM = 2.0
"""Factor by which the roof extends beyond the points and its corner."""

Point = tuple[float, Summary]
"""Operations per byte, and the arithmetic rate."""


class Roof(NamedTuple):
    """Sources of the roof and of the points in a figure."""

    key: str
    title: str
    level: str
    """Level of the benchmarks that are drawn as points."""
    layer: Layer
    """Layer with the results of the roof's two patterns."""
    arithmetic: Pattern
    memory: Pattern


ROOFS = (
    Roof("roofline", "Roofline of one rank", "node", LIMIT, "arithmetic", "memory"),
    Roof("device-roofline", "Roofline of a device", "device", "device", "device_arithmetic", "device_memory"),
)


def figures(run: Run) -> Iterator[Figure]:
    """Yield the rooflines whose roof and points were measured on one rank."""
    for roof in ROOFS:
        yield from _figure(run, roof)


def _figure(run: Run, of: Roof) -> Iterator[Figure]:
    rates = _limits(run, of, of.arithmetic, "flop/s")
    peak, memory = max(rates, key=lambda case: case.median or 0.0, default=None), _memory(run, of)
    lines = _lines(run, of.level)
    if peak is None or memory is None or not lines:
        return
    top, slope = peak.median or 0.0, memory.median or 0.0
    group = [case for line in lines.values() for _, case in line]
    xs = [x for line in lines.values() for x, _ in line]
    low, high = min(xs) / _ROOM, max(*xs, top / slope) * _ROOM
    roof = [low, top / slope, high]
    ys = [case.median or 0.0 for case in group]
    traces: list[Plot] = [
        scatter(
            roof,
            [min(top, slope * x) for x in roof],
            f"{units.quantity(top, 'flop/s')}, {units.quantity(slope, 'B/s')}",
            role="limit",
            mode="lines",
        ),
        *(_points(name, line, slot) for slot, (name, line) in enumerate(lines.items())),
    ]
    axis = log_axis("operations per byte", [low, high], "")
    yield Figure(
        key=of.key,
        title=of.title,
        caption=f"The roof is the lower of the peak rate ({peak.label}) and the rate at which memory delivers "
        f"operands ({memory.label}). Points above the slope have their data in a cache. Bytes are declared "
        "by the benchmarks, not counted by hardware.",
        traces=traces,
        layout={"xaxis": axis, "yaxis": log_axis("arithmetic rate", [*ys, top, slope * low], "flop/s")},
        table=Table(
            ["case", "operations per byte", "arithmetic rate"],
            [[case.label, f"{x:.3g}", shown(case)] for line in lines.values() for x, case in line],
        ),
        origins=origins(group),
        wide=True,
    )


def _points(name: str, line: list[Point], slot: int) -> Plot:
    return scatter(
        [x for x, _ in line],
        [case.median for _, case in line],
        name,
        slot=slot,
        text=[f"{case.label}: {shown(case)} at {x:.3g} operations per byte" for x, case in line],
    )


def _lines(run: Run, level: str) -> dict[str, list[Point]]:
    """Return the one-rank cases whose declared work has both operations and bytes, by benchmark."""
    found: dict[str, list[Point]] = defaultdict(list)
    for benchmark in run.benchmarks:
        if benchmark.level != level:
            continue
        alone = [case for case in results(run, benchmark.name) if case.ranks == 1]
        moved = {case.key: case.median for case in alone if _quantity(run, case) == "bytes"}
        for summary in alone:
            if _quantity(run, summary) == "flops" and moved.get(summary.key):
                found[benchmark.title].append(((summary.median or 0.0) / (moved[summary.key] or 1.0), summary))
    longest = sorted(found.items(), key=lambda item: -len(item[1]))[:MOST_SERIES]
    return dict(longest)


def _quantity(run: Run, case: Summary) -> str:
    declared = run.benchmarks.metric(case.benchmark, case.metric)
    return declared.quantity if declared else ""


def _memory(run: Run, of: Roof) -> Summary | None:
    """Return the rate for the largest arrays; smaller arrays may be in a cache."""
    return max(
        _limits(run, of, of.memory, "B/s"),
        key=lambda case: (run.measurements.size(case), case.median or 0.0),
        default=None,
    )


def _limits(run: Run, of: Roof, pattern: Pattern, unit: str) -> list[Summary]:
    """Return the limits for one rank; for arithmetic, with the default problem (precision, ...)."""
    return [
        case
        for place in run.benchmarks.standing(pattern, of.layer)
        for case in results(run, place.benchmark.name)
        if case.ranks == 1
        and case.unit == unit
        and place.shows(case.metric)
        and place.holds(case.parameters)
        and (pattern == of.memory or has_default_problem(run.benchmarks, case))
    ]
