"""The site of a repository: a folder of pages and data that any web server, or none, can show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scope.engine import packing, reporting
from scope.engine.history import Change, History, of_courses
from scope.engine.repository import Repository
from scope.errors import ScopeError, UsageError
from scope.machine.machine import Machine
from scope.report.data_sheet import software, system
from scope.report.order import level, level_rank
from scope.report.site import course as drawing
from scope.report.site import pages, pieces
from scope.report.site.pages import Cluster, ShownChange, ShownEvent
from scope.repository.entry import Entry
from scope.repository.index import Choice, Course, Point
from scope.repository.ranking import ranking
from scope.rundirectory import RunDirectory, read_json, refuse_future, write_json
from scope.statistics.change_points import ChangePoint, fewest_runs
from scope.strict import Strict

MARK = "site.json"
FORMAT = 1
FOLDERS = ("clusters", "data", "reports")
FILE = r"(?:(?:clusters|data|reports)/)?[a-z0-9-]+\.(?:html|js)"
"""The files that a site consists of; no other is ever removed."""
Progress = Callable[[str], None]


class Manifest(Strict):
    """`site.json`: the files of a site, so that a later build removes those that it no longer has."""

    format: int = FORMAT
    files: list[str]


@dataclass(frozen=True)
class Built:
    """What was built."""

    pages: int
    reports: int
    """New ones."""
    size_bytes: int
    damaged: list[str]
    """Runs without a report, and why."""


def build(repository: Repository, folder: Path, most_reports: int | None, progress: Progress) -> Built:
    """Write the site of a repository to a folder that is new, empty, or a site; reports of known runs stay.

    `most_reports`: of the newest runs; None for all. Raises UsageError for any other folder.
    """
    before = _manifest(folder)
    with repository.index() as index:
        entries = index.chosen(Choice())
        clusters = _clusters(entries)
        courses = {one.name: index.courses(Choice(cluster=one.name)) for one in clusters}
    if not entries:
        raise UsageError(f"{repository.folder.path}: has no run; scope repository add keeps one")
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    reports = {one.id for one in entries[:most_reports]}
    made, damaged = _reports(repository, folder, entries, reports, progress)
    reports -= {line.partition(":")[0] for line in damaged}
    written = {f"reports/{name}.html" for name in reports}
    for name, text in _files(repository, clusters, courses, entries, reports, progress):
        _write(folder / name, text)
        written.add(name)
    _remove(folder, set(before.files) - written)
    write_json(folder / MARK, Manifest(files=sorted(written)))
    size = sum((folder / name).stat().st_size for name in written)
    return Built(sum(name.endswith(".html") for name in written), made, size, damaged)


def _manifest(folder: Path) -> Manifest:
    """Return what an earlier build wrote; UsageError for a folder with anything else."""
    mark = folder / MARK
    if mark.is_file():
        refuse_future(str(mark), read_json(mark, dict[str, Any]).get("format", FORMAT))
        return read_json(mark, Manifest)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: has files and is no site; must be new, empty, or a site")
    return Manifest(files=[])


def _remove(folder: Path, names: set[str]) -> None:
    """Remove files of an earlier build; names that no build writes are left alone."""
    for name in names:
        if re.fullmatch(FILE, name):
            (folder / name).unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    """Write a file unless it says the same already."""
    try:
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ScopeError(f"{file}: cannot be written: {error.strerror}") from error


def _clusters(entries: Sequence[Entry]) -> list[Cluster]:
    found: dict[str, list[Entry]] = {}
    for one in entries:
        found.setdefault(one.notes.cluster, []).append(one)
    return [Cluster(name, runs) for name, runs in sorted(found.items())]


def _reports(
    repository: Repository, folder: Path, entries: Sequence[Entry], wanted: set[str], progress: Progress
) -> tuple[int, list[str]]:
    """Write the reports that are missing; return their number, and the runs that cannot be read."""
    damaged: list[str] = []
    missing = [one for one in entries if one.id in wanted and not _report(folder, one.id).exists()]
    for number, one in enumerate(missing):
        progress(f"report {number + 1} of {len(missing)}: {one.name}")
        try:
            with packing.opened(repository.file(one.id)) as run:
                reporting.write(run, _report(folder, one.id))
        except ScopeError as error:
            damaged.append(f"{one.id}: {error}")
    return len(missing) - len(damaged), damaged


def _report(folder: Path, name: str) -> Path:
    return folder / "reports" / f"{name}.html"


def _files(
    repository: Repository,
    clusters: Sequence[Cluster],
    courses: Mapping[str, Sequence[Course]],
    entries: Sequence[Entry],
    reports: set[str],
    progress: Progress,
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every page and piece."""
    by_case: dict[str, list[tuple[str, Course]]] = {}
    for name, own in courses.items():
        for course in sorted(own, key=_layer_by_layer):
            by_case.setdefault(pieces.case_id(course), []).append((name, course))
    yield "index.html", pages.index(clusters, len(by_case))
    yield "ranking.html", pages.ranking()
    yield "runs.html", pages.runs(len(entries))
    yield "compare.html", pages.compare(len(entries))
    yield from _of_runs(courses, entries, reports)
    yield "data/cases.js", pieces.piece("cases", [pieces.case(each[0][1]) for each in by_case.values()])
    for name, known in by_case.items():
        places = ranking([(cluster, course.points[-1]) for cluster, course in known], known[0][1].better)
        yield _piece(f"ranking-{name}", pieces.standings(known[0][1], places))
    for number, cluster in enumerate(clusters):
        progress(f"cluster {number + 1} of {len(clusters)}: {cluster.name}")
        yield from _of_cluster(repository, cluster, courses[cluster.name], reports)


def _of_runs(
    courses: Mapping[str, Sequence[Course]], entries: Sequence[Entry], reports: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield the list of runs in pieces, and the figures of each run."""
    for number, first in enumerate(range(0, len(entries), pieces.RUNS_OF_A_PIECE)):
        some = entries[first : first + pieces.RUNS_OF_A_PIECE]
        yield _piece(f"runs-{number}", pieces.runs(some, reports))
    figures: dict[str, list[object]] = {one.id: [] for one in entries}
    for own in courses.values():
        for course in own:
            for point in course.points:
                figures[point.run].append(pieces.figure_of_run(course, point))
    for name, known in figures.items():
        yield _piece(f"run-{name}", known)


def _of_cluster(
    repository: Repository, cluster: Cluster, courses: Sequence[Course], reports: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield the page of a cluster and the course of each of its figures."""
    found = of_courses(repository, cluster.name, courses)
    changes: dict[int, list[ChangePoint]] = {}
    for event in found.events:
        for change in event.changes:
            changes.setdefault(id(change.course), []).append(change.point)
    yield _piece(
        f"cases-{cluster.id}", [pieces.case(course) for course in sorted(found.courses, key=_layer_by_layer)]
    )
    for course in found.courses:
        drawn = drawing.plot(course, changes.get(id(course), []), cluster.name)
        yield _piece(f"course-{cluster.id}-{pieces.case_id(course)}", drawn)
    sheet = _sheet(repository, cluster)
    yield f"clusters/{cluster.id}.html", pages.cluster(cluster, sheet, _events(found), reports, fewest_runs())


def _events(found: History) -> list[ShownEvent]:
    return [
        ShownEvent(event.started_unix_s, [_shown(change) for change in event.changes], event.differences)
        for event in reversed(found.events)
    ]


def _shown(change: Change) -> ShownChange:
    course, point = change.course, change.point
    before, after = (
        pieces.shown(course, Point("", 0.0, value, None, None)) for value in (point.before, point.after)
    )
    return ShownChange(f"{course.label}: {course.metric}", f"{before} to {after}", change.worse)


def _sheet(repository: Repository, cluster: Cluster) -> list[tuple[str, str]]:
    """Return the facts of the newest run whose file is sound."""
    for one in cluster.runs:
        try:
            with packing.opened(repository.file(one.id)) as folder:
                machine = read_json(RunDirectory(folder).machine, Machine)
            return [*system(machine), *software(machine)]
        except ScopeError:
            continue
    return []


def _layer_by_layer(course: Course) -> tuple[object, ...]:
    return *level_rank(level(course.benchmark)), course.benchmark


def _piece(name: str, value: object) -> tuple[str, str]:
    return f"data/{name}.js", pieces.piece(name, value)
