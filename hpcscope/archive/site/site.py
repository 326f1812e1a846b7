"""The site of a repository: a directory of pages and data that works with any web server, or without one."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcscope import units
from hpcscope.archive import packing
from hpcscope.archive.entry import Entry
from hpcscope.archive.history import History, LevelChange, of_courses
from hpcscope.archive.index import FigureSeries, RunChoice, SeriesPoint
from hpcscope.archive.published import PrintedCourse, by_subject, printed
from hpcscope.archive.ranking import ranking
from hpcscope.archive.repository import Repository
from hpcscope.archive.site import course as drawing
from hpcscope.archive.site import pieces
from hpcscope.archive.site.pages import ClusterPage, Pages, ShownChange, ShownEvent
from hpcscope.engine import report
from hpcscope.errors import ScopeError, UsageError
from hpcscope.machine.machine import Machine
from hpcscope.models.published.machines import PublishedMachine
from hpcscope.report.data_sheet import software, system
from hpcscope.report.figure import Plot
from hpcscope.report.order import level, level_rank
from hpcscope.rundirectory import RunDirectory, read_json, refuse_future, write_json
from hpcscope.statistics.change_points import FEWEST_RUNS
from hpcscope.strict import Strict

MARK = "site.json"
FORMAT = 1
FOLDERS = ("clusters", "data", "reports")
FILE = r"(?:(?:clusters|data|reports)/)?[a-z0-9-]+\.(?:html|js)"
"""Pattern of the files of a site; no other file is ever removed."""
Progress = Callable[[str], None]


class Manifest(Strict):
    """`site.json`: the files of a site, so that a later build can remove obsolete files."""

    format: int = FORMAT
    files: list[str]


@dataclass(frozen=True)
class Built:
    """Summary of a build."""

    pages: int
    reports: int
    """Number of new reports."""
    size_bytes: int
    damaged: list[str]
    """Runs without a report, each with the reason."""


def build(
    repository: Repository,
    folder: Path,
    most_reports: int | None,
    progress: Progress,
    historic: Sequence[PublishedMachine] = (),
) -> Built:
    """Write the site of a repository to a directory that is new, empty, or a site; existing reports are reused.

    `most_reports`: number of newest runs with reports; None for all. `historic`: machines whose published values
    are shown next to the clusters. Raises UsageError for any other directory.
    """
    before = _manifest(folder)
    site = Site(repository, historic=historic)
    if not site.entries:
        raise UsageError(f"{repository.folder.path}: has no run; add one with `scope repository add`")
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    reports = {entry.id for entry in site.entries[:most_reports]}
    planned = {*site.names(), *(f"reports/{name}.html" for name in reports)}
    write_json(
        folder / MARK, Manifest(files=sorted(planned.union(before.files)))
    )  # an interrupted build is still a site
    made, damaged = _reports(repository, folder, site.entries, reports, progress)
    reports -= {line.partition(":")[0] for line in damaged}
    written = {f"reports/{name}.html" for name in reports}
    for name in site.names():
        progress(name)
        _write(folder / name, site.text(name, reports))
        written.add(name)
    _remove(folder, set(before.files) - written)
    write_json(folder / MARK, Manifest(files=sorted(written)))
    size = sum((folder / name).stat().st_size for name in written)
    return Built(sum(name.endswith(".html") for name in written), made, size, damaged)


def _manifest(folder: Path) -> Manifest:
    """Return the manifest of an earlier build; UsageError for a directory with anything else."""
    mark = folder / MARK
    if mark.is_file():
        refuse_future(str(mark), read_json(mark, dict[str, Any]).get("format", FORMAT))
        return read_json(mark, Manifest)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: must be a new or empty directory, or a site")
    return Manifest(files=[])


def _remove(folder: Path, names: set[str]) -> None:
    """Remove files of an earlier build, but never files with names that no build writes."""
    for name in names:
        if re.fullmatch(FILE, name):
            (folder / name).unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    """Write a file unless it already has this text."""
    try:
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ScopeError(f"{file}: cannot be written: {error.strerror}") from error


def _clusters(entries: Sequence[Entry]) -> list[ClusterPage]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.notes.cluster, []).append(entry)
    return [ClusterPage(name, runs) for name, runs in sorted(found.items())]


def _reports(
    repository: Repository, folder: Path, entries: Sequence[Entry], wanted: set[str], progress: Progress
) -> tuple[int, list[str]]:
    """Write the missing reports; return their number, and the runs that cannot be read."""
    damaged: list[str] = []
    missing = [entry for entry in entries if entry.id in wanted and not _report(folder, entry.id).exists()]
    for number, one in enumerate(missing):
        progress(f"report {number + 1} of {len(missing)}: {one.name}")
        try:
            with packing.opened(repository.file(one.id)) as run:
                report.write(run, _report(folder, one.id))
        except ScopeError as error:
            damaged.append(f"{one.id}: {error}")
    return len(missing) - len(damaged), damaged


def _report(folder: Path, name: str) -> Path:
    return folder / "reports" / f"{name}.html"


class Site:
    """The contents of a repository's pages, read once; each file is made on request."""

    def __init__(
        self, repository: Repository, live: bool = False, historic: Sequence[PublishedMachine] = ()
    ) -> None:
        self._repository = repository
        self._historic = {pieces.machine_page(machine): machine for machine in historic}
        self._pages = Pages(live)
        with repository.index() as index:
            self.entries = index.chosen(RunChoice())
            self.clusters = {cluster.id: cluster for cluster in _clusters(self.entries)}
            courses = {page.id: index.courses(RunChoice(cluster=page.name)) for page in self.clusters.values()}
        self._courses = {
            name: {pieces.case_id(course): course for course in sorted(own, key=_layer_by_layer)}
            for name, own in courses.items()
        }
        """Series by cluster and case."""
        self._by_case: dict[str, list[tuple[ClusterPage, FigureSeries]]] = {}
        self._of_run: dict[str, list[tuple[str, FigureSeries, SeriesPoint]]] = {
            entry.id: [] for entry in self.entries
        }
        for name, of_cluster in self._courses.items():
            for case, course in of_cluster.items():
                self._by_case.setdefault(case, []).append((self.clusters[name], course))
                for point in course.points:
                    self._of_run[point.run].append((case, course, point))
        self._beside: dict[str, list[PrintedCourse]] = {}
        """Published values by case."""
        self._published: dict[str, FigureSeries] = {}
        """Cases of the sources that nobody measured, or whose published value is the best of several cases."""
        self._best: dict[str, list[tuple[ClusterPage, FigureSeries, SeriesPoint]]] = {}
        """Measured results to show for these cases."""
        self._place(list(printed(historic)))
        self._histories: dict[str, History] = {}

    def _place(self, figures: Sequence[PrintedCourse]) -> None:
        """Assign published values to measured cases or, if there is none, to their own cases."""
        courses = (
            (case, cluster.id, series) for case, known in self._by_case.items() for cluster, series in known
        )
        measured = by_subject(courses, {course.figure.subject for course in figures})
        for printed_course in figures:
            fitting = [
                course
                for course in measured.get(printed_course.figure.subject, [])
                if course.is_of(printed_course.figure)
            ]
            if fitting and not printed_course.figure.best:
                for case in dict.fromkeys(course.case for course in fitting):
                    self._beside.setdefault(case, []).append(printed_course)
                continue
            case = pieces.case_id(printed_course.course)
            self._published[case] = printed_course.course
            self._beside.setdefault(case, []).append(printed_course)
            by_cluster: dict[str, list[SeriesPoint]] = {}
            for measured_course in fitting:
                by_cluster.setdefault(measured_course.cluster, []).append(measured_course.course.points[-1])
            choose = min if printed_course.figure.better == "lower" else max
            self._best[case] = [
                (self.clusters[name], printed_course.course, choose(points, key=lambda point: point.median))
                for name, points in by_cluster.items()
            ]

    def names(self) -> Iterator[str]:
        """Yield the names of all files except reports."""
        yield from (
            "index.html",
            "ranking.html",
            "runs.html",
            "compare.html",
            "data/cases.js",
            "data/published.js",
        )
        yield from (f"data/run-{pieces.machine_run(machine)}.js" for machine in self._historic.values())
        yield from (f"clusters/{name}.html" for name in self._historic)
        yield from (f"data/runs-{number}.js" for number in range(pieces.number_of(len(self.entries))))
        yield from (f"data/run-{entry.id}.js" for entry in self.entries)
        yield from (f"data/ranking-{name}.js" for name in [*self._by_case, *self._published])
        for name in self.clusters:
            yield from (f"clusters/{name}.html", f"data/cases-{name}.js")
            yield from (f"data/course-{name}-{case}.js" for case in self._courses[name])

    def text(self, name: str, reports: set[str]) -> str:
        """Return a file by its name; `reports`: ids of runs with a report. KeyError if there is no such file."""
        number = len(self.entries)
        whole: dict[str, Callable[[], str]] = {
            "index.html": lambda: self._pages.index(
                list(self.clusters.values()), len(self._by_case), list(self._historic.values())
            ),
            "ranking.html": self._pages.ranking,
            "runs.html": lambda: self._pages.runs(number),
            "compare.html": lambda: self._pages.compare(number),
        }
        if name in whole:
            return whole[name]()
        if name.startswith("clusters/"):
            page = name.removeprefix("clusters/").removesuffix(".html")
            if page in self._historic:
                return self._machine(self._historic[page])
            return self._cluster(page, reports)
        key = name.removeprefix("data/").removesuffix(".js")
        return pieces.piece(key, self._value(key, reports))

    def _value(self, key: str, reports: set[str]) -> object:
        """Return the content of a piece of data; KeyError if there is no piece of this name."""
        kind, _, of = key.partition("-")
        if key == "cases":
            own = sorted(self._published.values(), key=_layer_by_layer)
            return [pieces.case(course) for course in [*(group[0][1] for group in self._by_case.values()), *own]]
        if kind == "cases":
            return [pieces.case(course) for course in self._courses[of].values()]
        if kind == "runs" and of.isdecimal() and int(of) < pieces.number_of(len(self.entries)):
            first = int(of) * pieces.RUNS_OF_A_PIECE
            return pieces.runs(self.entries[first : first + pieces.RUNS_OF_A_PIECE], reports)
        if key == "published":
            return pieces.machines(list(self._historic.values()))
        if kind == "run":
            return self._figures_of_run(of)
        if kind == "ranking":
            return self._standings(of)
        if kind == "course":
            cluster, _, case = of.partition("-")
            return self._course(cluster, case)
        raise KeyError(key)

    def _figures_of_run(self, run: str) -> list[list[object]]:
        """Return the results of a run, or of the id that represents a historic machine."""
        for machine in self._historic.values():
            if pieces.machine_run(machine) == run:
                return [
                    pieces.figure_of_machine(case, self._case(case), course)
                    for case, beside in self._beside.items()
                    for course in beside
                    if course.machine.id == machine.id
                ]
        best = [
            (case, course, point)
            for case, known in self._best.items()
            for _, course, point in known
            if point.run == run
        ]
        return [pieces.figure_of_run(*arguments) for arguments in [*self._of_run[run], *best]]

    def _standings(self, case: str) -> list[list[object]]:
        newest = [(cluster.name, course.points[-1]) for cluster, course in self._by_case.get(case, [])]
        newest += [(cluster.name, point) for cluster, _, point in self._best.get(case, [])]
        course = self._case(case)
        return pieces.standings(course, ranking(newest, course.better), self._beside.get(case, []))

    def _case(self, case: str) -> FigureSeries:
        """Return a series of a case; KeyError if there is none."""
        return self._by_case[case][0][1] if case in self._by_case else self._published[case]

    def _machine(self, machine: PublishedMachine) -> str:
        """Return the page of a historic machine: each value once, with the case to which it is assigned."""
        places: dict[int, str] = {}
        for case, beside in self._beside.items():
            for course in beside:
                places.setdefault(id(course.figure), case)
        rows = [
            (case, self._case(case), course)
            for course in printed([machine])
            for case in [places[id(course.figure)]]
        ]
        return self._pages.machine(machine, sorted(rows, key=lambda row: _layer_by_layer(row[1])))

    def _course(self, cluster: str, case: str) -> Plot:
        history, course = self._history(cluster), self._courses[cluster][case]
        every = [change for event in history.events for change in event.changes]
        plot = drawing.plot(course, [change.point for change in every if change.course is course], history.cluster)
        return plot | {
            "beside": [pieces.published(course, printed_course) for printed_course in self._beside.get(case, [])]
        }

    def _cluster(self, name: str, reports: set[str]) -> str:
        cluster, history = self.clusters[name], self._history(name)
        return self._pages.cluster(
            cluster, _sheet(self._repository, cluster), _events(history), reports, FEWEST_RUNS
        )

    def _history(self, cluster: str) -> History:
        if cluster not in self._histories:
            name = self.clusters[cluster].name
            self._histories[cluster] = of_courses(self._repository, name, list(self._courses[cluster].values()))
        return self._histories[cluster]


def _events(history: History) -> list[ShownEvent]:
    return [
        ShownEvent(event.started_unix_s, [_shown(change) for change in event.changes], event.differences)
        for event in reversed(history.events)
    ]


def _shown(change: LevelChange) -> ShownChange:
    course, point = change.course, change.point
    before, after = (
        pieces.shown(course, SeriesPoint("", 0.0, value, None, None)) for value in (point.before, point.after)
    )
    return ShownChange(
        pieces.case_id(course),
        f"{course.label}: {units.named(course.metric)}",
        f"{before} to {after}",
        change.worse,
    )


def _sheet(repository: Repository, cluster: ClusterPage) -> list[tuple[str, str]]:
    """Return the facts of the newest run with an undamaged file."""
    for entry in cluster.runs:
        try:
            with packing.opened(repository.file(entry.id)) as folder:
                machine = read_json(RunDirectory(folder).machine, Machine)
            return [*system(machine), *software(machine)]
        except ScopeError:
            continue
    return []


def _layer_by_layer(course: FigureSeries) -> tuple[object, ...]:
    return *level_rank(level(course.benchmark)), course.benchmark
