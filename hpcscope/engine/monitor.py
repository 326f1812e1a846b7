"""Any MPI program under the monitor."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hpcscope.engine.directories import make_latest, new_directory
from hpcscope.errors import ScopeError, UsageError
from hpcscope.locks import LOCK, release
from hpcscope.machine import discover
from hpcscope.programs.profiles import PROFILES, monitored_run
from hpcscope.programs.profiles.monitored_run import Options
from hpcscope.programs.profiles.program import recognize
from hpcscope.rundirectory import RunDirectory

if TYPE_CHECKING:
    from hpcscope.report.profile.contents import ProfileContents

NONE = "none"
"""Value of `against` that turns the comparison off."""


@dataclass(frozen=True)
class MonitorOutcome:
    """How a monitored command ended."""

    folder: Path
    code: int
    """Its exit code."""
    contents: ProfileContents | None
    """Its profile; None if no process left one, or if it could not be derived."""
    problem: str = ""
    """Why the profile could not be derived, such as a full disk."""


def monitor(
    command: Sequence[str], options: Options, output: Path | None = None, against: str | None = None
) -> MonitorOutcome:
    """Run a command under the monitor and derive everything from its profiles.

    `against`: the measured run to compare the program with; None: the newest one of these hosts, `none`: none.
    The modules that are needed at its end are loaded while the command starts.
    """
    measured = _measured(against)
    directory = new_directory("monitor", output)
    with ThreadPoolExecutor() as others:
        host = others.submit(discover.this_host)
        try:
            program = recognize(command, options.mpi, os.environ, Path.cwd())
            ended = monitored_run.run(
                command,
                directory.path,
                options,
                host=host.result,
                program=program,
                started=lambda: others.submit(_load),
            )
        except BaseException:
            release(directory.path)
            _remove_empty(directory.path)
            raise
    from hpcscope.engine import profile
    from hpcscope.programs.profiles.profile import SUFFIX
    from hpcscope.report.profile import page

    if not any((directory.path / PROFILES).glob(f"*{SUFFIX}")):
        return MonitorOutcome(directory.path, ended.code, None)
    try:
        contents = profile.analyze(directory.path, measured, search=against != NONE)
        page.write(contents)
        make_latest(directory)
    except ScopeError as error:
        return MonitorOutcome(directory.path, ended.code, None, str(error))
    return MonitorOutcome(directory.path, ended.code, contents)


def _load() -> None:
    """Load the modules for the program's end at low priority; at the lowest, other programs would delay it."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
    from hpcscope.engine import profile
    from hpcscope.report.profile import text  # noqa: F401
    from hpcscope.report.terminal import console  # noqa: F401

    profile.prepare()


def _measured(against: str | None) -> Path | None:
    """Return the named measured run; UsageError if it is not one."""
    if against is None or against == NONE:
        return None
    path = Path(against)
    if not RunDirectory(path).statistics.is_file():
        raise UsageError(f"--against {against}: has no statistics.json; must be a measured run, or none")
    return path


def _remove_empty(folder: Path) -> None:
    """Remove the folder of a command that could not be started."""
    with suppress(OSError):
        (folder / LOCK).unlink(missing_ok=True)
        (folder / PROFILES).rmdir()
    with suppress(OSError):
        folder.rmdir()
