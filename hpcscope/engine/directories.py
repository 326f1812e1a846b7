"""Folders of runs: a new one, the latest one."""

import os
import time
from pathlib import Path

from hpcscope.errors import UsageError, naming
from hpcscope.locks import LOCK, hold
from hpcscope.rundirectory import RunDirectory
from hpcscope.strict import printable

LATEST = "latest"


def new_directory(name: str, asked: Path | None) -> RunDirectory:
    """Create and hold the folder of a new run: the requested one, else runs/<UTC time>-<name>."""
    if asked is not None:
        try:
            printable(str(asked))
        except ValueError as error:
            raise UsageError(f"--output {str(asked)!r}: {error}") from error
        # A submitted run finds the folder of its job there.
        if asked.exists() and (
            not asked.is_dir()
            or any(path not in (RunDirectory(asked).job, asked / LOCK) for path in asked.iterdir())
        ):
            raise UsageError(f"--output {asked}: exists; must be new or empty (--resume {asked} resumes a run)")
        return _made(asked.absolute())
    runs = Path("runs").absolute()
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    folders = (runs / (f"{stamp}-{name}" + (f"-{number}" if number else "")) for number in range(1000))
    return _made(next(folder for folder in folders if not folder.exists()))


def make_latest(directory: RunDirectory) -> None:
    """Let runs/latest point to a run in the same folder that has ended and can be read.

    This is one step: a reader sees the old or the new run.
    """
    link = Path("runs").absolute() / LATEST
    if directory.path.parent != link.parent or (link.exists() and not link.is_symlink()):
        return
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    with naming(link):
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(directory.path.name)
        temporary.replace(link)


def _made(folder: Path) -> RunDirectory:
    """Create and hold a folder."""
    with naming(folder, "cannot be created"):
        folder.mkdir(parents=True, exist_ok=True)
    hold(folder)
    return RunDirectory(folder)
