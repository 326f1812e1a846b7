"""Archive runs in a repository, find them again, and exchange them with another repository.

Modules that read runs are loaded only when a run is read; listing runs needs only the index.
"""

from __future__ import annotations

import getpass
import os
import re
import secrets
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hpcscope.archive import index as indexing
from hpcscope.archive.database import Place, Server, refuse_address
from hpcscope.archive.entry import (
    FORMAT,
    Entry,
    KeptFigure,
    Notes,
    cluster_name,
    entry,
    figures,
    fingerprint,
    identity,
    refuse_remarks,
)
from hpcscope.archive.folder import ARRIVED, MARK, RUNS, SUFFIX, Folder
from hpcscope.archive.index import Index
from hpcscope.commands import captured
from hpcscope.errors import ScopeError, UsageError
from hpcscope.new_file import new_file
from hpcscope.private import home, temporary_folder
from hpcscope.rundirectory import RunDirectory, expanded, write_json
from hpcscope.strict import printable

if TYPE_CHECKING:
    from hpcscope.machine.machine import Machine
    from hpcscope.rundirectory import RunFile

VARIABLE = "SCOPE_REPOSITORY"
SQLITE = "sqlite"
"""Value of `rebuild --index` for an index in a file of the repository."""
SHORTEST_ID = 4
REMOTE = r"[A-Za-z0-9._@-]+:.+"
"""Pattern of a directory on another host in rsync's notation."""
COPY_LIMIT_S = 3600.0
_DIGITS = "[0-9a-f]" * 16
"""Pattern of an id in rsync's notation."""
NO_FOLDERS = "--exclude=*/"
ONLY_OURS = (
    *(f"--include=/{RUNS}/", NO_FOLDERS),
    *(f"--include=/{name}" for name in (MARK, ARRIVED, f"{RUNS}/{_DIGITS}{SUFFIX}", f"{RUNS}/{_DIGITS}.json")),
    "--exclude=*",
)
"""rsync filter for the files to copy; links, pipes and devices are never copied."""
MOST_RUN = "--max-size=1g"
MOST_NOTES = "--max-size=1m"
PARTLY_DONE = 23
"""rsync's exit code if some files could not be read."""


@dataclass(frozen=True)
class DamagedRun:
    """What is wrong with an archived run."""

    id: str
    what: str


def default() -> Path:
    """Return the directory of the user's repository: $SCOPE_REPOSITORY, else in the user's data directory."""
    asked = os.environ.get(VARIABLE)
    if asked:
        return Path(asked)
    data = os.environ.get("XDG_DATA_HOME") or str(home() / ".local" / "share")
    return Path(data) / "scope" / "repository"


@dataclass(frozen=True)
class Exchanged:
    """What was copied from one repository to another."""

    runs: int
    notes: int
    """Number of runs that both had and whose notes were updated."""
    damaged: list[DamagedRun]


class Repository:
    """A repository, created if asked; its index is rebuilt if it is missing or outdated."""

    def __init__(self, path: Path | None = None, make: bool = False) -> None:
        self.folder = Folder(expanded("repository", str(path or default())).absolute())
        if make:
            self.folder.make()
        self.folder.require()

    def add(
        self, runs: Sequence[Path], tags: Sequence[str] = (), note: str = "", cluster: str | None = None
    ) -> list[tuple[Entry, bool]]:
        """Archive runs (directories or packed runs); return their entries, and whether each is new.

        A run that is already archived only gets the tags, the note and the cluster. Raises UsageError if a path is
        not a run, or its run has not ended.
        """
        refuse_remarks(tags, note, cluster)
        return [self._add(run, tags, note, cluster) for run in runs]

    def _add(self, run: Path, tags: Sequence[str], note: str, cluster: str | None) -> tuple[Entry, bool]:
        from hpcscope.archive import packing
        from hpcscope.archive.runs import is_check

        with packing.opened(run) as folder, self.index() as index:
            is_check(folder)  # refuses other directories
            name = identity(RunDirectory(folder))
            known = index.begins_with(name)
            if known:
                return self._noted(index, known[0], tags, (), note or None, cluster), False
            record, machine, made = _described(folder)
            if record.status == "running":
                raise UsageError(f"{run}: has not ended; only finished runs can be kept")
            digest = self.folder.keep(name, lambda file: packing.pack_compactly(folder, name, file))
            notes = Notes(
                sha256=digest,
                added_unix_s=time.time(),
                added_by=_user(),
                cluster=cluster or index.cluster_of(fingerprint(machine)) or cluster_name(machine),
                tags=list(dict.fromkeys(tags)),
                note=note,
            )
            self.folder.write_notes(name, notes)
            kept = entry(name, record, machine, self.folder.run(name).stat().st_size, notes)
            index.put_all([(kept, made)])
        return kept, True

    def chosen(self, choice: indexing.RunChoice) -> list[Entry]:
        """Return the chosen runs, newest first."""
        with self.index() as index:
            return index.chosen(choice)

    def named(self, name: str) -> Entry:
        """Return the run whose id begins with `name`, or the newest for `latest`; UsageError if there is none."""
        with self.index() as index:
            return self._named(index, name)

    def file(self, name: str) -> Path:
        """Return the file of a run after verifying its checksum; UsageError if it is damaged."""
        one = self.named(name)
        if problem := self.folder.problem(one.id):
            raise UsageError(f"{one.id}: {problem}")
        return self.folder.run(one.id)

    def with_figures(self, name: str) -> tuple[Entry, list[KeptFigure]]:
        """Return a run and its results."""
        with self.index() as index:
            found = self._named(index, name)
            return found, index.figures(found.id)

    def note(
        self,
        name: str,
        tags: Sequence[str] = (),
        untag: Sequence[str] = (),
        note: str | None = None,
        cluster: str | None = None,
    ) -> Entry:
        """Change the notes on a run; None leaves a note unchanged."""
        refuse_remarks(tags, note, cluster)
        with self.index() as index:
            return self._noted(index, self._named(index, name), tags, untag, note, cluster)

    def remove(self, names: Sequence[str]) -> list[Entry]:
        """Remove runs and the notes on them."""
        with self.index() as index:
            found = [self._named(index, name) for name in names]
            for one in found:
                self.folder.remove(one.id)
                index.remove(one.id)
        return found

    def verify(self) -> list[DamagedRun]:
        """Compare all files with their checksums, and the index with the files; return the problems."""
        files = self.folder.ids()
        found = [DamagedRun(name, what) for name in sorted(files) if (what := self.folder.problem(name))]
        with self.index() as index:
            indexed = index.ids()
        for names, what in ((files - indexed, "is not in the index"), (indexed - files, "its file is missing")):
            found += [DamagedRun(name, f"{what}; run `scope repository rebuild`") for name in sorted(names)]
        return found

    def rebuild(self, where: str | None = None) -> list[DamagedRun]:
        """Rebuild the index from the files; return the damaged runs, which are not in the index.

        `where`: the PostgreSQL database for the index from now on, or `sqlite` for a file. Raises UsageError for
        an invalid address or an address with a password.
        """
        with self.folder.locked(alone=True):
            if where is None:
                return self._rebuild(self.folder.place)
            if where == SQLITE:
                problems = self._rebuild(self.folder.index)
                self.folder.server.unlink(missing_ok=True)
                return problems
            refuse_address(where)
            known = self.folder.place
            own = known.repository if isinstance(known, Server) else secrets.token_hex(8)
            server = Server(address=where, repository=own)
            problems = self._rebuild(server)
            write_json(self.folder.server, server)
            self.folder.index.unlink(missing_ok=True)
            return problems

    def _rebuild(self, place: Place) -> list[DamagedRun]:
        problems: list[DamagedRun] = []
        with ExitStack() as held:
            new = held.enter_context(new_file(place)) if isinstance(place, Path) else place
            index = held.enter_context(indexing.made(new))
            index.put_all(self._readable(self.folder.ids(), problems))
        return problems

    def state(self) -> object:
        """Return a value that changes whenever the index changes."""
        with self.index() as index:
            return index.changes()

    def push(self, target: str) -> Exchanged:
        """Copy missing runs and newer notes to another repository, a directory or HOST:DIR.

        The next command on the remote host updates its index.
        """
        if not _is_remote(target):
            return Repository(Path(target), make=True)._take(self.folder)
        _refuse_other(target)
        copied = _rsync(f"{self.folder.path}/", target, "--ignore-existing", *ONLY_OURS)
        with _notes_of(target) as theirs:
            changed = theirs.take_notes(self.folder)
            for name in theirs.noted() - changed:
                theirs.notes_file(name).unlink()
            if copied or changed:
                write_json(theirs.arrived, {"format": FORMAT})
                _rsync(f"{theirs.path}/", target, *ONLY_OURS)
        return Exchanged(copied, len(changed), [])

    def pull(self, source: str) -> Exchanged:
        """Copy runs that are missing here, and notes that are newer there, from another repository."""
        if not _is_remote(source):
            return self._take(Repository(Path(source)).folder)
        with _notes_of(source) as theirs:
            missing = "".join(f"{name}{SUFFIX}\n" for name in sorted(theirs.noted() - self.folder.ids()))
            inside = str(theirs.path / RUNS)
            _rsync(f"{source}/{RUNS}/", inside, "--files-from=-", NO_FOLDERS, MOST_RUN, files=missing)
            return self._take(theirs)

    def _take(self, theirs: Folder) -> Exchanged:
        """Copy runs that are missing here, and notes that are newer there, from another local directory."""
        refused = []
        missing = (theirs.noted() | theirs.ids()) - self.folder.ids()
        for name in sorted(missing):
            try:
                theirs.copy(name, self.folder)
            except ScopeError as error:
                refused.append(DamagedRun(name, str(error)))
        changed = self.folder.take_notes(theirs)
        return Exchanged(len(missing) - len(refused), len(changed), refused + self._reconcile())

    def _reconcile(self) -> list[DamagedRun]:
        """Update the index with files that came from elsewhere; return the damaged runs."""
        problems: list[DamagedRun] = []
        with self._opened() as index:
            known = {one.id: one for one in index.chosen(indexing.RunChoice())}
            for found in self._readable(self.folder.ids() - known.keys(), problems):
                index.put_all([found])
            for name, one in known.items():
                try:
                    notes = self.folder.notes(name)
                except UsageError as error:
                    problems.append(DamagedRun(name, str(error)))
                    continue
                if notes != one.notes:
                    index.note(partial(one.model_copy, update={"notes": notes}))
        return problems

    @contextmanager
    def index(self) -> Iterator[Index]:
        """Yield the index, rebuilt if it is missing, not a database, or of another version."""
        if self.folder.arrived.exists():
            self.folder.arrived.unlink(missing_ok=True)  # before reconciling: later arrivals create it again
            self._reconcile()
        with self._opened() as index:
            yield index

    @contextmanager
    def _opened(self) -> Iterator[Index]:
        with self.folder.locked():
            whole = self._has_index()
        if not whole:
            with self.folder.locked(alone=True):
                if not self._has_index():  # another process may have rebuilt it meanwhile
                    self._rebuild(self.folder.place)
        with self.folder.locked(), indexing.opened(self.folder.place) as index:
            if index is None:
                raise ScopeError(
                    f"{self.folder.path}: the index is damaged; rebuild it with `scope repository rebuild`"
                )
            yield index

    def _has_index(self) -> bool:
        place = self.folder.place
        if isinstance(place, Path) and not place.exists():
            return False
        with indexing.opened(place) as index:
            return index is not None

    def _readable(self, names: set[str], problems: list[DamagedRun]) -> Iterator[tuple[Entry, list[KeptFigure]]]:
        """Yield the runs with these ids and their results, and add damaged runs to `problems`."""
        for name in sorted(names):
            what = self.folder.problem(name)
            if not what:
                try:
                    yield self._read(name)
                    continue
                except ScopeError as error:
                    what = str(error)
            problems.append(DamagedRun(name, what))

    def _read(self, name: str) -> tuple[Entry, list[KeptFigure]]:
        from hpcscope.archive import packing

        file = self.folder.run(name)
        with packing.opened(file) as folder:
            if identity(RunDirectory(folder)) != name:
                raise UsageError(f"{file}: contains a run whose id does not match the file name")
            record, machine, made = _described(folder)
            return entry(name, record, machine, file.stat().st_size, self.folder.notes(name)), made

    def _named(self, index: Index, name: str) -> Entry:
        if name == "latest":
            found = index.chosen(indexing.RunChoice(most=1))
        elif re.fullmatch(rf"[0-9a-f]{{{SHORTEST_ID},16}}", name):
            found = index.begins_with(name)
        else:
            raise UsageError(f"RUN = {name}: must be `latest` or the first {SHORTEST_ID} to 16 digits of an id")
        if len(found) != 1:
            what = "no such run" if not found else "several ids begin with these digits"
            raise UsageError(f"RUN = {name}: {what}; `scope repository list` lists all runs")
        return found[0]

    def _noted(
        self,
        index: Index,
        one: Entry,
        tags: Sequence[str],
        untag: Sequence[str],
        note: str | None,
        cluster: str | None,
    ) -> Entry:
        def change() -> Entry:
            notes = self.folder.notes(one.id)
            changed = Notes(
                **{
                    **notes.model_dump(),
                    "tags": [tag for tag in dict.fromkeys([*notes.tags, *tags]) if tag not in untag],
                    "note": notes.note if note is None else note,
                    "cluster": cluster or notes.cluster,
                }
            )
            if changed != notes:
                changed = changed.model_copy(update={"noted_unix_s": time.time()})
                self.folder.write_notes(one.id, changed)
            return one.model_copy(update={"notes": changed})

        return index.note(change)


def _described(folder: Path) -> tuple[RunFile, Machine, list[KeptFigure]]:
    """Return the data of a run or of a health check that the index needs."""
    from hpcscope.archive import health
    from hpcscope.archive.runs import is_check
    from hpcscope.findings.results import Run

    if is_check(folder):
        return health.described(folder)
    found = Run(folder)
    return found.record, found.machine, figures(found.statistics) if found.record.status != "running" else []


def _user() -> str:
    try:
        return printable(getpass.getuser())
    except (KeyError, OSError, ValueError):
        return str(os.getuid())


def _is_remote(place: str) -> bool:
    return re.fullmatch(REMOTE, place) is not None and not Path(place).exists()


@contextmanager
def _notes_of(remote: str) -> Iterator[Folder]:
    """Yield a private copy of the notes of a remote repository."""
    with temporary_folder("notes") as folder:
        (folder / RUNS).mkdir()
        only_notes = (NO_FOLDERS, f"--include=/{_DIGITS}.json", "--exclude=*", MOST_NOTES)
        _rsync(f"{remote}/{RUNS}/", str(folder / RUNS), *only_notes)
        yield Folder(folder)


def _refuse_other(target: str) -> None:
    """Raise UsageError if a remote directory has files but is not a repository."""
    listed = _started(["--list-only", "--", f"{target}/"])
    names = {line.split(None, 4)[4] for line in listed.stdout.splitlines() if len(line.split(None, 4)) == 5}
    if listed.returncode == 0 and MARK not in names and names - {"."}:
        raise UsageError(f"{target}: must be a new or empty directory, or a repository")


def _rsync(source: str, target: str, *options: str, files: str = "") -> int:
    """Copy files with rsync over ssh and return the number of copied runs; ScopeError if it fails.

    `files`: names of files, one per line; files that cannot be read are left out.
    """
    words = ["--recursive", "--times", "--chmod=F-x", "--out-format=%n", *options, "--", source, target]
    ended = _started(words, files)
    if ended.returncode and not (files and ended.returncode == PARTLY_DONE):
        said = ended.stderr.strip().splitlines() or ["failed"]
        raise ScopeError(f"rsync: {said[-1]}")
    return sum(line.endswith(SUFFIX) for line in ended.stdout.splitlines())


def _started(words: Sequence[str], files: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return captured(["rsync", "--protect-args", *words], COPY_LIMIT_S, input=files)
    except FileNotFoundError as error:
        raise ScopeError("rsync: not installed; push and pull to another host need it") from error
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"rsync: did not end within {COPY_LIMIT_S:g} s") from error
