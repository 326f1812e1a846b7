"""The site of a repository: a directory of pages and data that works with any web server, or without one."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hpcscope.archive import packing
from hpcscope.archive.entry import Entry
from hpcscope.archive.history import History, of_courses
from hpcscope.archive.index import FigureSeries, RunChoice, SeriesPoint
from hpcscope.archive.published import PrintedCourse, by_subject, printed
from hpcscope.archive.ranking import ranking
from hpcscope.archive.repository import Repository
from hpcscope.archive.site import course as drawing
from hpcscope.archive.site import pieces
from hpcscope.archive.site.pages import ClusterPage, page
from hpcscope.engine import report
from hpcscope.errors import ScopeError, UsageError, naming
from hpcscope.grouping import grouped
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
    planned = {*site.files, *(f"reports/{name}.html" for name in reports)}
    write_json(
        folder / MARK, Manifest(files=sorted(planned.union(before.files)))
    )  # an interrupted build is still a site
    made, damaged = _reports(repository, folder, site.entries, reports, progress)
    site.reports = reports - {line.partition(":")[0] for line in damaged}
    for name, text in site.files.items():
        progress(name)
        _write(folder / name, text())
    written = {*site.files, *(f"reports/{name}.html" for name in site.reports)}
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
    with naming(file):
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


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
        self._page = partial(page, live=live)
        with repository.index() as index:
            self.entries = index.chosen(RunChoice())
            self.reports = {entry.id for entry in self.entries}
            """Ids of runs with a report."""
            by_cluster = grouped(self.entries, lambda entry: entry.notes.cluster)
            pages = (ClusterPage(name, runs) for name, runs in sorted(by_cluster.items()))
            self.clusters = {page.id: page for page in pages}
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
        data = {f"data/{key}.js": partial(self._piece, key, value) for key, value in self._data()}
        self.files: dict[str, Callable[[], str]] = {**dict(self._all_pages()), **data}
        """The function that makes each file except reports, by its name."""

    def _place(self, figures: Sequence[PrintedCourse]) -> None:
        """Assign published values to measured cases or, if there is none, to their own cases."""
        courses = (
            (case, cluster.id, series) for case, known in self._by_case.items() for cluster, series in known
        )
        measured = by_subject(courses, {course.figure.subject for course in figures})
        for printed_course in figures:
            figure = printed_course.figure
            candidates = measured.get(figure.subject, [])
            fitting = [one for one in candidates if figure.fits(one.parameters, one.transport)]
            if fitting and not figure.best:
                for case in dict.fromkeys(one.case for one in fitting):
                    self._beside.setdefault(case, []).append(printed_course)
                continue
            case = pieces.case_id(printed_course.course)
            self._published[case] = printed_course.course
            self._beside.setdefault(case, []).append(printed_course)
            choose = min if figure.better == "lower" else max
            self._best[case] = []
            for name, own in grouped(fitting, lambda one: one.cluster).items():
                newest = choose((one.course.points[-1] for one in own), key=lambda point: point.median)
                self._best[case].append((self.clusters[name], printed_course.course, newest))

    def _all_pages(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield the name of each page, and the function that makes it."""
        clusters, machines = list(self.clusters.values()), list(self._historic.values())
        runs = sum(len(cluster.runs) for cluster in clusters)
        counts = {"clusters": clusters, "runs": runs, "cases": len(self._by_case), "historic": machines}
        yield "index.html", partial(self._page, "index", counts)
        yield "ranking.html", partial(self._page, "ranking")
        for name in ("runs", "compare"):
            yield f"{name}.html", partial(self._page, name, argument=pieces.number_of(len(self.entries)))
        for name, machine in self._historic.items():
            yield f"clusters/{name}.html", partial(self._machine, machine)
        for name, cluster in self.clusters.items():
            yield f"clusters/{name}.html", partial(self._cluster, cluster)

    def _data(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield the name of each piece of data, and the function that makes it."""
        measured = [group[0][1] for group in self._by_case.values()]
        yield "cases", partial(pieces.cases, [*measured, *sorted(self._published.values(), key=_layer_by_layer)])
        yield "published", partial(pieces.machines, list(self._historic.values()))
        for number in range(pieces.number_of(len(self.entries))):
            yield f"runs-{number}", partial(self._runs, number * pieces.RUNS_OF_A_PIECE)
        for entry in self.entries:
            yield f"run-{entry.id}", partial(self._figures_of_run, entry.id)
        for machine in self._historic.values():
            yield f"run-{pieces.machine_run(machine)}", partial(self._figures_of_machine, machine)
        for case in [*self._by_case, *self._published]:
            yield f"ranking-{case}", partial(self._standings, case)
        for name, own in self._courses.items():
            yield f"cases-{name}", partial(pieces.cases, list(own.values()))
            for case in own:
                yield f"course-{name}-{case}", partial(self._course, name, case)

    def _piece(self, key: str, value: Callable[[], object]) -> str:
        return pieces.piece(key, value())

    def _runs(self, first: int) -> list[list[object]]:
        """Return the rows of a piece of the list of runs."""
        return pieces.runs(self.entries[first : first + pieces.RUNS_OF_A_PIECE], self.reports)

    def _figures_of_machine(self, machine: PublishedMachine) -> list[list[object]]:
        return [
            pieces.figure_of_machine(case, self._case(case), course)
            for case, beside in self._beside.items()
            for course in beside
            if course.machine.id == machine.id
        ]

    def _figures_of_run(self, run: str) -> list[list[object]]:
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
        figures = sorted(rows, key=lambda row: _layer_by_layer(row[1]))
        return self._page("machine", {"machine": machine, "figures": figures}, root="../")

    def _course(self, cluster: str, case: str) -> Plot:
        history, course = self._history(cluster), self._courses[cluster][case]
        every = [change for event in history.events for change in event.changes]
        plot = drawing.plot(course, [change.point for change in every if change.course is course], history.cluster)
        return plot | {
            "beside": [pieces.published(course, printed_course) for printed_course in self._beside.get(case, [])]
        }

    def _cluster(self, cluster: ClusterPage) -> str:
        """Return the page of a cluster: data sheet, history, newest runs."""
        contents = {
            "cluster": cluster,
            "sheet": _sheet(self._repository, cluster),
            "events": self._history(cluster.id).events[::-1],
            "reports": self.reports,
            "fewest_runs": FEWEST_RUNS,
        }
        return self._page("cluster", contents, cluster.id, root="../")

    def _history(self, cluster: str) -> History:
        if cluster not in self._histories:
            name = self.clusters[cluster].name
            self._histories[cluster] = of_courses(self._repository, name, list(self._courses[cluster].values()))
        return self._histories[cluster]


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
