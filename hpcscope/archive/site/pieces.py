"""Data of the site in pieces: scripts that a page loads when it needs them, also where there is no server.

A page that was opened as a file may load scripts beside it, but fetch nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from hpcscope import units
from hpcscope.archive.entry import Entry
from hpcscope.archive.index import FigureSeries, SeriesPoint
from hpcscope.archive.published import PrintedCourse
from hpcscope.archive.ranking import RankedCluster
from hpcscope.models.published.machines import PublishedMachine

RUNS_OF_A_PIECE = 1000


def piece(name: str, value: object) -> str:
    """Return the script that gives a value to the page under a name."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return f"site.take({json.dumps(name)},{text});\n"


def case_id(course: FigureSeries) -> str:
    """Return a short name of a case and its metric, the same in every build."""
    return _digest("\0".join((course.benchmark, course.label, course.metric, course.origin)))


def cluster_id(name: str) -> str:
    """Return a short name of a cluster, the same in every build."""
    return _digest(name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:12]


def machine_page(machine: PublishedMachine) -> str:
    """Return the name of the page of a historic machine."""
    return f"published-{machine.id}"


def machine_run(machine: PublishedMachine) -> str:
    """Return what stands for the id of a run where historic machines are compared with runs."""
    return hashlib.sha256(f"published {machine.id}".encode()).hexdigest()[:16]


def number_of(runs: int) -> int:
    """Return the number of pieces that hold so many runs."""
    return -(-runs // RUNS_OF_A_PIECE)


def runs(entries: Sequence[Entry], with_report: set[str]) -> list[list[object]]:
    """Return a row for each run.

    It has id, name, cluster and its page, begin, module, MPI, tags, note, and whether there is a report.
    """
    return [
        [
            one.id,
            one.name,
            one.notes.cluster,
            cluster_id(one.notes.cluster),
            round(one.started_unix_s),
            one.module,
            one.mpi,
            one.notes.tags,
            one.notes.note,
            one.id in with_report,
        ]
        for one in entries
    ]


def case(course: FigureSeries) -> list[object]:
    """Return a row of the list of cases: id, benchmark, label, metric, better, origin."""
    return [
        case_id(course),
        course.benchmark,
        course.label,
        units.named(course.metric),
        course.better,
        course.origin,
    ]


def standings(
    course: FigureSeries, found: Sequence[RankedCluster], beside: Sequence[PrintedCourse]
) -> list[list[object]]:
    """Return a row for each cluster, and among them one for each published figure, best first.

    It has name, page, begin, figure in words, places, the bar in percent, and the source of a published figure,
    which has no begin and no places. Bars are scaled to what was measured; None is off this scale.
    """
    points = [one.point for one in found] or [one.point for one in beside]
    widest = max((point.high or point.median for point in points), default=0.0) or 1.0

    def bar(point: SeriesPoint) -> list[float | None]:
        values = [point.median if value is None else value for value in (point.low, point.median, point.high)]
        return [round(100 * value / widest, 2) if max(values) <= widest else None for value in values]

    rows: list[tuple[float, list[object]]] = [
        (
            one.point.median,
            [
                *(one.cluster, cluster_id(one.cluster), round(one.point.started_unix_s), shown(course, one.point)),
                *(one.best, one.worst, *bar(one.point), ""),
            ],
        )
        for one in found
    ]
    rows += [
        (
            one.point.median,
            [
                *(one.machine.name, machine_page(one.machine), None, shown(course, one.point)),
                *(None, None, *bar(one.point), one.source),
            ],
        )
        for one in beside
    ]
    return [row for _, row in sorted(rows, key=lambda each: each[0], reverse=course.better == "higher")]


def shown(course: FigureSeries, point: SeriesPoint) -> str:
    """Return a figure with its interval in words."""
    if units.is_share(course.metric):
        return units.share(point.median, point.low, point.high)
    return units.interval(point.median, point.low, point.high, course.unit)


def figure_of_run(case: str, course: FigureSeries, point: SeriesPoint) -> list[object]:
    """Return a figure of one run: the id of its case, median, bounds, and the same in words."""
    bounds = [float(f"{value:.6g}") if value is not None else None for value in (point.low, point.high)]
    return [case, float(f"{point.median:.6g}"), *bounds, shown(course, point)]


def machines(every: Sequence[PublishedMachine]) -> list[list[object]]:
    """Return a row for each historic machine: id, name, page, source, network, number of figures."""
    return [
        [machine_run(one), one.name, machine_page(one), one.source, one.facts.network, len(one.figures)]
        for one in every
    ]


def figure_of_machine(case: str, course: FigureSeries, one: PrintedCourse) -> list[object]:
    """Return a published figure like that of a run: the id of its case, the figure, no bounds, in words, where."""
    return [case, one.figure.value, None, None, shown(course, one.point), one.figure.where]


def published(course: FigureSeries, one: PrintedCourse) -> list[object]:
    """Return what a historic machine published of a case: name, page, figure in words, source."""
    return [one.machine.name, machine_page(one.machine), shown(course, one.point), one.source]
