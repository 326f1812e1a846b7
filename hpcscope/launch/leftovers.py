"""What killed launches leave behind: listed while a launch lives, removed when it is over.

MPI libraries keep the memory that the ranks of a host share in files below /dev/shm, and some launchers have a
folder among the temporary files. If launcher and ranks are killed together, nobody removes these. A launch lists
those of its own processes in its private folder. Once the launch is dead, its supervisor or the next launch
removes them.
"""

import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

import psutil

from hpcscope.build.mpi import registry
from hpcscope.errors import ScopeError
from hpcscope.private import YOUNG_S, refuse_shared

MEMORY = Path("/dev/shm")
FOLDER, MARK = "SCOPE_STORAGE", "SCOPE_STORAGE_MARK"
"""The variables that tell the native program where its files go, and a mark for the names of their folders."""
LIST = "leftovers"
"""The list in the folder of a launch: a path and the number of its inode on each line."""
STORAGE_LIST = "storage"
"""The list in the folder of a launch of how the paths begin of folders that its ranks create for files."""
FIRST_LOOK_S, LONGEST_WAIT_S = 0.05, 0.5
"""Growing time between two looks: ranks create shared memory early, and looking disturbs a measurement."""
TICK_NS = 50_000_000
LOOKS = 4
"""Looks at a new file before it is attributed to another program."""
DYING_S = 2.0
"""How long killed ranks may take to release their memory."""

Identity = tuple[int, int]
"""Device and inode of a file."""


@contextmanager
def listed(folder: Path) -> Iterator[None]:
    """List in `folder` what the processes started by this one during the context would leave behind."""
    over = threading.Event()
    _remove_empty_sessions()
    known = dict(_shared_memory())
    thread = threading.Thread(target=_list, args=(folder / LIST, known, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def list_storage(folder: Path, place: str, mark: str) -> None:
    """List in `folder` that the ranks of a launch make folders at a place, with this mark in their names."""
    (folder / STORAGE_LIST).write_text(f"{place}/scope-storage-{mark}-")


def removed(folder: Path) -> bool:
    """Remove what the lists in `folder` name and no process uses; return whether nothing of it is left.

    A file is removed only if it is the very one that was listed, belongs to this user, and has the name of an MPI
    library's shared memory; a launcher's folder only if it is the very one, and private; a folder of ranks only if
    this user owns it and its name has the mark of the launch.
    """
    if not _storage_removed(folder):
        return False
    try:
        lines = [line.rpartition(" ") for line in (folder / LIST).read_text().splitlines()]
    except (OSError, ValueError):
        return True
    names = {(name, inode) for name, _, inode in lines}
    end_s = time.monotonic() + DYING_S
    while left := {path: each for path, each in _shared_memory() if (str(path), str(each[1])) in names}:
        in_use = _mapped(psutil.process_iter())
        for path in [path for path, each in left.items() if each not in in_use]:
            with suppress(OSError):
                path.unlink()
            del left[path]
        if left and time.monotonic() > end_s:
            return False
        time.sleep(FIRST_LOOK_S if left else 0)
    for name, _, inode in lines:
        if not Path(name).is_relative_to(MEMORY):
            _remove_session(Path(name), inode)
    return True


def _storage_removed(folder: Path) -> bool:
    """Remove the folders that the ranks of a launch made for files; return whether none is left."""
    try:
        beginning = Path((folder / STORAGE_LIST).read_text())
        entries = list(os.scandir(beginning.parent))
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    left = False
    for entry in entries:
        if entry.name.startswith(beginning.name) and _is_own_folder(entry):
            shutil.rmtree(entry.path, ignore_errors=True)
            left = left or Path(entry.path).exists()
    return not left


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        status = entry.stat(follow_symlinks=False)
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    return False


def _list(file: Path, known: dict[Path, Identity], over: threading.Event) -> None:
    wait_s = FIRST_LOOK_S
    changed_ns = 0
    looks: dict[Identity, int] = {}
    """Number of looks at each file that no process of ours has mapped yet."""
    while not over.wait(wait_s):
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        with suppress(OSError, psutil.Error):
            last_ns = MEMORY.stat().st_mtime_ns
            if last_ns == changed_ns and not looks:
                continue
            new = {path: each for path, each in _shared_memory() if known.get(path) != each}
            processes = psutil.Process().children(recursive=True) if new else []
            mapped = _mapped(processes)
            ours = {path: each for path, each in new.items() if each in mapped}
            ours |= {path: each for path, each in _sessions(processes) if known.get(path) != each}
            if ours:
                with file.open("a") as lines:
                    lines.writelines(f"{path} {each[1]}\n" for path, each in ours.items())
            looks = {process: looks.get(process, 0) + 1 for process in new.values() if process not in mapped}
            known |= ours | {path: each for path, each in new.items() if looks.get(each) == LOOKS}
            looks = {each: times for each, times in looks.items() if times < LOOKS}
            # The file system's clock is coarse: further files within the same tick do not change the time.
            changed_ns = last_ns if time.time_ns() - last_ns > TICK_NS else 0


def _shared_memory() -> Iterator[tuple[Path, Identity]]:
    """Yield the files of this user that are named like an MPI library's shared memory."""
    with suppress(OSError), os.scandir(MEMORY) as entries:
        for entry in entries:
            if any(fnmatch(entry.name, pattern) for pattern in registry.SHARED_MEMORY):
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid():
                        yield Path(entry.path), (status.st_dev, status.st_ino)


def _sessions(processes: Iterable[psutil.Process]) -> Iterator[tuple[Path, Identity]]:
    """Yield the session directories of those processes that are launchers."""
    for process in processes:
        for pattern in registry.SESSIONS:
            path = _session(pattern, process.pid)
            with suppress(OSError):
                status = path.stat()
                yield path, (status.st_dev, status.st_ino)


def _session(pattern: str, launcher: int) -> Path:
    names = {"host": os.uname().nodename, "user": os.getuid(), "launcher": launcher}
    return Path(tempfile.gettempdir()) / pattern.format(**names)


def _remove_empty_sessions() -> None:
    """Remove empty parents of session directories, which ranks that lose their launcher may leave behind."""
    for place in {_session(pattern, 0).parent for pattern in registry.SESSIONS}:
        with suppress(OSError, ScopeError):
            refuse_shared(place)
            if time.time() - place.stat().st_mtime > YOUNG_S:  # else a launcher may just be about to use it
                place.rmdir()


def _remove_session(path: Path, inode: str) -> None:
    """Remove a session directory whose launcher is dead, and its parent if that was the last one."""
    with suppress(OSError, ScopeError):
        refuse_shared(path.parent)
        refuse_shared(path)
        if str(path.stat().st_ino) == inode and not psutil.pid_exists(int(path.name.rpartition(".")[2])):
            shutil.rmtree(path, ignore_errors=True)
            path.parent.rmdir()


def _mapped(processes: Iterable[psutil.Process]) -> set[Identity]:
    """Return the files that processes have mapped."""
    mapped = set()
    for process in processes:
        with suppress(OSError):
            for line in Path(f"/proc/{process.pid}/maps").read_bytes().splitlines():
                _range, _access, _offset, device, inode, *_path = line.split(maxsplit=5)
                if inode != b"0":
                    major, _, minor = device.partition(b":")
                    mapped.add((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
    return mapped
