"""The index of a repository in SQLite: runs, their tags, and the figures of their cases.

It says nothing that the kept files do not say, and is made anew from them when it is lost, damaged or of another
version. Several processes may write: each change is one transaction, under SQLite's own lock, with a rollback
journal, which works on network file systems too (a write-ahead log does not: it needs shared memory).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scope.errors import ScopeError
from scope.repository.entry import Entry, Figure

VERSION = 1
"""Of the tables; an index with another one is made anew."""
TIMEOUT_S = 30.0
"""For another process that writes."""
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
class Choice:
    """Which runs are meant; what is empty or None chooses all."""

    cluster: str = ""
    name: str = ""
    """A shell pattern."""
    tags: Sequence[str] = ()
    """All of them."""
    benchmark: str = ""
    """Runs that measured it: its name, its level, or a shell pattern."""
    since_unix_s: float | None = None
    until_unix_s: float | None = None
    most: int | None = None
    """The newest."""


@dataclass(frozen=True)
class Point:
    """The figure of one run."""

    run: str
    """Its id."""
    started_unix_s: float
    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Course:
    """A figure in the course of time."""

    benchmark: str
    metric: str
    label: str
    key: str
    """Of the case and its metric, as in `Figure`."""
    unit: str
    better: str
    origin: str
    points: list[Point]
    """Oldest first."""


class Index:
    """An open index."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, entry: Entry, figures: Iterable[Figure]) -> None:
        """Put a run into the index, in place of what the index says of its id."""
        self.put_all([(entry, figures)])

    def put_all(self, runs: Iterable[tuple[Entry, Iterable[Figure]]]) -> None:
        """Put runs into the index at once: all of them or, where one cannot be had, none."""
        with self._transaction():
            for entry, figures in runs:
                self._put(entry, figures)

    def _put(self, entry: Entry, figures: Iterable[Figure]) -> None:
        self._remove(entry.id)
        run = self._connection.execute(
            "INSERT INTO runs (id, started_unix_s, name, cluster, fingerprint, entry) VALUES (?, ?, ?, ?, ?, ?)",
            (
                entry.id,
                entry.started_unix_s,
                entry.name,
                entry.notes.cluster,
                entry.fingerprint,
                entry.model_dump_json(),
            ),
        ).lastrowid
        assert run is not None
        self._tag(run, entry.notes.tags)
        self._connection.executemany(
            'INSERT OR REPLACE INTO figures (run, "case", median, low, high, launches) VALUES (?, ?, ?, ?, ?, ?)',
            [(run, self._case(one), one.median, one.low, one.high, one.launches) for one in figures],
        )

    def _tag(self, run: int, tags: Iterable[str]) -> None:
        self._connection.execute("DELETE FROM tags WHERE run = ?", (run,))
        self._connection.executemany(
            "INSERT INTO tags (tag, run) VALUES (?, ?)", [(tag, run) for tag in dict.fromkeys(tags)]
        )

    def note(self, entry: Entry) -> None:
        """Change what the index says of a run that it has, figures excepted."""
        with self._transaction():
            self._connection.execute(
                "UPDATE runs SET cluster = ?, entry = ? WHERE id = ?",
                (entry.notes.cluster, entry.model_dump_json(), entry.id),
            )
            (run,) = self._connection.execute("SELECT number FROM runs WHERE id = ?", (entry.id,)).fetchone()
            self._tag(run, entry.notes.tags)

    def remove(self, name: str) -> None:
        """Remove a run, by its id."""
        with self._transaction():
            self._remove(name)

    def ids(self) -> set[str]:
        """Return the ids of all runs."""
        return {name for (name,) in self._connection.execute("SELECT id FROM runs")}

    def chosen(self, choice: Choice) -> list[Entry]:
        """Return the chosen runs, newest first."""
        conditions, values = _conditions(choice)
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        limit = "" if choice.most is None else f"LIMIT {int(choice.most)}"
        rows = self._connection.execute(
            f"SELECT entry FROM runs {where} ORDER BY started_unix_s DESC, number DESC {limit}", values
        )
        return [Entry.model_validate_json(text) for (text,) in rows]

    def begins_with(self, text: str) -> list[Entry]:
        """Return the runs whose ids begin with a text, at most three."""
        rows = self._connection.execute(
            "SELECT entry FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 3", (text, text + "g")
        )
        return [Entry.model_validate_json(found) for (found,) in rows]

    def figures(self, name: str) -> list[Figure]:
        """Return the figures of a run, by its id, benchmark by benchmark."""
        rows = self._connection.execute(
            "SELECT cases.benchmark, cases.metric, cases.label, cases.key, cases.ranks, cases.unit, cases.better,"
            " cases.origin, figures.median, figures.low, figures.high, figures.launches"
            ' FROM runs JOIN figures ON figures.run = runs.number JOIN cases ON cases.number = figures."case"'
            " WHERE runs.id = ? ORDER BY cases.benchmark, cases.number",
            (name,),
        )
        names = list(Figure.model_fields)
        return [Figure.model_validate(dict(zip(names, row, strict=True))) for row in rows]

    def courses(self, choice: Choice) -> list[Course]:
        """Return the figures of the chosen runs, case by case, oldest first; of a benchmark only its cases."""
        conditions, values = _conditions(choice)
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        limit = -1 if choice.most is None else choice.most
        of = "AND (cases.benchmark GLOB ? OR cases.benchmark GLOB ? || '.*')" if choice.benchmark else ""
        rows = self._connection.execute(
            f"WITH chosen AS (SELECT number, id, started_unix_s FROM runs {where}"
            " ORDER BY started_unix_s DESC, number DESC LIMIT ?)"
            " SELECT cases.number, cases.benchmark, cases.metric, cases.label, cases.key, cases.unit,"
            " cases.better, cases.origin,"
            " chosen.id, chosen.started_unix_s, figures.median, figures.low, figures.high"
            ' FROM chosen JOIN figures ON figures.run = chosen.number JOIN cases ON cases.number = figures."case"'
            f" WHERE 1 {of} ORDER BY cases.benchmark, cases.number, chosen.started_unix_s, chosen.number",
            [*values, limit, *([choice.benchmark] * 2 if choice.benchmark else [])],
        )
        courses: dict[int, Course] = {}
        for number, benchmark, metric, label, key, unit, better, origin, *point in rows:
            course = courses.setdefault(number, Course(benchmark, metric, label, key, unit, better, origin, []))
            course.points.append(Point(*point))
        return list(courses.values())

    def cluster_of(self, fingerprint: str) -> str | None:
        """Return the name that the newest run of these machines has; None where there is none."""
        found = self._connection.execute(
            "SELECT cluster FROM runs WHERE fingerprint = ? ORDER BY started_unix_s DESC LIMIT 1", (fingerprint,)
        ).fetchone()
        return str(found[0]) if found else None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _remove(self, name: str) -> None:
        self._connection.execute("DELETE FROM runs WHERE id = ?", (name,))

    def _case(self, one: Figure) -> int:
        found = self._connection.execute("SELECT number FROM cases WHERE key = ?", (one.key,)).fetchone()
        if found is not None:
            return int(found[0])
        made = self._connection.execute(
            "INSERT INTO cases (key, benchmark, metric, label, ranks, unit, better, origin)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (one.key, one.benchmark, one.metric, one.label, one.ranks, one.unit, one.better, one.origin),
        )
        assert made.lastrowid is not None
        return made.lastrowid


@contextmanager
def opened(file: Path) -> Iterator[Index | None]:
    """Yield the index in a file; None where there is none of this version that can be read.

    Raises ScopeError where another process writes for too long, and where the file system refuses.
    """
    with _connected(file) as connection:
        yield Index(connection) if _is_whole(connection) else None


@contextmanager
def made(file: Path) -> Iterator[Index]:
    """Yield a new, empty index in a file that does not exist."""
    with _connected(file) as connection:
        connection.executescript(TABLES)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        yield Index(connection)


@contextmanager
def _connected(file: Path) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(file, timeout=TIMEOUT_S, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            yield connection
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise ScopeError(f"{file}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise ScopeError(f"{file}: {error}; scope repository rebuild makes the index anew") from error


def _is_whole(connection: sqlite3.Connection) -> bool:
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:  # no database
        return False
    return bool(version == VERSION)


def _conditions(choice: Choice) -> tuple[list[str], list[str | float]]:
    """Return conditions in SQL and the values of their question marks."""
    conditions: list[str] = []
    values: list[str | float] = []
    for text, value in (
        ("cluster = ?", choice.cluster or None),
        ("name GLOB ?", choice.name or None),
        ("started_unix_s >= ?", choice.since_unix_s),
        ("started_unix_s < ?", choice.until_unix_s),
        *(("number IN (SELECT run FROM tags WHERE tag = ?)", tag) for tag in choice.tags),
    ):
        if value is not None:
            conditions.append(text)
            values.append(value)
    if choice.benchmark:
        conditions.append(
            'EXISTS (SELECT 1 FROM figures WHERE figures.run = runs.number AND figures."case" IN'
            " (SELECT number FROM cases WHERE benchmark GLOB ? OR benchmark GLOB ? || '.*'))"
        )
        values += [choice.benchmark, choice.benchmark]
    return conditions, values


def as_json(entry: Entry) -> dict[str, object]:
    """Return an entry as a plain object."""
    plain: dict[str, object] = json.loads(entry.model_dump_json())
    return plain
