"""The entries in the cache of builds: their size, their last use, and their removal."""

import fcntl
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcscope.build.cmake import cache_directory
from hpcscope.errors import ScopeError
from hpcscope.private import refuse_foreign_programs
from hpcscope.rundirectory import size_of

DAY_S = 86400.0
LOG = "build.log"
BUILDS, OBJECTS = "build", "objects"
_COMPILER = "-DCMAKE_CXX_COMPILER="


@dataclass(frozen=True)
class Cached:
    """One build, the objects of one build, or one small program."""

    path: Path
    kind: str
    """`build`, `objects` (from which a changed source is compiled again) or `program`."""
    of: str
    """The project and its compiler if they are known, else the name of the program."""
    used_unix_s: float
    size_bytes: int

    def days(self) -> float:
        """Return for how many days it has not been used."""
        return (time.time() - self.used_unix_s) / DAY_S


def entries() -> list[Cached]:
    """Return what the cache holds, the last used first.

    Raises ScopeError if another user could have put something there.
    """
    root = cache_directory()
    if not root.is_dir():
        return []
    refuse_foreign_programs(root)
    kept: list[Cached] = []
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink()):
        for path in sorted(folder.iterdir()):
            if folder.name in (BUILDS, OBJECTS):
                if path.is_dir() and not path.is_symlink():
                    kept.append(_directory(path, "build" if folder.name == BUILDS else OBJECTS))
            elif path.is_file() and not path.is_symlink():
                kept.append(Cached(path, "program", folder.name, path.stat().st_mtime, path.stat().st_size))
    return sorted(kept, key=lambda cached: -cached.used_unix_s)


def remove(entry: Cached) -> bool:
    """Remove an entry and return whether it was free: nothing is removed while a build holds it.

    A running program is not disturbed. Raises ScopeError if the system refuses.
    """
    try:
        if entry.kind == "program":
            entry.path.unlink()
            return True
        with _held(entry.path) as free:
            if free:
                shutil.rmtree(entry.path)
            return free
    except OSError as error:
        raise ScopeError(f"{error.filename or entry.path}: cannot be removed: {error.strerror}") from error


@contextmanager
def _held(directory: Path) -> Iterator[bool]:
    """Hold the lock of a build, as `cmake.locked`, without waiting; yields whether it was free."""
    with directory.with_suffix(".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _directory(path: Path, kind: str) -> Cached:
    lock = path.with_suffix(".lock")
    used = lock if lock.exists() else path  # every use takes the lock, which creates its file again
    return Cached(path, kind, _of(path), used.stat().st_mtime, size_of(path))


def _of(path: Path) -> str:
    """Return project and compiler, from the log of a build or CMake's cache of objects; empty without them."""
    try:
        if (path / "CMakeCache.txt").is_file():
            known = dict(re.findall(r"^(\w+):\w+=(.*)$", (path / "CMakeCache.txt").read_text(), re.MULTILINE))
            sources, compiler = known["CMAKE_HOME_DIRECTORY"], known["CMAKE_CXX_COMPILER"]
        else:
            with (path / LOG).open() as log:
                words = shlex.split(log.readline())
            sources = words[words.index("-S") + 1]
            compiler = next(word for word in words if word.startswith(_COMPILER)).removeprefix(_COMPILER)
    except (OSError, ValueError, LookupError, StopIteration):
        return ""
    return f"{Path(sources).name}, {compiler}"
