"""Data of the site in pieces: scripts that a page loads when it needs them, even without a server.

A page opened from a file may load scripts next to it, but must not fetch data.
"""

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
    """Return the script that passes a named value to the page."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return f"site.take({json.dumps(name)},{text});\n"


def case_id(course: FigureSeries) -> str:
    """Return a short id of a case and its metric that is the same in every build."""
    return _digest("\0".join((course.benchmark, course.label, course.metric, course.origin)))


def cluster_id(name: str) -> str:
    """Return a short id of a cluster that is the same in every build."""
    return _digest(name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:12]


def machine_page(machine: PublishedMachine) -> str:
    """Return the name of a historic machine's page."""
    return f"published-{machine.id}"


def machine_run(machine: PublishedMachine) -> str:
    """Return the id that represents a historic machine in comparisons with runs."""
    return hashlib.sha256(f"published {machine.id}".encode()).hexdigest()[:16]


def number_of(runs: int) -> int:
    """Return the number of pieces needed for this many runs."""
    return -(-runs // RUNS_OF_A_PIECE)


def runs(entries: Sequence[Entry], with_report: set[str]) -> list[list[object]]:
    """Return a row for each run.

    It has id, name, cluster and its page, start time, module, MPI, tags, note, and whether there is a report.
    """
    return [
        [
            entry.id,
            entry.name,
            entry.notes.cluster,
            cluster_id(entry.notes.cluster),
            round(entry.started_unix_s),
            entry.module,
            entry.mpi,
            entry.notes.tags,
            entry.notes.note,
            entry.id in with_report,
        ]
        for entry in entries
    ]


def cases(courses: Sequence[FigureSeries]) -> list[list[object]]:
    """Return a row for each case: id, benchmark, label, metric, better, origin."""
    return [
        [case_id(case), case.benchmark, case.label, units.named(case.metric), case.better, case.origin]
        for case in courses
    ]


def standings(
    course: FigureSeries, clusters: Sequence[RankedCluster], beside: Sequence[PrintedCourse]
) -> list[list[object]]:
    """Return a row for each cluster and for each published value, best first.

    It has name, page, start time, value in words, best and worst rank, the bar in percent, and the source of a
    published value, which has neither time nor ranks. Bars are scaled to measured values; None is off the scale.
    """
    points = [cluster.point for cluster in clusters] or [printed.point for printed in beside]
    widest = max((point.high or point.median for point in points), default=0.0) or 1.0

    def bar(point: SeriesPoint) -> list[float | None]:
        values = [point.median if value is None else value for value in (point.low, point.median, point.high)]
        return [round(100 * value / widest, 2) if max(values) <= widest else None for value in values]

    def row(
        point: SeriesPoint,
        name: str,
        page: str,
        began: int | None = None,
        ranks: tuple[int | None, int | None] = (None, None),
        source: str = "",
    ) -> tuple[float, list[object]]:
        """Return a row with the value by which it is sorted."""
        return point.median, [name, page, began, shown(course, point), *ranks, *bar(point), source]

    rows: list[tuple[float, list[object]]] = []
    for one in clusters:
        began = round(one.point.started_unix_s)
        rows.append(row(one.point, one.cluster, cluster_id(one.cluster), began, (one.best, one.worst)))
    rows += [row(old.point, old.machine.name, machine_page(old.machine), source=old.source) for old in beside]
    return [row for _, row in sorted(rows, key=lambda each: each[0], reverse=course.better == "higher")]


def shown(course: FigureSeries, point: SeriesPoint) -> str:
    """Return a value with its interval in words."""
    if units.is_share(course.metric):
        return units.share(point.median, point.low, point.high)
    return units.interval(point.median, point.low, point.high, course.unit)


def figure_of_run(case: str, course: FigureSeries, point: SeriesPoint) -> list[object]:
    """Return a result of one run: id of the case, median, bounds, and the value in words."""
    bounds = [float(f"{value:.6g}") if value is not None else None for value in (point.low, point.high)]
    return [case, float(f"{point.median:.6g}"), *bounds, shown(course, point)]


def machines(every: Sequence[PublishedMachine]) -> list[list[object]]:
    """Return a row for each historic machine: id, name, page, source, network, number of values."""
    return [
        [
            machine_run(machine),
            machine.name,
            machine_page(machine),
            machine.source,
            machine.facts.network,
            len(machine.figures),
        ]
        for machine in every
    ]


def figure_of_machine(case: str, course: FigureSeries, printed_course: PrintedCourse) -> list[object]:
    """Return a published value like a run's result: id of the case, value, no bounds, value in words, origin."""
    return [
        case,
        printed_course.figure.value,
        None,
        None,
        shown(course, printed_course.point),
        printed_course.figure.where,
    ]


def published(course: FigureSeries, printed_course: PrintedCourse) -> list[object]:
    """Return a historic machine's published value for a case: name, page, value in words, source."""
    return [
        printed_course.machine.name,
        machine_page(printed_course.machine),
        shown(course, printed_course.point),
        printed_course.source,
    ]
