"""Regressions of a history, measured again where the machine is at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scope.engine import run as running
from scope.engine.history import Change, History
from scope.engine.options import RunOptions
from scope.engine.progress import RunProgress
from scope.errors import UsageError
from scope.plan.case import Case
from scope.plan.placement import Placement
from scope.repository.entry import Figure, figures, fingerprint
from scope.statistics.summarise import read_summaries

MOST_CASES = 20
"""The gravest regressions; more would take long."""


@dataclass(frozen=True)
class Confirmation:
    """A regression and what was measured now."""

    change: Change
    now: Figure | None
    """None where the case gave no result."""

    @property
    def confirmed(self) -> bool:
        """Whether the figure is still worse than before the change.

        Its interval excludes the level before, and its median is worse than that of every run of that level:
        without a change, one new run in n + 1 would be so after n runs.
        """
        if self.now is None:
            return False
        lower = self.change.course.better == "lower"
        worst = max(self.change.medians_before) if lower else min(self.change.medians_before)
        near = self.now.low if lower else self.now.high
        bound = self.now.median if near is None else near
        level = self.change.point.before
        return (
            (self.now.median > worst and bound > level) if lower else (self.now.median < worst and bound < level)
        )


def confirm(
    found: History, known: set[str], options: RunOptions, progress: RunProgress
) -> tuple[Path | None, list[Confirmation]]:
    """Measure the gravest regressions again; return the run, None where there is no regression, and each of them.

    `known`: fingerprints of the cluster. Raises UsageError where this machine has none of them, or not the MPI
    compiler of `options`.
    """
    regressions = found.last_regressions()[:MOST_CASES]
    if not regressions:
        return None, []
    cases = list(dict.fromkeys(request(change.course.key) for change in regressions))
    asked = replace(options, case=cases)
    elsewhere = f"--confirm: this machine is not the cluster {found.cluster}"
    if asked.mpi and not os.access(asked.mpi, os.X_OK):
        raise UsageError(f"{elsewhere}: it has no {asked.mpi}, the MPI compiler of the newest run")
    if fingerprint(running.locate(asked.resolved(), asked.where).machine(None)) not in known:
        raise UsageError(elsewhere)
    path = running.run(asked, progress).directory.path
    return path, judged(regressions, figures(read_summaries(path)))


def judged(regressions: Sequence[Change], measured: Sequence[Figure]) -> list[Confirmation]:
    """Return each regression with the figure of its case that was measured now."""
    now = {one.key: one for one in measured}
    return [Confirmation(change, now.get(change.course.key)) for change in regressions]


def request(key: str) -> str:
    """Return a case as `scope run --case` reads it, from the key of its figure."""
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
