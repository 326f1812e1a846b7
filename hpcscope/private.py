"""Folders in places that other users of the machine share: made for this user alone, or refused.

SECURITY.md says which folders these are, and what other users could do with a careless one.
"""

import atexit
import fcntl
import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError
from hpcscope.names import refuse_odd_name
from hpcscope.new_file import REQUESTS_TO_STOP
from hpcscope.own_exit import at_own_exit

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
YOUNG_S = 60.0
HELD = "held"
"""An empty file that marks a temporary folder as held by its owner at least once."""
UNPACKED = "unpacked.txt"
"""The file in the folder of a run that came as an archive."""


def private_folder(folder: Path) -> Path:
    """Return a folder that only this user can enter; it is made if necessary, but its parent must exist.

    Raises ScopeError if another user could have prepared the folder, or could exchange it.
    """
    try:
        _refuse_parent(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        refuse_shared(folder)
        folder.chmod(stat.S_IRWXU)  # an earlier version let other users enter
    except OSError as error:
        raise ScopeError(f"{folder}: cannot be created: {error.strerror}") from error
    return folder


@contextmanager
def temporary_folder(purpose: str, cleared: Callable[[Path], bool] | None = None) -> Iterator[Path]:
    """Yield a private folder `scope-PURPOSE-*` among the temporary files; it is removed at the end.

    Folders of killed processes are removed first. `cleared` removes whatever else a folder refers to, and returns
    whether nothing of it is left; otherwise the folder is kept for the next process to clear.
    """
    prefix = f"scope-{purpose}-"
    _remove_leftovers(Path(tempfile.gettempdir()), prefix, cleared)
    # A request to stop waits until the folder is held and, at the end, until it is removed.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS_TO_STOP)
    with ExitStack() as held:
        try:
            folder = Path(tempfile.mkdtemp(prefix=prefix))
            # The context's end begins inside contextlib, where a request to stop may arrive.
            last = at_own_exit(partial(_remove, folder, cleared))
            try:
                held.enter_context(_held(folder))
                with suppress(OSError):  # a full disk
                    (folder / HELD).touch()
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                yield folder
            finally:
                try:
                    # A request that arrived just before is handled inside this call.
                    signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS_TO_STOP)
                finally:
                    _remove(folder, cleared)
                    if not folder.exists():  # else files that are open now prevented its removal
                        atexit.unregister(last)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def home() -> Path:
    """Return the user's home directory; ScopeError if neither the environment nor the user database has one."""
    try:
        return Path.home()
    except RuntimeError as error:
        raise ScopeError(f"HOME: not set, and user {os.getuid()} has no entry in the list of users") from error


def refuse_shared(folder: Path) -> None:
    """Raise ScopeError unless this is a folder (not a link) of this user in which nobody else may write."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise ScopeError(f"{folder}: is not a directory; remove it")
    if status.st_uid != os.getuid():
        raise ScopeError(f"{folder}: belongs to user {status.st_uid}; must belong to user {os.getuid()}")
    mode = stat.S_IMODE(status.st_mode)
    if mode & OTHERS_MAY_WRITE:
        raise ScopeError(f"{folder}: has mode {mode:04o}, not 0700; remove it: others may have changed its files")


def refuse_foreign_programs(folder: Path) -> None:
    """Raise ScopeError if another user, except root, could have put programs into a folder.

    Programs in it are run later.
    """
    status = folder.stat()
    if status.st_uid not in (0, os.getuid()):
        raise ScopeError(f"{folder}: belongs to user {status.st_uid}; must be yours: Scope runs programs from it")
    if status.st_mode & OTHERS_MAY_WRITE:
        raise ScopeError(f"{folder}: others may write there, but Scope runs programs from it; chmod go-w {folder}")


def refuse_foreign(file: Path) -> None:
    """Raise UsageError if a file that names programs to start belongs to another user, except root.

    An unpacked file belongs to whoever unpacked it, but may name another user's programs.
    """
    if file.exists() and (owner := file.stat().st_uid) not in (0, os.getuid()):
        raise UsageError(f"{file}: belongs to user {owner}; only your own runs can be resumed")
    if mark := next((folder / UNPACKED for folder in file.parents[:2] if (folder / UNPACKED).exists()), None):
        raise UsageError(
            f"{mark.parent}: was unpacked from a file; only runs that were measured here can be resumed"
        )


def remove_below(parent: Path, name: str) -> None:
    """Remove a folder of this user with all its content; links in it are not followed.

    Raises ScopeError if the name leads elsewhere, or the folder belongs to another user.
    """
    folder = parent / refuse_odd_name("folder", name)
    if not folder.exists() and not folder.is_symlink():
        return
    refuse_shared(parent)
    refuse_shared(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(parent: Path, prefix: str, cleared: Callable[[Path], bool] | None) -> None:
    """Remove temporary folders of this user that no process holds or names in its environment or command.

    Young ones that were never held are left: an owner cannot yet protect a folder that it has just made.
    """
    mine = [folder for folder in parent.glob(f"{prefix}*") if _is_leftover(folder)]
    if not mine:
        return
    named = b"\0".join(_words_of_processes())
    for folder in mine:
        with suppress(FileNotFoundError), _held(folder) as free:  # its owner may remove it at any time
            if free and os.fsencode(folder) not in named:
                _remove(folder, cleared)


def _remove(folder: Path, cleared: Callable[[Path], bool] | None) -> None:
    if cleared is None or cleared(folder):
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # `rmtree` opens folders, which a process with too many open files cannot do
            (folder / HELD).unlink(missing_ok=True)
            folder.rmdir()


def _is_leftover(folder: Path) -> bool:
    """Return whether a folder is as `temporary_folder` makes it, and was held once or is not young."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    private = status.st_mode == stat.S_IFDIR | stat.S_IRWXU and status.st_uid == os.getuid()
    return private and ((folder / HELD).exists() or time.time() - status.st_mtime > YOUNG_S)


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Hold a folder during the context; yield False if another process holds it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(handle)


def _words_of_processes() -> Iterator[bytes]:
    """Yield environment and command of each process of this user."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            for file in ("environ", "cmdline"):
                with suppress(OSError):
                    yield (process / file).read_bytes()


def _refuse_parent(parent: Path) -> None:
    """Raise ScopeError if another user could rename what this user makes."""
    status = parent.stat()
    unmapped = int(Path("/proc/sys/fs/overflowuid").read_text())  # root's files inside a user namespace
    if status.st_uid not in (0, os.getuid(), unmapped):
        raise ScopeError(f"{parent}: belongs to user {status.st_uid}; set TMPDIR to another directory")
    if status.st_mode & OTHERS_MAY_WRITE and not status.st_mode & stat.S_ISVTX:
        raise ScopeError(
            f"{parent}: others may rename files there; the sticky bit (chmod +t) or another TMPDIR prevents that"
        )
