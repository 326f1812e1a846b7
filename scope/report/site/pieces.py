"""Data of the site in pieces: scripts that a page loads when it needs them, also where there is no server.

A page that was opened as a file may load scripts beside it, but fetch nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from scope import units
from scope.repository.entry import Entry
from scope.repository.index import Course, Point
from scope.repository.ranking import Standing

RUNS_OF_A_PIECE = 1000


def piece(name: str, value: object) -> str:
    """Return the script that gives a value to the page under a name."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return f"site.take({json.dumps(name)},{text});\n"


def case_id(course: Course) -> str:
    """Return a short name of a case and its metric, the same in every build."""
    return _digest("\0".join((course.benchmark, course.label, course.metric, course.origin)))


def cluster_id(name: str) -> str:
    """Return a short name of a cluster, the same in every build."""
    return _digest(name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:12]


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


def case(course: Course) -> list[object]:
    """Return a row of the list of cases: id, benchmark, label, metric, better, origin."""
    return [
        case_id(course),
        course.benchmark,
        course.label,
        units.named(course.metric),
        course.better,
        course.origin,
    ]


def standings(course: Course, found: Sequence[Standing]) -> list[list[object]]:
    """Return a row for each cluster: name, page, run, begin, figure in words, places, and its bar in percent."""
    widest = max((one.point.high or one.point.median for one in found), default=0.0) or 1.0
    return [
        [
            one.cluster,
            cluster_id(one.cluster),
            one.point.run,
            round(one.point.started_unix_s),
            shown(course, one.point),
            one.best,
            one.worst,
            *(
                round(100 * (one.point.median if value is None else value) / widest, 2)
                for value in (one.point.low, one.point.median, one.point.high)
            ),
        ]
        for one in found
    ]


def shown(course: Course, point: Point) -> str:
    """Return a figure with its interval in words."""
    if units.is_share(course.metric):
        return units.share(point.median, point.low, point.high)
    return units.interval(point.median, point.low, point.high, course.unit)


def figure_of_run(case: str, course: Course, point: Point) -> list[object]:
    """Return a figure of one run: the id of its case, median, bounds, and the same in words."""
    bounds = [float(f"{value:.6g}") if value is not None else None for value in (point.low, point.high)]
    return [case, float(f"{point.median:.6g}"), *bounds, shown(course, point)]
