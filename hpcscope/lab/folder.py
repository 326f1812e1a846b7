"""Where labs keep their files: one private folder per user, in it one per lab."""

import fcntl
import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hpcscope.errors import ScopeError, UsageError
from hpcscope.lab.active import ActiveLab
from hpcscope.names import NAME, refuse_odd_name
from hpcscope.private import private_folder, refuse_shared, remove_below
from hpcscope.rundirectory import read_json

STATE = "state.json"
HOSTS = "hosts"
HOLDER = Path(__file__).with_name("holder.py")
"""The program that is the first process of a lab."""
DEATH_S = 5.0


def labs() -> Path:
    """Return the folder of all labs of this user: in the user's runtime directory, else in the temporary one.

    Raises ScopeError if another user could have made it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base = Path(runtime if runtime and Path(runtime).is_dir() else tempfile.gettempdir())
    return private_folder(base / f"scope-labs-{os.getuid()}")


def folder_of(name: str) -> Path:
    """Return the folder of a lab; UsageError for a name that would lead elsewhere."""
    return labs() / refuse_odd_name("lab", name)


def names() -> list[str]:
    """Return the names of all labs that have a folder, up or not."""
    return sorted(path.name for path in labs().iterdir() if re.fullmatch(NAME, path.name))


def make(name: str) -> Path:
    """Make a new folder for a lab; an old one is removed."""
    folder = folder_of(name)
    remove_below(folder.parent, name)
    return private_folder(folder)


def remove(name: str) -> None:
    """Remove the folder of a lab."""
    remove_below(labs(), name)


@contextmanager
def locked(wait: bool = True) -> Iterator[bool]:
    """Let one process at a time change the labs of this user; without `wait`, yield False if another one does."""
    path = labs() / ".lock"
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ScopeError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        free = True
    except BlockingIOError:
        free = False
    try:
        yield free
    finally:
        os.close(lock)


def state(name: str) -> ActiveLab | None:
    """Return the state of a lab that is up; None if its holder has ended.

    Raises UsageError if the file is damaged and a holder still runs.
    """
    folder = folder_of(name)
    if not folder.is_dir():
        return None
    refuse_shared(folder)
    running = holders(name)
    if not running or not (folder / STATE).is_file():
        return None
    try:
        lab = read_json(folder / STATE, ActiveLab)
    except UsageError as error:
        raise UsageError(f"{error}; end the lab with `scope lab down {name}`") from error
    same = lab.holder in running and started(lab.holder) == lab.holder_started
    return lab if same and network_of(lab.holder) == lab.holder_network else None


def holders(name: str) -> list[int]:
    """Return the processes of this user that hold a lab: their command names its hosts file.

    They are found without the state file, which may be damaged.
    """
    hosts = os.fsencode(folder_of(name) / HOSTS)
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                holds = hosts in words and any(Path(os.fsdecode(word)).name == HOLDER.name for word in words)
                if holds and process.stat().st_uid == os.getuid():
                    found.append(int(process.name))
    return sorted(found)


def end_holders(name: str) -> None:
    """Kill the processes that hold a lab, and with them all others inside; ScopeError when they do not end."""
    found = holders(name)
    for pid in found:
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                # The number may have been reused before the handle was opened, so check again before the signal.
                if pid in holders(name):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
    deadline = time.monotonic() + DEATH_S
    while left := [pid for pid in found if _lives(pid)]:
        if time.monotonic() > deadline:
            raise ScopeError(f"lab {name}: process {left[0]} does not end")
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    """Return whether a process is alive; an ended child of this process that is still to be reaped is not."""
    try:
        state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return False
    return not (state == "Z" and int(parent) == os.getpid())


def started(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it does not exist."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


def network_of(pid: int) -> int | None:
    """Return the number of the network namespace of a process; None if it does not exist."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return None
