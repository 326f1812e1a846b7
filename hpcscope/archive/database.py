"""Databases for an index: an SQLite file, or a PostgreSQL server that many hosts share.

Both accept the same SQL, with `?` for values; this module handles the differences. psycopg is loaded only when a
server is used; nothing else needs the package.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from hpcscope.errors import ScopeError, UsageError
from hpcscope.rundirectory import explain
from hpcscope.strict import Strict

if TYPE_CHECKING:
    import psycopg

TIMEOUT_S = 30.0
"""Time to wait for another process that writes."""
ADDRESS = "postgresql://[USER@]HOST[:PORT]/DATABASE"
REBUILD = "rebuild the index with `scope repository rebuild`"

Value = str | float | int | None


class Server(Strict):
    """`index.json`: the database server with the index of a repository."""

    format: int = 1
    address: str
    """Address without a password, because many users may read the file."""
    repository: str = Field(pattern=r"^[0-9a-f]{16}$")
    """Random id of the repository; the database must not hold the index of another repository."""


Place = Path | Server


class Sqlite:
    """An SQLite file with a rollback journal, which also works on network file systems."""

    def __init__(self, connection: sqlite3.Connection, file: Path) -> None:
        self._connection = connection
        self._file = file

    def execute(self, text: str, values: Sequence[Value] = ()) -> Iterable[Any]:
        """Execute a statement and return its rows."""
        return self._connection.execute(text, values)

    def execute_many(self, text: str, rows: Iterable[Sequence[Value]]) -> None:
        """Execute a statement for each row of values."""
        self._connection.executemany(text, rows)

    @contextmanager
    def create(self, tables: str, version: int) -> Iterator[None]:
        """Create the tables in a new file."""
        self._connection.executescript(tables)
        self._connection.execute(f"PRAGMA user_version = {int(version)}")
        yield

    def version(self) -> int | None:
        """Return the version of the tables; None if the file is not a database."""
        try:
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            return None
        return int(version)

    def changes(self) -> int:
        """Return the modification time of the file in ns."""
        return self._file.stat().st_mtime_ns

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let all statements or none take effect; no other process writes meanwhile."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def alike(self, column: str) -> str:
        """Return the SQL condition, with one `?`, that a column matches a shell pattern."""
        return f"{column} GLOB ?"

    def pattern(self, shell_pattern: str) -> str:
        """Return the shell pattern unchanged."""
        return shell_pattern


class Postgresql:
    """A PostgreSQL database; one writer at a time, as with an SQLite file."""

    def __init__(self, connection: psycopg.Connection[Any], server: Server) -> None:
        self._connection = connection
        self._server = server

    def execute(self, text: str, values: Sequence[Value] = ()) -> Iterable[Any]:
        """Execute a statement and return its rows."""
        return self._run(text, values)

    def execute_many(self, text: str, rows: Iterable[Sequence[Value]]) -> None:
        """Execute a statement for each row of values."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_marked(text), rows)

    @contextmanager
    def create(self, tables: str, version: int) -> Iterator[None]:
        """Create tables that replace the earlier tables if the context succeeds."""
        self.version()  # refuses the index of another repository
        names = re.findall(r"CREATE TABLE (\w+)", tables)
        with self._connection.transaction():
            self._run(f"DROP TABLE IF EXISTS {', '.join(names)}, about CASCADE")
            for statement in filter(str.strip, _spelt(tables).split(";")):
                self._run(statement)
            self._run(
                "CREATE TABLE about (version INTEGER NOT NULL, repository TEXT NOT NULL, changes BIGINT NOT NULL)"
            )
            self._run("INSERT INTO about VALUES (?, ?, 0)", (version, self._server.repository))
            yield

    def version(self) -> int | None:
        """Return the version of the tables; None if there are none, ScopeError if they are not ours."""
        ((known,),) = self._run("SELECT to_regclass('about') IS NOT NULL")
        for version, repository in self._run("SELECT version, repository FROM about") if known else ():
            if repository != self._server.repository:
                raise ScopeError(
                    f"{self._server.address}: has the index of another repository; must be an unused database"
                )
            return int(version)
        return None

    def changes(self) -> int:
        """Return the number of changes."""
        ((count,),) = self._run("SELECT changes FROM about")
        return int(count)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let all statements or none take effect; no other process writes meanwhile."""
        with self._connection.transaction():
            self._run("UPDATE about SET changes = changes + 1")  # other writers wait for this row
            yield

    def _run(self, text: str, values: Sequence[Value] = ()) -> Iterable[Any]:
        cursor = self._connection.execute(_marked(text), values)
        return cursor if cursor.description else ()

    def alike(self, column: str) -> str:
        """Return the SQL condition, with one `?`, that a column matches a regular expression."""
        return f"{column} ~ ?"

    def pattern(self, shell_pattern: str) -> str:
        """Return a regular expression that is equivalent to the shell pattern."""
        return f"^{_regular(shell_pattern)}$"


Database = Sqlite | Postgresql
"""An open database."""


def refuse_address(address: str) -> None:
    """Raise UsageError for an invalid database address, or for a password in it, which others could read."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise UsageError(f"address of the index: must be {ADDRESS}") from None  # it may hold a password
    if parts.password is not None:
        raise UsageError(
            "address of the index: must not contain a password, because others could read it; use ~/.pgpass"
        )
    whole = rf"postgresql://(?:[\w.-]+@)?(?:[\w.-]+|\[[0-9a-f:]+\])?(?::{port})?/[\w.-]+(?:\?host=/[\w./-]+)?"
    if re.fullmatch(whole, address, re.ASCII) is None:
        socket = "postgresql:///DATABASE?host=/DIR (Unix socket in /DIR)"
        raise UsageError(f"address of the index: must be {ADDRESS} or {socket}")


@contextmanager
def connected(place: Place) -> Iterator[Database]:
    """Yield an open database; ScopeError if the file system or the server refuses."""
    opened: AbstractContextManager[Database] = _file(place) if isinstance(place, Path) else _on(place)
    with opened as database:
        try:
            yield database
        except ValidationError as error:  # invalid rows: other programs may write there
            where = place if isinstance(place, Path) else place.address
            raise ScopeError(f"{where}: the index is damaged: {explain(error)}; {REBUILD}") from error


@contextmanager
def _file(file: Path) -> Iterator[Sqlite]:
    try:
        connection = sqlite3.connect(file, timeout=TIMEOUT_S, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            yield Sqlite(connection, file)
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise ScopeError(f"{file}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise ScopeError(f"{file}: {error}; {REBUILD}") from error


@contextmanager
def _on(server: Server) -> Iterator[Postgresql]:
    address = server.address
    refuse_address(address)
    if os.environ.get("PGPASSWORD"):
        # Anyone who can write to the repository could choose the server and would receive the password.
        raise UsageError(
            "PGPASSWORD: must not be set, because any server would receive it; use ~/.pgpass, one line per server"
        )
    try:
        import psycopg
    except ImportError as error:
        how = "pip install psycopg[binary] (requirements/postgresql.txt has the version)"
        raise ScopeError(f"{address}: psycopg is not installed; {how}") from error
    milliseconds = round(1000 * TIMEOUT_S)
    try:
        with psycopg.connect(
            address, autocommit=True, connect_timeout=round(TIMEOUT_S), options=f"-c lock_timeout={milliseconds}"
        ) as connection:
            yield Postgresql(connection, server)
    except psycopg.Error as error:
        said = (str(error).strip().splitlines() or ["failed"])[0]
        raise ScopeError(f"{address}: {said}") from error


def _marked(text: str) -> str:
    """Return a statement with psycopg's placeholders; ours contain no other question or percent signs."""
    return text.replace("?", "%s")


def _spelt(tables: str) -> str:
    """Return table definitions in PostgreSQL's dialect, with texts compared by bytes as in SQLite."""
    numbered = tables.replace("INTEGER PRIMARY KEY", "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
    plain = numbered.replace(" WITHOUT ROWID", "").replace(" REAL", " DOUBLE PRECISION")
    return plain.replace(" TEXT", ' TEXT COLLATE "C"')


def _regular(shell_pattern: str) -> str:
    """Return SQLite's shell pattern as a PostgreSQL regular expression."""
    made, rest = "", shell_pattern
    while rest:
        group = re.match(r"\[(\^?)(\]?[^\]]*)\]", rest)
        if rest[0] == "[" and group is None:
            return "a^"  # an open bracket matches nothing
        if group:
            inside = re.sub(r"([\\\[\]])", r"\\\1", group[2])
            made, rest = f"{made}[{group[1]}{inside}]", rest[group.end() :]
            continue
        made += {"*": ".*", "?": "."}.get(rest[0]) or re.escape(rest[0])
        rest = rest[1:]
    return made
