"""The index of a repository, in SQLite or PostgreSQL: runs, their tags, and the results of their cases.

It contains only information from the archived files, and is rebuilt from them if it is lost, damaged or of another
version. Several processes may write: each change is one transaction, under the lock of the database.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from hpcscope.archive.database import REBUILD, Database, Place, Value, connected
from hpcscope.archive.entry import Entry, KeptFigure
from hpcscope.errors import ScopeError

VERSION = 1
"""Version of the tables; an index of another version is rebuilt."""
TABLES = """
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  started_unix_s REAL NOT NULL,
  name TEXT NOT NULL,
  cluster TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  entry TEXT NOT NULL
);
CREATE INDEX runs_started ON runs (started_unix_s);
CREATE INDEX runs_cluster ON runs (cluster, started_unix_s);
CREATE INDEX runs_fingerprint ON runs (fingerprint);
CREATE TABLE tags (
  tag TEXT NOT NULL,
  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  PRIMARY KEY (tag, run)
) WITHOUT ROWID;
CREATE INDEX tags_run ON tags (run);
CREATE TABLE cases (
  number INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  benchmark TEXT NOT NULL,
  metric TEXT NOT NULL,
  label TEXT NOT NULL,
  ranks INTEGER NOT NULL,
  unit TEXT NOT NULL,
  better TEXT NOT NULL,
  origin TEXT NOT NULL
);
CREATE INDEX cases_benchmark ON cases (benchmark);
CREATE TABLE figures (
  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  "case" INTEGER NOT NULL REFERENCES cases,
  median REAL NOT NULL,
  low REAL,
  high REAL,
  launches INTEGER NOT NULL,
  PRIMARY KEY (run, "case")
) WITHOUT ROWID;
CREATE INDEX figures_case ON figures ("case", run);
"""


@dataclass(frozen=True)
class RunChoice:
    """Filter for runs; an empty field or None selects all."""

    cluster: str = ""
    name: str = ""
    """Shell pattern for the name of the run."""
    tags: Sequence[str] = ()
    """Tags, all of which a run must have."""
    benchmark: str = ""
    """Benchmark that a run must have measured: its name, its level, or a shell pattern."""
    since_unix_s: float | None = None
    until_unix_s: float | None = None
    most: int | None = None
    """Maximum number of runs, newest first."""


@dataclass(frozen=True)
class SeriesPoint:
    """The result of one run."""

    run: str
    """Id of the run."""
    started_unix_s: float
    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class FigureSeries:
    """A result over time."""

    benchmark: str
    metric: str
    label: str
    key: str
    """Key of the case and its metric, as in `KeptFigure`."""
    unit: str
    better: str
    origin: str
    points: list[SeriesPoint]
    """Oldest first."""


OfCase = TypeVar("OfCase", KeptFigure, FigureSeries)


class Index:
    """An open index."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_all(self, runs: Iterable[tuple[Entry, Iterable[KeptFigure]]]) -> None:
        """Put runs into the index in one transaction: all of them or, if one fails, none.

        A run replaces any entry with the same id.
        """
        with self._database.transaction():
            for entry, figures in runs:
                self._put(entry, figures)

    def _put(self, entry: Entry, figures: Iterable[KeptFigure]) -> None:
        self._remove(entry.id)
        self._database.execute(
            "INSERT INTO runs (id, started_unix_s, name, cluster, fingerprint, entry) VALUES (?, ?, ?, ?, ?, ?)",
            (
                entry.id,
                entry.started_unix_s,
                entry.name,
                entry.notes.cluster,
                entry.fingerprint,
                entry.model_dump_json(),
            ),
        )
        run = self._number("SELECT number FROM runs WHERE id = ?", entry.id)
        assert run is not None
        self._tag(run, entry.notes.tags)
        self._database.execute_many(
            'INSERT INTO figures (run, "case", median, low, high, launches) VALUES (?, ?, ?, ?, ?, ?)'
            ' ON CONFLICT (run, "case") DO UPDATE'
            " SET median = excluded.median, low = excluded.low, high = excluded.high,"
            " launches = excluded.launches",
            [(run, self._case(row), row.median, row.low, row.high, row.launches) for row in figures],
        )

    def _tag(self, run: int, tags: Iterable[str]) -> None:
        self._database.execute("DELETE FROM tags WHERE run = ?", (run,))
        self._database.execute_many(
            "INSERT INTO tags (tag, run) VALUES (?, ?)", [(tag, run) for tag in dict.fromkeys(tags)]
        )

    def note(self, change: Callable[[], Entry]) -> Entry:
        """Change the index entry of a known run, except its results, and return the new entry.

        `change` is called while no other process writes, so it may read and write the notes on the run.
        """
        with self._database.transaction():
            entry = change()
            self._database.execute(
                "UPDATE runs SET cluster = ?, entry = ? WHERE id = ?",
                (entry.notes.cluster, entry.model_dump_json(), entry.id),
            )
            run = self._number("SELECT number FROM runs WHERE id = ?", entry.id)
            if run is not None:
                self._tag(run, entry.notes.tags)
        return entry

    def remove(self, name: str) -> None:
        """Remove a run, by its id."""
        with self._database.transaction():
            self._remove(name)

    def changes(self) -> int:
        """Return a number that increases with every change."""
        return self._database.changes()

    def ids(self) -> set[str]:
        """Return the ids of all runs."""
        return {name for (name,) in self._database.execute("SELECT id FROM runs")}

    def chosen(self, choice: RunChoice) -> list[Entry]:
        """Return the chosen runs, newest first."""
        chosen, values = _chosen(choice, self._database)
        return _entries(self._database.execute(f"SELECT id, entry {chosen}", values))

    def begins_with(self, text: str) -> list[Entry]:
        """Return up to three runs whose ids begin with a text."""
        rows = self._database.execute(
            "SELECT id, entry FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 3", (text, text + "g")
        )
        return _entries(rows)

    def figures(self, name: str) -> list[KeptFigure]:
        """Return the results of the run with an id, benchmark by benchmark."""
        rows = self._database.execute(
            "SELECT cases.benchmark, cases.metric, cases.label, cases.key, cases.ranks, cases.unit, cases.better,"
            " cases.origin, figures.median, figures.low, figures.high, figures.launches"
            ' FROM runs JOIN figures ON figures.run = runs.number JOIN cases ON cases.number = figures."case"'
            " WHERE runs.id = ? ORDER BY cases.benchmark, cases.number",
            (name,),
        )
        names = list(KeptFigure.model_fields)
        return [KeptFigure.model_validate(dict(zip(names, row, strict=True))) for row in rows]

    def courses(self, choice: RunChoice) -> list[FigureSeries]:
        """Return the results of the chosen runs by case, oldest first; with a benchmark, only its cases."""
        chosen, values = _chosen(choice, self._database)
        of, patterns = _of_benchmark("cases.benchmark", choice.benchmark, self._database)
        rows = self._database.execute(
            f"WITH chosen AS (SELECT number, id, started_unix_s {chosen})"
            " SELECT cases.number, cases.benchmark, cases.metric, cases.label, cases.key, cases.unit,"
            " cases.better, cases.origin, chosen.id, chosen.started_unix_s, figures.median, figures.low,"
            " figures.high"
            ' FROM chosen JOIN figures ON figures.run = chosen.number JOIN cases ON cases.number = figures."case"'
            f" WHERE {of or 'TRUE'} ORDER BY cases.benchmark, cases.number, chosen.started_unix_s, chosen.number",
            [*values, *patterns],
        )
        courses: dict[int, FigureSeries] = {}
        for number, benchmark, metric, label, key, unit, better, origin, *point in rows:
            course = courses.setdefault(
                number, FigureSeries(benchmark, metric, label, key, unit, better, origin, [])
            )
            course.points.append(SeriesPoint(*point))
        return list(courses.values())

    def cluster_of(self, fingerprint: str) -> str | None:
        """Return the cluster name of the newest run of these machines; None if there is no such run."""
        rows = self._database.execute(
            "SELECT cluster FROM runs WHERE fingerprint = ? ORDER BY started_unix_s DESC LIMIT 1", (fingerprint,)
        )
        return next((str(name) for (name,) in rows), None)

    def _remove(self, name: str) -> None:
        self._database.execute("DELETE FROM runs WHERE id = ?", (name,))

    def _case(self, one: KeptFigure) -> int:
        known = "SELECT number FROM cases WHERE key = ?"
        number = self._number(known, one.key)
        if number is None:
            self._database.execute(
                "INSERT INTO cases (key, benchmark, metric, label, ranks, unit, better, origin)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (one.key, one.benchmark, one.metric, one.label, one.ranks, one.unit, one.better, one.origin),
            )
            number = self._number(known, one.key)
        assert number is not None
        return number

    def _number(self, question: str, value: str) -> int | None:
        return next((int(number) for (number,) in self._database.execute(question, (value,))), None)


@contextmanager
def opened(place: Place) -> Iterator[Index | None]:
    """Yield the index in a file or on a server; None if there is no readable index of this version.

    Raises ScopeError if another process writes for too long, or the file system or the server refuses.
    """
    with connected(place) as database:
        yield Index(database) if database.version() == VERSION else None


@contextmanager
def made(place: Place) -> Iterator[Index]:
    """Yield a new, empty index: in a file that does not exist yet, or on a server, replacing its index."""
    with connected(place) as database, database.create(TABLES, VERSION):
        yield Index(database)


def _entries(rows: Iterable[Any]) -> list[Entry]:
    """Return the entries from rows of id and entry; ScopeError if another program has changed one."""
    found = [(name, Entry.model_validate_json(text)) for name, text in rows]
    if wrong := [name for name, one in found if one.id != name]:
        raise ScopeError(f"the index is damaged: id = {wrong[0]!r}: has the entry of another run; {REBUILD}")
    return [one for _, one in found]


def _chosen(choice: RunChoice, database: Database) -> tuple[str, list[Value]]:
    """Return the SQL clause that selects the chosen runs, newest first, and the values for its `?`."""
    conditions: list[str] = []
    values: list[Value] = []
    for text, value in (
        ("cluster = ?", choice.cluster or None),
        (database.alike("name"), database.pattern(choice.name) if choice.name else None),
        ("started_unix_s >= ?", choice.since_unix_s),
        ("started_unix_s < ?", choice.until_unix_s),
        *(("number IN (SELECT run FROM tags WHERE tag = ?)", tag) for tag in choice.tags),
    ):
        if value is not None:
            conditions.append(text)
            values.append(value)
    if choice.benchmark:
        of, patterns = _of_benchmark("benchmark", choice.benchmark, database)
        conditions.append(
            'EXISTS (SELECT 1 FROM figures WHERE figures.run = runs.number AND figures."case" IN'
            f" (SELECT number FROM cases WHERE {of}))"
        )
        values += patterns
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    limit = "" if choice.most is None else f"LIMIT {int(choice.most)}"
    return f"FROM runs {where} ORDER BY started_unix_s DESC, number DESC {limit}", values


def _of_benchmark(column: str, benchmark: str, database: Database) -> tuple[str, list[str]]:
    """Return the SQL condition that a column matches a benchmark or a level, and its values; empty if none."""
    if not benchmark:
        return "", []
    either = f"({database.alike(column)} OR {database.alike(column)})"
    return either, [database.pattern(benchmark), database.pattern(f"{benchmark}.*")]


def one_of_each_case(figures: Iterable[OfCase]) -> list[OfCase]:
    """Return only the first metric of each case, which is the main result of its benchmark."""
    first: dict[tuple[str, str], OfCase] = {}
    for figure in figures:
        first.setdefault((figure.label, figure.origin), figure)
    return list(first.values())


def as_json(entry: Entry) -> dict[str, object]:
    """Return an entry as a plain object."""
    plain: dict[str, object] = json.loads(entry.model_dump_json())
    return plain
