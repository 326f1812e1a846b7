"""The folder of a repository: `runs/ID.zip.xz`, which never changes, and `runs/ID.json` with the notes on it.

The folder may be shared by several users and hosts. Files appear whole, by renaming; nothing is removed that is
not named by an id. What others put there is checked like any file from elsewhere (SECURITY.md).
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
from hpcscope.errors import ScopeError, UsageError
from hpcscope.new_file import new_file
from hpcscope.rundirectory import Below, opened, read_json, refuse_future, write_json

MARK = "repository.json"
MOST_BYTES = 1 << 30
"""Of the file of a run that comes from elsewhere."""
INDEX = "index.sqlite"
SERVER = "index.json"
ARRIVED = "arrived.json"
LOCK = ".lock"
RUNS = "runs"
PATIENCE_S = 120.0
"""For others who make the index anew, which takes a tenth of a second for each run."""
SUFFIX = ".zip.xz"


@dataclass(frozen=True)
class Folder:
    """Where the files of a repository stand."""

    path: Path

    mark = Below(MARK)
    """The file that makes a folder a repository."""
    index = Below(INDEX)
    """The index, where no server has it."""
    server = Below(SERVER)
    """The file that names the server with the index."""
    arrived = Below(ARRIVED)
    """The file that says that runs or notes came from another host, which the index does not have yet."""

    @property
    def place(self) -> Place:
        """Where the index is; UsageError for a file that names no server."""
        return read_json(self.server, Server) if self.server.exists() else self.index

    def run(self, name: str) -> Path:
        """Return the file of a run, by its id."""
        return self.path / RUNS / f"{name}{SUFFIX}"

    def notes_file(self, name: str) -> Path:
        """Return the file with the notes on a run."""
        return self.path / RUNS / f"{name}.json"

    def make(self) -> None:
        """Make the folder unless there is one; raises ScopeError where the system refuses."""
        if self.mark.exists():
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            if any(self.path.iterdir()):
                raise UsageError(f"{self.path}: must be a new or empty directory, or a repository")
            (self.path / RUNS).mkdir()
        except OSError as error:
            raise ScopeError(f"{error.filename or self.path}: cannot be made: {error.strerror}") from error
        write_json(self.mark, {"format": FORMAT})

    def require(self) -> None:
        """Raise UsageError where the folder is no repository."""
        if not self.mark.is_file():
            raise UsageError(f"{self.path}: not a repository; `scope repository add` creates one")
        refuse_future(str(self.mark), read_json(self.mark, dict[str, int]).get("format", 1))

    @contextmanager
    def locked(self, alone: bool = False) -> Iterator[None]:
        """Keep the index from being replaced while it is open; `alone`: to replace it.

        Raises ScopeError where other processes hold it for too long.
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
        """Return the notes on a run; UsageError where they are missing or wrong."""
        return read_json(self.notes_file(name), Notes)

    def write_notes(self, name: str, notes: Notes) -> None:
        """Write the notes on a run."""
        write_json(self.notes_file(name), notes)

    def noted(self) -> set[str]:
        """Return the ids of all runs that have notes."""
        names = (path.name for path in (self.path / RUNS).iterdir())
        return {name.removesuffix(".json") for name in names if re.fullmatch(rf"{ID}\.json", name)}

    def take_notes(self, other: Folder) -> set[str]:
        """Take what was said last, here or in another folder, of runs with notes in both; return whose changed.

        Notes that cannot be read are left alone: to find them is the business of `problem`.
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
        """Write the file of a run in one step and return its SHA-256; nothing is left of what fails."""
        target = self.run(name)
        try:
            with new_file(target) as made, made.open("w+b") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ScopeError(f"{target}: cannot be written: {error.strerror or error}") from error
        return digest

    def remove(self, name: str) -> None:
        """Remove the files of a run."""
        for file in (self.run(name), self.notes_file(name)):
            file.unlink(missing_ok=True)

    def problem(self, name: str) -> str:
        """Say what is wrong with the files of a run; empty where nothing is."""
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

        Raises ScopeError where its file is damaged or too large, and where its notes are from the future.
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
