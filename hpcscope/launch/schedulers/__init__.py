"""One file per batch system; each holds a `SCHEDULER` and is found by walking this package."""

import os
import shlex
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import cast

from hpcscope.errors import UsageError
from hpcscope.launch.scheduler import END, Allocation, Request, Scheduler
from hpcscope.own_python import own_python
from hpcscope.strict import printable


@dataclass(frozen=True)
class Deadline:
    """When a run stops by itself, and why."""

    unix_s: float
    reason: str


def all_schedulers() -> dict[str, Scheduler]:
    """Return the batch systems by name."""
    modules = (import_module(module.name) for module in iter_modules(__path__, f"{__name__}."))
    known = [cast(Scheduler, module.SCHEDULER) for module in modules]
    return {scheduler.name: scheduler for scheduler in known}


def allocation() -> Allocation | None:
    """Return what the batch job of this process was granted; None outside of any job."""
    granted = (scheduler.allocation(os.environ) for scheduler in all_schedulers().values())
    return next((allocation for allocation in granted if allocation is not None), None)


def deadline(margin_s: float) -> Deadline | None:
    """Return when a run must stop to end `margin_s` before its job; None if no end is known."""
    granted = allocation()
    if granted is None or granted.end_unix_s is None:
        return None
    end = time.strftime("%H:%M:%S", time.localtime(granted.end_unix_s))
    job = f"{granted.title} job {granted.job}"
    reason = f"stopped {margin_s:g} s (launcher.time_margin_s) before the end of {job} at {end}"
    return Deadline(granted.end_unix_s - margin_s, reason)


def script(scheduler: Scheduler, request: Request, run: Path, words: list[str]) -> str:
    """Return a job script that begins the run `run` with `scope WORDS...`, or resumes it once it was begun.

    Thus a job that its batch system requeues after a node failure continues where it stopped.
    """
    scope = own_python("-m", "hpcscope")
    end = []
    if request.time_limit_s is not None and not scheduler.tells_end:
        end = [f"export {END}=$(($(date +%s) + {int(request.time_limit_s)}))"]
    lines = [
        "#!/bin/bash",
        *(_one_line(scheduler, line) for line in scheduler.directives(request)),
        f"cd {shlex.quote(str(request.folder))} || exit 2",
        *end,
        f"if [ -e {shlex.quote(str(run / 'run.json'))} ]; then",
        f"  exec {shlex.join([*scope, 'run', '--resume', str(run)])}",
        "fi",
        # exec, so that the batch system's signals reach Scope itself.
        f"exec {shlex.join([*scope, *words])}",
    ]
    return "\n".join(lines) + "\n"


def _one_line(scheduler: Scheduler, directive: str) -> str:
    """Return a directive; UsageError if its text has characters, such as a line break, that cannot be printed."""
    try:
        return printable(directive)
    except ValueError as error:
        raise UsageError(f"{scheduler.title} directive {directive!r}: {error}") from error
