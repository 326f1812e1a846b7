"""Speedups of algorithms and applications, with the ideal line and the fitted law."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from hpcscope.findings.results import Run
from hpcscope.models.scaling.amdahl import Amdahl
from hpcscope.models.scaling.speedup import Speedup, SpeedupPoint
from hpcscope.plan.case import transport_words
from hpcscope.report.figure import DotPlot, Figure, Mark, Panel, Plot, Table, modeled, ranks_axis, with_intervals
from hpcscope.report.run.figures.grouping import MOST_SERIES, chosen_words, spread
from hpcscope.report.run.figures.predictions import equal
from hpcscope.report.run.prediction_table import grid_words
from hpcscope.report.validity import MIXED
from hpcscope.statistics.estimate import Estimate, in_percent, in_unit

COLUMNS = ["size", "ranks", "time", "speedup", "efficiency", "relative to the best sequential time", "remarks"]
LAW = ["serial fraction", "critical number", "most cost-effective number"]
"""Columns that have the same value for all points of a size."""


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield a figure for each variant of a program that was timed on one rank and on several."""
    kinds: dict[str, list[Speedup]] = defaultdict(list)
    for speedup in run.models.speedups:
        if speedup.subject.benchmark == benchmark and speedup.sequential_baseline:
            sizes = run.benchmarks.of_role(benchmark, speedup.subject.parameters, "size") if speedup.size else {}
            words = chosen_words(speedup.subject, run.benchmarks, (*sizes, "ranks"))
            kinds[f"{words} ({speedup.origin})"].append(speedup)
    for index, (kind, group) in enumerate(kinds.items()):
        name = kind.removesuffix(" (measured)").strip()
        title = ", ".join(filter(None, [run.benchmarks[benchmark].title, name]))
        yield _figure(sorted(group, key=lambda speedup: speedup.size), title, f"{benchmark}-speedup-{index}")


def compared(run: Run) -> Iterator[DotPlot]:
    """Yield the speedup of each program on its largest number of ranks, with a panel for each number."""
    panels: dict[int, list[Mark]] = defaultdict(list)
    rows: list[list[str]] = []
    for curve in run.models.speedups:
        point = curve.points[-1] if curve.points else None
        if point is None or point.speedup is None or point.ranks < 2:
            continue
        speedup, ideal = point.speedup, float(point.ranks)
        panels[point.ranks].append(
            Mark.of(
                run.benchmarks.described(curve.subject.benchmark, curve.subject.parameters)
                + (
                    "" if curve.subject.transport == "default" else f", {transport_words(curve.subject.transport)}"
                ),
                f"{in_unit(speedup)}{MIXED if speedup.mixes_states else ''}",
                (min(value, ideal) for value in speedup.bounds),
                ideal,
            )
        )
        rows.append([curve.subject.label, in_unit(speedup), in_percent(point.efficiency)])
    if panels:
        yield DotPlot(
            key="speedups-compared",
            title="Speedups compared",
            caption=(
                "Speedup on the largest number of ranks of each program, with 95 % CIs, relative to the same "
                "variant on one rank. The right end of each axis is the ideal speedup."
            ),
            panels=[
                Panel(f"{number} ranks", sorted(marks, key=lambda mark: -mark.middle))
                for number, marks in sorted(panels.items())
            ],
            table=Table(["case", "speedup", "efficiency"], rows),
            origins=sorted({curve.origin for curve in run.models.speedups}),
        )


def _figure(group: list[Speedup], program: str, key: str) -> Figure:
    sizes = spread([speedup.size for speedup in group], MOST_SERIES)
    drawn = [speedup for speedup in group if speedup.size in sizes]
    counts = sorted({point.ranks for speedup in drawn for point in speedup.points})
    traces = [equal(counts, "ideal")]
    for slot, one in enumerate(drawn):
        traces.append(_points(one, slot))
        traces += [_law(one, one.amdahl, slot)] if one.amdahl else []
    return Figure(
        key=key,
        title=f"Speedup of {program}",
        caption=_caption(group),
        traces=traces,
        layout={"xaxis": ranks_axis(counts), "yaxis": {"title": {"text": "T(1) / T(p)"}, "rangemode": "tozero"}},
        table=Table(
            [*COLUMNS, *LAW],
            [[*_row(speedup, point), *_of_size(speedup)] for speedup in group for point in speedup.points],
        ),
        origins=sorted({speedup.origin for speedup in group}),
    )


def _caption(group: Sequence[Speedup]) -> str:
    text = "Relative to the same variant on one rank; the dashed line is the ideal speedup p."
    laws = [speedup for speedup in group if speedup.amdahl]
    if not laws:
        return f"{text} No law was fitted: {group[-1].reason}."
    return (
        f"{text} Lines: T(n) = T_ser + T_par / n + α (n - 1), Amdahl's law with communication (Melas 2000, eq. "
        "7.2). " + " ".join(_told(speedup, speedup.amdahl) for speedup in laws[-3:] if speedup.amdahl)
    )


def _told(speedup: Speedup, law: Amdahl) -> str:
    share = law.serial_share
    of_size = f"Size {speedup.size}: " if speedup.size else ""
    serial = f"{of_size}{in_percent(share)} serial"
    critical = (
        f"no gain beyond {_count(law.critical_ranks)} ranks"
        if law.critical_ranks
        else f"the critical number is {law.reason}"
    )
    effective = (
        f", most cost-effective on {_count(speedup.effective_ranks)} ranks" if speedup.effective_ranks else ""
    )
    return f"{serial}; {critical}{effective}."


def _count(bounds: Estimate) -> str:
    if bounds.low is None or bounds.high is None or bounds.low == bounds.high:
        return f"{bounds.value:.0f}"
    return f"{bounds.value:.0f} [{bounds.low:.0f}, {bounds.high:.0f}]"


def _row(one: Speedup, point: SpeedupPoint) -> list[str]:
    remarks = ["more ranks than processors"] if point.oversubscribed else []
    remarks += ["super-linear"] if point.superlinear else []
    remarks += grid_words(point.grid)
    return [
        str(one.size) if one.size else "–",
        str(point.ranks),
        in_unit(point.time_s, "s"),
        in_unit(point.speedup),
        in_percent(point.efficiency),
        in_unit(point.speedup_of_best),
        "; ".join(remarks),
    ]


def _of_size(speedup: Speedup) -> list[str]:
    law, effective = speedup.amdahl, speedup.effective_ranks
    critical = law.critical_ranks if law else None
    return [
        in_percent(law.serial_share if law else None),
        _count(critical) if critical else (law.reason if law else speedup.reason),
        _count(effective) if effective else "–",
    ]


def _points(one: Speedup, slot: int) -> Plot:
    name = f"size {one.size}" if one.size else "measured"
    points = (
        (point.ranks, point.speedup, f"{name}, {point.ranks} ranks: {in_unit(point.speedup)}")
        for point in one.points
        if point.speedup is not None
    )
    return with_intervals(points, name, slot, joined=one.amdahl is None)


def _law(speedup: Speedup, law: Amdahl, slot: int) -> Plot:
    counts = np.linspace(law.points[0].x, law.points[-1].x, 60).tolist()
    serial, parallel, each = law.serial_s.value, law.parallel_s.value, law.per_process_s.value
    sequential_s = speedup.points[0].time_s.value
    speedups = [sequential_s / (serial + parallel / n + each * (n - 1)) for n in counts]
    return modeled(counts, speedups, slot)
