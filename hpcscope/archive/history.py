"""Results of a cluster over time: where their level changed, and what else changed there."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcscope.archive import packing
from hpcscope.archive.index import FigureSeries, RunChoice, one_of_each_case
from hpcscope.archive.repository import Repository
from hpcscope.errors import ScopeError, UsageError
from hpcscope.health.records import FILE, PREFIX, HealthFile, fleet
from hpcscope.rundirectory import RunDirectory, read_json
from hpcscope.statistics.change_points import FALSE_ALARMS, FEWEST_RUNS, ChangePoint, change_points

VOLATILE = {
    *("load", "run_queue", "boot_id", "throttle_counts", "built_unix_s", "program", "fingerprint", "addresses"),
    *("usable", "launcher", "compiler", "library", "python", "environment", "format", "scope_version", "storage"),
}
"""Keys of machine.json that differ from run to run, or are paths."""


NEAR = 2
"""Maximum distance in runs between changes of one cause; noise can shift a detected change by one run."""


@dataclass(frozen=True)
class LevelChange:
    """A level change of one result."""

    course: FigureSeries
    point: ChangePoint

    @property
    def first_after(self) -> str:
        """Id of the first run after the change."""
        return self.course.points[self.point.first_after].run

    @property
    def last_before(self) -> str:
        """Id of the last run before the change."""
        return self.course.points[self.point.first_after - 1].run

    @property
    def medians_before(self) -> list[float]:
        """Medians of the runs on the level before the change."""
        return [point.median for point in self.course.points[self.point.begin : self.point.first_after]]

    @property
    def worse(self) -> float:
        """Fraction by which the result became worse; negative if it became better."""
        factor = self.point.factor
        return factor - 1 if self.course.better == "lower" else 1 / factor - 1


@dataclass(frozen=True)
class LevelEvent:
    """Changes at about the same time, and what changed then in the machines and their software."""

    before: str
    after: str
    started_unix_s: float
    """Start time of the first run after the event."""
    changes: list[LevelChange]
    """Changes, largest first."""
    differences: list[str]
    """Differences in words; empty if the machine descriptions agree."""


@dataclass(frozen=True)
class History:
    """The results of a cluster and their changes."""

    cluster: str
    courses: list[FigureSeries]
    runs: int
    events: list[LevelEvent]
    """Events, oldest first."""
    fewest_runs: int = FEWEST_RUNS
    """Minimum number of runs in which a change can be found."""

    @property
    def false_alarms(self) -> float:
        """Bound on the expected number of false alarms if nothing changed, over all results with enough runs."""
        return FALSE_ALARMS * sum(len(course.points) >= self.fewest_runs for course in self.courses)

    def last_regressions(self) -> list[LevelChange]:
        """Return the last change of each result if that is a regression, gravest first."""
        last = {id(change.course): change for event in self.events for change in event.changes}
        return sorted(
            (change for change in last.values() if change.worse > 0), key=lambda level_change: -level_change.worse
        )

    def worst_regression(self) -> float:
        """Return the largest fraction by which the last change of a result made it worse; 0 if none did."""
        return max([change.worse for change in self.last_regressions()], default=0.0)


def history(
    repository: Repository, cluster: str | None, benchmarks: Sequence[str], most: int | None = None
) -> History:
    """Return the history of a cluster, by default the cluster of the newest run.

    `benchmarks`: names, levels or shell patterns; empty for all. `most`: number of newest runs to use. Raises
    UsageError if there are no such results.
    """
    name = cluster or repository.named("latest").notes.cluster
    with repository.index() as index:
        asked = [RunChoice(cluster=name, benchmark=pattern, most=most) for pattern in benchmarks or ("",)]
        courses = [course for choice in asked for course in index.courses(choice)]
    if not courses:
        of = f" of {', '.join(benchmarks)}" if benchmarks else ""
        raise UsageError(f"{repository.folder.path}: no values{of} from the cluster {name}")
    return of_courses(repository, name, courses)


def steadiest(repository: Repository, cluster: str) -> list[FigureSeries]:
    """Return the results of a cluster that never changed their level, smallest spread first.

    There is one for each benchmark, so that they depend on different parts of the machine.
    """
    with repository.index() as index:
        every = one_of_each_case(index.courses(RunChoice(cluster=cluster)))
    chosen = [course for course in every if not course.benchmark.startswith(PREFIX)]  # only cases can be measured
    medians = {course.key: [point.median for point in course.points] for course in chosen}
    known = [series for series in chosen if len(series.points) >= FEWEST_RUNS and min(medians[series.key]) > 0]
    steady = [series for series in known if not change_points(medians[series.key])]
    steady.sort(key=lambda course: max(medians[course.key]) / min(medians[course.key]))
    first: dict[str, FigureSeries] = {}
    for course in steady:
        first.setdefault(course.benchmark, course)
    return list(first.values())


def of_courses(repository: Repository, cluster: str, courses: Sequence[FigureSeries]) -> History:
    """Return the history of these results of a cluster, with only the first (main) result of each case."""
    chosen = one_of_each_case(courses)
    changes = [
        LevelChange(course, point)
        for course in chosen
        for point in change_points([series_point.median for series_point in course.points])
    ]
    runs = {point.run for course in chosen for point in course.points}
    return History(cluster, chosen, len(runs), _events(repository, changes))


def _events(repository: Repository, changes: Sequence[LevelChange]) -> list[LevelEvent]:
    """Return groups of changes, each at most `NEAR` runs after the previous one in its group, oldest first."""
    started = {point.run: point.started_unix_s for change in changes for point in change.course.points}
    order = {run: number for number, run in enumerate(sorted(started, key=started.__getitem__))}
    groups: list[list[LevelChange]] = []
    for change in sorted(changes, key=lambda level_change: order[level_change.first_after]):
        if groups and order[change.first_after] - order[groups[-1][-1].first_after] <= NEAR:
            groups[-1].append(change)
        else:
            groups.append([change])
    return [_event(repository, group) for group in groups]


def _event(repository: Repository, changes: Sequence[LevelChange]) -> LevelEvent:
    """Return the event of neighboring changes, located where most of them are."""
    (before, after), _ = Counter((change.last_before, change.first_after) for change in changes).most_common(1)[0]
    place = next(change for change in changes if change.first_after == after)
    return LevelEvent(
        before=before,
        after=after,
        started_unix_s=place.course.points[place.point.first_after].started_unix_s,
        changes=sorted(changes, key=lambda level_change: -abs(level_change.worse)),
        differences=_differences(repository, before, after),
    )


def _differences(repository: Repository, before: str, after: str) -> list[str]:
    """Return the differences of machine.json across a change in words, or why they are not known."""
    try:
        one, other = (_machine(repository.file(run)) for run in (before, after))
    except ScopeError as error:
        return [f"unknown change of the machine: {error}"]
    return differences(one, other)


def compiler(repository: Repository, run: str) -> str:
    """Return the path of the MPI compiler that built a run's native program; empty if not recorded."""
    build = _machine(repository.file(run)).get("build") or {}
    return str(build.get("mpi", {}).get("compiler", ""))


def _machine(file: Path) -> Mapping[str, Any]:
    with packing.opened(file) as folder:
        if (folder / FILE).is_file():
            return dict(fleet(read_json(folder / FILE, HealthFile)))
        return read_json(RunDirectory(folder).machine, dict[str, Any])


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the distinct differences of two machine descriptions: `kernel: 6.1.0 -> 6.1.9`."""
    before, after = _leaves(one), _leaves(other)
    words = []
    for key in dict.fromkeys([*before, *after]):
        if before.get(key) != after.get(key):
            words.append(f"{_spelt(key)}: {_value(before.get(key))} -> {_value(after.get(key))}")
    return list(dict.fromkeys(words))


def _leaves(value: Any, key: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if isinstance(value, Mapping):
        return {
            leaf: found
            for name, each in value.items()
            if name not in VOLATILE
            for leaf, found in _leaves(each, (*key, name)).items()
        }
    if isinstance(value, list) and any(isinstance(element, Mapping) for element in value):
        named = [str(each.get("name", number)) for number, each in enumerate(value) if isinstance(each, Mapping)]
        return {
            leaf: found
            for name, each in zip(named, value, strict=False)
            for leaf, found in _leaves(each, (*key, name)).items()
        }
    return {key: value}


def _spelt(key: tuple[str, ...]) -> str:
    """Return a key in words, with hosts and their parts by name: `node1: kernel`."""
    if key[0] == "hosts" and len(key) > 2:
        return f"{key[1]}: {' '.join(key[2:])}".replace("_", " ")
    return " ".join(key).replace("_", " ")


def _value(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
