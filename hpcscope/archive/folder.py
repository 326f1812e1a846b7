"""The directory of a repository: `runs/ID.zip.xz`, which never changes, and `runs/ID.json` with its notes.

Several users and hosts may share the directory. Files appear atomically, by renaming; only files named by an id
are ever removed. Files that others put there are checked like any file from elsewhere (SECURITY.md).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hpcscope.archive.database import Place, Server
from hpcscope.archive.entry import FORMAT, ID, Notes
from hpcscope.errors import ScopeError, UsageError, naming
from hpcscope.new_file import new_file
from hpcscope.rundirectory import Below, opened, read_json, refuse_future, write_json

MARK = "repository.json"
MOST_BYTES = 1 << 30
"""Maximum size of a run's file from elsewhere."""
INDEX = "index.sqlite"
SERVER = "index.json"
ARRIVED = "arrived.json"
LOCK = ".lock"
RUNS = "runs"
PATIENCE_S = 120.0
"""Time to wait for processes that rebuild the index, which takes about 0.1 s per run."""
SUFFIX = ".zip.xz"


@dataclass(frozen=True)
class Folder:
    """Locations of the files of a repository."""

    path: Path

    mark = Below(MARK)
    """The file that marks a directory as a repository."""
    index = Below(INDEX)
    """The index, unless it is on a server."""
    server = Below(SERVER)
    """The file that names the server with the index."""
    arrived = Below(ARRIVED)
    """The file that marks runs or notes from another host as not yet in the index."""

    @property
    def place(self) -> Place:
        """Location of the index; UsageError if `index.json` is invalid."""
        return read_json(self.server, Server) if self.server.exists() else self.index

    def run(self, name: str) -> Path:
        """Return the file of the run with an id."""
        return self.path / RUNS / f"{name}{SUFFIX}"

    def notes_file(self, name: str) -> Path:
        """Return the file with the notes on a run."""
        return self.path / RUNS / f"{name}.json"

    def make(self) -> None:
        """Create the repository unless it exists; ScopeError if the system refuses."""
        if self.mark.exists():
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            if any(self.path.iterdir()):
                raise UsageError(f"{self.path}: must be a new or empty directory, or a repository")
            (self.path / RUNS).mkdir()
        except OSError as error:
            raise ScopeError(f"{error.filename or self.path}: cannot be created: {error.strerror}") from error
        write_json(self.mark, {"format": FORMAT})

    def require(self) -> None:
        """Raise UsageError if the directory is not a repository."""
        if not self.mark.is_file():
            raise UsageError(f"{self.path}: not a repository; `scope repository add` creates one")
        refuse_future(str(self.mark), read_json(self.mark, dict[str, int]).get("format", 1))

    @contextmanager
    def locked(self, alone: bool = False) -> Iterator[None]:
        """Lock the index against replacement while it is open; with `alone`, lock it exclusively to replace it.

        Raises ScopeError if other processes hold the lock for too long.
        """
        file = self.path / LOCK
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            end = time.monotonic() + PATIENCE_S
            while True:
                try:
                    fcntl.flock(lock, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() > end:
                        words = f"other processes have locked the repository for over {PATIENCE_S:g} s"
                        raise ScopeError(f"{file}: {words}") from error
                    time.sleep(0.05)
            yield
        finally:
            os.close(lock)

    def ids(self) -> set[str]:
        """Return the ids of all runs that have a file."""
        names = (path.name for path in (self.path / RUNS).iterdir())
        return {name.removesuffix(SUFFIX) for name in names if re.fullmatch(ID + re.escape(SUFFIX), name)}

    def notes(self, name: str) -> Notes:
        """Return the notes on a run; UsageError if they are missing or invalid."""
        return read_json(self.notes_file(name), Notes)

    def write_notes(self, name: str, notes: Notes) -> None:
        """Write the notes on a run."""
        write_json(self.notes_file(name), notes)

    def noted(self) -> set[str]:
        """Return the ids of all runs that have notes."""
        names = (path.name for path in (self.path / RUNS).iterdir())
        return {name.removesuffix(".json") for name in names if re.fullmatch(rf"{ID}\.json", name)}

    def take_notes(self, other: Folder) -> set[str]:
        """Update the notes on runs in both repositories to the newer version; return the ids of updated runs.

        Notes that cannot be read are skipped; `problem` reports them.
        """
        changed = set()
        for name in self.noted() & other.noted():
            try:
                own = self.notes(name)
                newest = own.newest(other.notes(name))
            except UsageError:
                continue
            if newest != own:
                self.write_notes(name, newest)
                changed.add(name)
        return changed

    def keep(self, name: str, write: Callable[[BinaryIO], None]) -> str:
        """Write the file of a run atomically and return its SHA-256; a failure leaves nothing behind."""
        target = self.run(name)
        with naming(target), new_file(target) as made, made.open("w+b") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()

    def remove(self, name: str) -> None:
        """Remove the files of a run."""
        for file in (self.run(name), self.notes_file(name)):
            file.unlink(missing_ok=True)

    def problem(self, name: str) -> str:
        """Return what is wrong with the files of a run; empty if nothing is."""
        file = self.run(name)
        if file.is_symlink() or not file.is_file():
            return "its file is missing"
        try:
            notes = self.notes(name)
            with opened(file) as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
        except UsageError as error:
            return str(error)
        except OSError as error:
            return f"{file}: cannot be read: {error.strerror}"
        return "" if digest == notes.sha256 else f"{file}: has changed since it was added (its checksum differs)"

    def copy(self, name: str, target: Folder) -> None:
        """Copy a run and the notes on it to another repository.

        Raises ScopeError if the run's file is damaged or too large, or its notes are from the future.
        """
        if problem := self.problem(name):
            raise ScopeError(problem)
        if (size := self.run(name).stat().st_size) > MOST_BYTES:
            raise ScopeError(f"{self.run(name)}: has {size} bytes; must have at most {MOST_BYTES}")
        notes = self.notes(name)
        if not notes.said_unix_s:
            raise ScopeError(f"{self.notes_file(name)}: noted_unix_s = {notes.noted_unix_s}: is in the future")
        with opened(self.run(name)) as source:
            digest = target.keep(name, lambda file: shutil.copyfileobj(source, file, 1 << 20))
        if digest != notes.sha256:
            target.remove(name)
            raise ScopeError(f"{self.run(name)}: changed while it was copied")
        target.write_notes(name, notes)
