"""Runs in progress: their progress, the case being measured, and the findings so far."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.errors import ScopeError
from hpcscope.findings.results import derived
from hpcscope.findings.run import find_all
from hpcscope.launch.supervision.journal import Journal
from hpcscope.plan import plan as planning
from hpcscope.plan.case import Case
from hpcscope.plan.plan import Plan
from hpcscope.rundirectory import RunDirectory, RunFile, read_json

FINDINGS_AGAIN_S = 20.0
"""Minimum time between derivations of findings, which take seconds because they use all samples."""
MOST_FINDINGS = 10


@dataclass
class RunInProgress:
    """A run that another process is adding to; its files are only read."""

    directory: RunDirectory
    record: RunFile
    plan: Plan
    catalog: Catalog
    journal: Journal
    findings: list[dict[str, str]] = field(default_factory=list)
    derived: float = -FINDINGS_AGAIN_S
    """When the findings were derived, on the monotonic clock."""

    @classmethod
    def at(cls, path: Path) -> RunInProgress:
        """Return the run in a directory; ScopeError if its files cannot be read."""
        directory = RunDirectory(path)
        return cls(
            directory,
            read_json(directory.run, RunFile),
            planning.read(directory.plan),
            read_catalog(directory.benchmarks),
            Journal(directory),
        )

    def told(self) -> dict[str, Any]:
        """Return the progress as plain data."""
        self.journal.read()
        return {
            "name": self.directory.path.name,
            "began": self.record.started_unix_s,
            "module": self.record.module,
            "done": len(self.journal.statuses),
            "visits": sum(len(launch.cases) for launch in self.plan.launches),
            "launches": len(self.journal.ended),
            "all_launches": len(self.plan.launches),
            "now": self._now(),
            "findings": self.findings,
        }

    def _now(self) -> str:
        """Return the label of the case being measured; empty between launches."""
        begun = [case for case in self.journal.opened if case not in self.journal.ended]
        launch = next((asked for asked in self.plan.launches if begun and asked.number == begun[-1][0]), None)
        if launch is None:
            return ""
        visits = enumerate(launch.cases)
        waiting = (case for at, case in visits if (launch.number, at) not in self.journal.statuses)
        case = next(waiting, None)
        return Case.of(self.catalog, case.benchmark, case.parameters, launch.batch).label if case else ""

    def derive_findings(self) -> None:
        """Derive the findings so far, unless that was done recently."""
        if time.monotonic() - self.derived < FINDINGS_AGAIN_S:
            return
        try:
            found = find_all(derived(self.directory.path))
        except ScopeError:  # no case has ended yet
            found = []
        self.findings = [
            {"severity": finding.severity, "title": finding.title} for finding in found[:MOST_FINDINGS]
        ]
        self.derived = time.monotonic()


class RunsInProgress:
    """The unfinished runs below a directory; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, RunInProgress] = {}
        self._lock = threading.Lock()

    def told(self) -> list[dict[str, Any]]:
        """Return the progress of every run, newest first; runs that cannot be read are left out."""
        with self._lock:
            self._known = {path: run for path in self._running() if (run := self._run(path)) is not None}
            newest_first = sorted(self._known.values(), key=lambda run: -run.record.started_unix_s)
            found = []
            for run in newest_first:
                run.derive_findings()
                with suppress(ScopeError):  # damaged
                    found.append(run.told())
            return found

    def _running(self) -> list[Path]:
        try:
            inside = [path for path in self._folder.iterdir() if path.is_dir() and not path.is_symlink()]
        except OSError:  # the directory does not exist yet
            return []
        return [path for path in inside if _is_running(path)]

    def _run(self, path: Path) -> RunInProgress | None:
        if path in self._known:
            return self._known[path]
        try:
            return RunInProgress.at(path)
        except ScopeError:  # it is just starting
            return None


def _is_running(path: Path) -> bool:
    directory = RunDirectory(path)
    try:
        return directory.run.is_file() and read_json(directory.run, RunFile).status == "running"
    except ScopeError:
        return False
