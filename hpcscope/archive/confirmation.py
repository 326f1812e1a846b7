"""Confirmation of regressions: the cases are measured again on the cluster's own machine."""

import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcscope.archive import packing
from hpcscope.archive.entry import KeptFigure, figures, fingerprint
from hpcscope.archive.history import History, LevelChange, steadiest
from hpcscope.archive.index import FigureSeries
from hpcscope.archive.repository import Repository
from hpcscope.comparison import states
from hpcscope.engine.progress import RunProgress
from hpcscope.engine.run import run as running
from hpcscope.errors import UsageError
from hpcscope.health.records import PREFIX
from hpcscope.plan.case import Case
from hpcscope.plan.experiment import COMMAND_LINE, resolve
from hpcscope.plan.placement import Placement
from hpcscope.statistics.course import Course
from hpcscope.statistics.summarise import read_statistics
from hpcscope.statistics.summary import Summaries

MOST_CASES = 20
"""Maximum number of regressions, gravest first; more would take too long."""


MOST_CONTROLS = 8
"""Maximum number of unchanged cases, measured to tell a slow machine from a slow case."""
FEWEST_CONTROLS = 3


@dataclass(frozen=True)
class Confirmation:
    """A regression and its new measurement."""

    change: LevelChange
    now: KeptFigure | None
    """None if the case did not give a result."""
    machine: float = 1.0
    """Factor by which unchanged cases are slower now than in the archived runs; 1 if not known."""
    state: str = ""
    """How a machine state other than before the change explains the result; empty if none does."""

    @property
    def confirmed(self) -> bool:
        """Whether the result is still worse than before the change, by at least half of the change.

        Its interval excludes the previous level and the geometric mean of both levels, and its median is worse
        than the median of every run on the previous level. All this also applies after correction for the slowness
        of the machine, and a different machine state does not explain the result.
        """
        return (
            self.now is not None
            and not self.state
            and all(self._worse(self.now, factor) for factor in (1.0, self.machine))
        )

    def _worse(self, now: KeptFigure, machine: float) -> bool:
        """Return whether the result is worse after correction for a machine that is slower by this factor."""
        lower = self.change.course.better == "lower"
        point = self.change.point
        near = now.low if lower else now.high
        values = [now.median, now.median if near is None else near]
        median, bound = (value / machine if lower else value * machine for value in values)
        worst = max(self.change.medians_before) if lower else min(self.change.medians_before)
        limits = (point.before, math.sqrt(point.before * point.after))
        if lower:
            return median > worst and bound > max(limits)
        return median < worst and bound < min(limits)


def confirm(
    repository: Repository,
    history: History,
    known: set[str],
    given: Mapping[str, Any],
    command: Sequence[str],
    progress: RunProgress,
) -> tuple[Path | None, list[Confirmation]]:
    """Measure the gravest regressions again; return the run (None without a regression) and all confirmations.

    Unchanged cases are measured, too. `known`: fingerprints of the cluster. Raises UsageError if this machine does
    not have one of these fingerprints, or lacks the given MPI compiler.
    """
    regressions = [worse for worse in history.last_regressions() if not worse.course.benchmark.startswith(PREFIX)]
    del regressions[MOST_CASES:]
    if not regressions:
        return None, []
    controls = steadiest(repository, history.cluster)[:MOST_CONTROLS]
    keys = [change.course.key for change in regressions] + [course.key for course in controls]
    cases = list(dict.fromkeys(request(key) for key in keys))
    asked = resolve(None, {**given, "case": cases})
    elsewhere = f"--confirm: this machine is not the cluster {history.cluster}"
    if asked.mpi and not os.access(asked.mpi, os.X_OK):
        raise UsageError(f"{elsewhere}: {asked.mpi}, the MPI compiler of the newest run, is missing")
    if fingerprint(running.locate(asked, COMMAND_LINE).machine(None)) not in known:
        raise UsageError(elsewhere)
    path = running.run(asked, command=command, progress=progress).directory.path
    now = read_statistics(path)
    in_state = {
        change.course.key: explained(change, _course(repository, change.last_before), now)
        for change in regressions
    }
    return path, judged(regressions, controls, figures(now.summaries), in_state)


def judged(
    regressions: Sequence[LevelChange],
    controls: Sequence[FigureSeries],
    measured: Sequence[KeptFigure],
    in_state: Mapping[str, str],
) -> list[Confirmation]:
    """Return each regression with the new result of its case, and how a machine state explains the result."""
    now = {kept.key: kept for kept in measured}
    machine = slowness(controls, now)
    return [
        Confirmation(change, now.get(change.course.key), machine, in_state.get(change.course.key, ""))
        for change in regressions
    ]


def explained(regression: LevelChange, before: Course | None, now: Summaries) -> str:
    """Return how a machine state other than before the change explains the new result; empty if none does."""
    kept = next(
        (kept_figure for kept_figure in figures(now.summaries) if kept_figure.key == regression.course.key), None
    )
    if kept is None or before is None:
        return ""
    between = states.change(before, now.course)
    return states.explains(between, kept.better, kept.median / regression.point.before)


def _course(repository: Repository, run: str) -> Course | None:
    with packing.opened(repository.file(run)) as folder:
        return read_statistics(folder).course


def slowness(controls: Sequence[FigureSeries], now: Mapping[str, KeptFigure]) -> float:
    """Return the median factor by which unchanged cases are slower now; 1 if too few were measured."""
    factors = []
    for course in controls:
        if (measured := now.get(course.key)) is not None:
            ratio = measured.median / statistics.median(point.median for point in course.points)
            factors.append(ratio if course.better == "lower" else 1 / ratio)
    return statistics.median(factors) if len(factors) >= FEWEST_CONTROLS else 1.0


def request(key: str) -> str:
    """Return the text of a case for `scope run --case`, from the key of its result."""
    benchmark, parameters, ranks, transport, placement, _metric, _origin = json.loads(key)
    case = Case(
        benchmark=benchmark,
        parameters=parameters,
        ranks=ranks,
        transport=transport,
        placement=Placement.parse(placement),
        label="",
    )
    return case.request
