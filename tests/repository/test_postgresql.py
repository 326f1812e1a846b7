"""An index on a real server of PostgreSQL answers as one in a file does; passwords are neither taken nor kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from hpcscope.archive.database import Server
from hpcscope.archive.index import RunChoice
from hpcscope.archive.repository import SQLITE, Repository
from hpcscope.cli import answer
from hpcscope.errors import ScopeError, UsageError
from tests.patience import PATIENCE_S
from tests.repository.test_repository import variant

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
NOBODY = 65534
PASSWORD = "not-to-be-printed"
CHOICES = (
    RunChoice(),
    RunChoice(most=2),
    RunChoice(tags=["kept"]),
    RunChoice(cluster="giza"),
    *(RunChoice(name=name) for name in ("*er", "s[pu]*", "s[^p]*", "?inter", "[", "w.*", "Winter", "")),
    *(RunChoice(benchmark=name) for name in ("mpi", "mpi.l*", "mpi.latency", "mpi.latenc", "storage", "*stream")),
)

pytestmark = pytest.mark.skipif(not BINARIES, reason="no PostgreSQL server on this machine")


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """A server of our own, on a socket in a folder of its own, which asks for a password; returns the folder."""
    folder = Path(tempfile.mkdtemp(prefix="scope-postgresql-"))
    secret = folder / "password"
    secret.write_text(PASSWORD)
    lower = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
    if lower:
        for each in (folder, secret):
            os.chown(each, NOBODY, NOBODY)
    tools, data = BINARIES[-1].parent, folder / "data"
    options = f"-c listen_addresses= -k {folder} -c fsync=off"

    def run(*words: str | Path) -> None:
        subprocess.run([*lower, *words], check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL, cwd=folder)

    try:
        made = ["-D", data, "-U", "scope", "--auth=scram-sha-256", f"--pwfile={secret}", "--no-sync", "-E", "UTF8"]
        run(tools / "initdb", *made)
        waiting = ["-w", "-t", str(PATIENCE_S)]
        run(tools / "pg_ctl", "-D", data, *waiting, "-o", options, "-l", folder / "log", "start")
        try:
            yield folder
        finally:
            run(tools / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def address(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    secrets = tmp_path / "pgpass"
    secrets.write_text(f"*:*:*:scope:{PASSWORD}\n")
    secrets.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(secrets))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    return f"postgresql://scope@/postgres?host={server}"


def answers(repository: Repository) -> object:
    with repository.index() as index:
        found = [(index.chosen(choice), index.courses(choice)) for choice in CHOICES]
        newest = index.chosen(RunChoice())
        return (
            found,
            [index.figures(one.id) for one in newest],
            index.cluster_of(newest[0].fingerprint),
            index.ids(),
        )


def test_a_server_answers_as_a_file_does_and_takes_several_writers(
    golden_run: Path, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [variant(golden_run, tmp_path, name, days) for days, name in enumerate(("winter", "spring", "summer"))]
    repository = Repository(tmp_path / "kept", make=True)
    folder = str(repository.folder.path)
    repository.add(runs[:1], tags=["kept"], cluster="giza")
    assert answer(["repo", "rebuild", "--in", folder, "--index", address]) == 0
    assert not repository.folder.index.exists()
    before = repository.state()
    with ThreadPoolExecutor() as writers:  # all have the same cases, which none of them may enter twice
        added = list(writers.map(lambda run: Repository(repository.folder.path).add([run]), runs[1:]))
    assert [new for ((_, new),) in added] == [True, True]
    assert repository.state() != before
    repository.note("latest", tags=["kept"], note="100 % 'quoted'? \\ and ü")
    on_server = answers(repository)
    repository.rebuild()
    # Runs that were added at one time have another order now; nothing else differs.
    again = answers(repository)
    assert again == on_server
    assert repository.verify() == []
    other = Repository(tmp_path / "other", make=True)
    with pytest.raises(ScopeError, match=r"\bindex of another\b"):
        other.rebuild(address)
    repository.rebuild(SQLITE)
    assert answers(repository) == on_server
    assert not repository.folder.server.exists()
    told = capsys.readouterr()
    assert PASSWORD not in told.out + told.err


def test_no_password_is_taken_or_kept(
    golden_run: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(tmp_path / "kept", make=True)
    for wrong in (
        f"postgresql://scope:{PASSWORD}@db/scope",
        f"postgresql://db/scope?password={PASSWORD}",
        f"postgresql://db:{PASSWORD}/scope",
        "postgresql://db/scope?passfile=/etc/shadow",
        "mysql://db/scope",
        "dbname=scope",
    ):
        with pytest.raises(UsageError, match="address of the index: ") as refused:
            repository.rebuild(wrong)
        assert PASSWORD not in str(refused.value)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with pytest.raises(UsageError, match="PGPASSWORD: ") as refused:
        repository.rebuild(address)
    assert PASSWORD not in str(refused.value)
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", "/dev/null")
    with pytest.raises(ScopeError, match="password") as failed:
        repository.rebuild(address)
    assert PASSWORD not in str(failed.value)
    assert not repository.folder.server.exists()


HOSTILE_TEXTS = (
    *(
        "'; DROP TABLE runs; --",
        "%s %(x)s %% ? ?",
        "\\' \\\\ E'\\x00'",
        "$1 {} :x",
        "<script>x()</script>",
        "\u202e \U0001f600",
    ),
    *("x" * 100_000, "\ud800", "a\0b", "\x1b[2J"),
)


@pytest.fixture
def indexed(golden_run: Path, server: Path, address: str, tmp_path: Path) -> Iterator[Repository]:
    """A repository of one run whose index is a database of its own on the server."""
    psycopg.connect(address, autocommit=True).execute("CREATE DATABASE hostile")
    repository = Repository(tmp_path / "kept", make=True)
    repository.add([variant(golden_run, tmp_path, "winter")], tags=["kept"], cluster="giza")
    repository.rebuild(address.replace("/postgres", "/hostile"))
    yield repository
    psycopg.connect(address, autocommit=True).execute("DROP DATABASE hostile WITH (FORCE)")


def test_hostile_texts_are_kept_as_they_are_or_refused(indexed: Repository) -> None:
    kept = []
    for text in HOSTILE_TEXTS:
        try:
            indexed.note("latest", note=text, cluster=text[:50])
        except UsageError:
            continue
        kept.append(text)
        assert indexed.named("latest").notes.note == text
        assert [one.notes.cluster for one in indexed.chosen(RunChoice(cluster=text[:50]))] == [text[:50]]
    assert kept == [*HOSTILE_TEXTS[:5], HOSTILE_TEXTS[6]]
    indexed.rebuild()
    assert indexed.verify() == []


FURTHER = pytest.mark.slow("more hostile contents; there, foreign identifiers, texts, versions and a lost table")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET id = '../../../mine'",
        """UPDATE runs SET entry = replace(entry, id, '../../../mine'), id = '../../../mine'""",
        "UPDATE runs SET entry = replace(entry, 'winter', '<script>x()</script>'), name = E'\\x1b[2J'",
        "UPDATE about SET version = 999",
        "DROP TABLE figures",
        *(
            pytest.param(statement, marks=FURTHER)
            for statement in (
                "UPDATE runs SET entry = 'no JSON'",
                "UPDATE runs SET entry = '{}'",
                "UPDATE runs SET started_unix_s = 'NaN'",
                "UPDATE figures SET median = 'Infinity', low = 'NaN'",
                "UPDATE cases SET unit = 'furlongs', metric = '<b>', benchmark = '../x', better = 'sideways'",
                "UPDATE cases SET label = repeat('x', 999999)",
                "ALTER TABLE runs DROP COLUMN entry",
                "DROP TABLE runs CASCADE; CREATE TABLE runs AS SELECT 'x' AS id, 1 AS number, 'y' AS entry",
            )
        ),
    ],
)
def test_whoever_writes_to_the_database_causes_no_trace_and_no_loss(
    indexed: Repository, statement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = indexed.folder.place
    assert isinstance(server, Server)
    (tmp_path / "mine.zip.xz").write_text("mine")
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(statement)
    place = ["--in", str(indexed.folder.path)]
    for words in (
        ["list"],
        ["list", "--json"],
        ["show", "latest"],
        ["path", "latest"],
        ["verify"],
        ["remove", "latest", "--yes"],
    ):
        assert answer(["repository", *words, *place]) in (0, 1, 2)
    assert answer(["history", *place]) in (0, 1, 2)
    assert answer(["site", str(tmp_path / "site"), *place]) in (0, 1, 2)
    told = capsys.readouterr()
    assert "a defect of Scope" not in told.err
    assert "\x1b[2J" not in told.out
    assert (tmp_path / "mine.zip.xz").read_text() == "mine"
    for page in (tmp_path / "site").rglob("*.html"):
        assert "<script>x()" not in page.read_text()
