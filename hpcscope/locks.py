"""Folders that a process holds: no other process changes or removes them until it ends or releases them."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError

LOCK = ".lock"
_held: dict[Path, int] = {}
"""The file descriptors of the locks, by their folders."""


def hold(folder: Path) -> int:
    """Keep other processes from changing or removing the folder of a run.

    Return a file descriptor for the launcher to inherit: the run stays locked while ranks are alive, even if this
    process is killed. UsageError if another process holds the run.
    """
    folder = folder.resolve()
    if folder in _held:
        return _held[folder]
    path = folder / LOCK
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except FileNotFoundError as error:
        raise UsageError(f"{folder}: does not exist; must be a run directory") from error
    except OSError as error:
        raise ScopeError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise UsageError(f"{folder}: another process is using it; wait until that process ends") from error
    _held[folder] = lock
    return lock


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder during the context; one that this process already holds stays held afterwards."""
    before = folder.resolve() in _held
    hold(folder)
    try:
        yield
    finally:
        if not before:
            release(folder)


def release(folder: Path) -> None:
    """Let other processes change or remove a folder again."""
    os.close(_held.pop(folder.resolve()))


def release_all() -> None:
    """Release all folders that this process holds."""
    while _held:
        os.close(_held.popitem()[1])
