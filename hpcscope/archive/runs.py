"""Listing and removal of runs and other work below one directory.

A directory is recognized by the file that marks its kind, even if its other files are damaged or newer.
"""

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcscope.comparison import MEASURED
from hpcscope.engine.directories import LATEST
from hpcscope.errors import ScopeError, UsageError, naming
from hpcscope.health.records import FILE as HEALTH
from hpcscope.locks import held
from hpcscope.programs.campaign import HEAD
from hpcscope.programs.profiles.monitored_run import MONITOR
from hpcscope.rundirectory import RunDirectory, read_bytes, size_of
from hpcscope.tune.record import FILE as TUNING

RUN = RunDirectory(Path()).run.name
MARKS = {
    RUN: "run",
    HEAD: "campaign",
    MONITOR: "monitored program",
    TUNING: "tuning",
    MEASURED: "comparison",
    HEALTH: "health check",
}
"""The file that marks each kind of directory."""
DAMAGED = "damaged"
"""Status of a directory whose marking file cannot be read, or may belong to another program."""
DAY_S = 86400.0


@dataclass(frozen=True)
class KeptRun:
    """A directory with a run or other work."""

    path: Path
    kind: str
    """One of the values of `MARKS`."""
    started_unix_s: float
    """Start time, or the modification time of the marking file if that does not record the start."""
    name: str
    """The benchmarks or the program, else the name of the directory."""
    hosts: tuple[str, ...]
    status: str
    """Recorded status; empty if none is recorded."""
    size_bytes: int

    @property
    def report(self) -> Path:
        """Path of its report, which need not exist."""
        return self.path / "report.html"

    def days(self) -> float:
        """Return the age in days."""
        return (time.time() - self.started_unix_s) / DAY_S


def listed(folder: Path) -> list[KeptRun]:
    """Return the runs in a directory, newest first; UsageError if it cannot be read."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such directory; `scope run` creates runs/ in the current directory")
    with naming(folder, "cannot be read", UsageError):
        inside = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    runs = [run for path in inside if (run := _kept(path)) is not None]
    return sorted(runs, key=lambda run: (-run.started_unix_s, run.path.name))


def is_check(folder: Path) -> bool:
    """Return whether a directory holds a health check, not a benchmark run; UsageError for other work."""
    kind = next((kind for mark, kind in MARKS.items() if (folder / mark).is_file()), MARKS[RUN])
    if kind not in (MARKS[RUN], MARKS[HEALTH]):
        raise UsageError(
            f"{folder}: is a {kind}; must be a run of benchmarks or a check of health (`scope pack` accepts any "
            "run)"
        )
    return kind == MARKS[HEALTH]


def packed(folder: Path) -> list[Path]:
    """Return the packed runs in a directory, judged by name only; they are not opened, removed or pruned."""
    return sorted(path for path in folder.iterdir() if path.name.endswith((".zip", ".zip.xz")) and path.is_file())


def named(folder: Path, name: str) -> KeptRun:
    """Return the run with a name below a directory (the newest for `latest`), or the run at a path.

    Raises UsageError if there is none.
    """
    path = folder / name if "/" not in name and (folder / name).exists() else Path(name)
    path = path.resolve() if path.is_symlink() else path
    run = _kept(path) if path.is_dir() else None
    if run is None:
        raise UsageError(
            f"{path}: is not a run: must contain one of {', '.join(MARKS)}; `scope runs list` lists all runs"
        )
    return run


def outdated(runs: Sequence[KeptRun], keep: int | None, days: float | None) -> list[KeptRun]:
    """Return the runs that are neither among the `keep` newest nor younger than `days`; None means no limit."""
    return [
        run
        for position, run in enumerate(runs)
        if (keep is None or position >= keep) and (days is None or run.days() > days)
    ]


def remove(run: KeptRun) -> None:
    """Remove the directory of a run with its contents; links are removed but not followed.

    Raises UsageError while a process adds to it or if it may not be a run; ScopeError if the system refuses.
    """
    if run.status == DAMAGED:
        raise UsageError(
            f"{run.path}: cannot be recognized as a run ({run.kind} file without `format`); delete it with `rm -r`"
        )
    try:
        with held(run.path):
            shutil.rmtree(run.path)
        latest = run.path.parent / LATEST
        if latest.is_symlink() and not latest.exists():
            latest.unlink()
    except OSError as error:
        raise ScopeError(f"{error.filename or run.path}: cannot be removed: {error.strerror}") from error


def _kept(path: Path) -> KeptRun | None:
    mark = next((path / name for name in MARKS if (path / name).is_file()), None)
    if mark is None:
        return None
    head, machine = _object(mark), _object(path / RunDirectory(path).machine.name)
    started = head.get("started_unix_s")
    return KeptRun(
        path=path,
        kind=MARKS[mark.name],
        started_unix_s=float(started) if isinstance(started, int | float) else mark.stat().st_mtime,
        name=_name(head) or path.name,
        hosts=tuple(_hosts(machine) or ([str(head["host"])] if "host" in head else [])),
        status=str(head.get("status", "")) if "format" in head else DAMAGED,
        size_bytes=size_of(path),
    )


def _object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; empty if it cannot be read."""
    try:
        value = json.loads(read_bytes(path))
    except (OSError, ScopeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _name(head: dict[str, Any]) -> str:
    study = head.get("study")
    if isinstance(study, dict) and isinstance(study.get("name"), str):
        return str(study["name"])
    words = head.get("command")
    if "name" not in head and isinstance(words, list):
        return " ".join(map(str, words))
    return str(head.get("name", ""))


def _hosts(machine: dict[str, Any]) -> list[str]:
    hosts = machine.get("hosts")
    named = hosts if isinstance(hosts, list) else []
    return [str(host["name"]) for host in named if isinstance(host, dict) and "name" in host]
