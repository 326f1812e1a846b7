"""Tries the settings that findings of a run advise, one finding after the other: before and after, interleaved."""

from dataclasses import replace
from math import inf
from pathlib import Path
from statistics import median
from typing import NamedTuple

from hpcscope.comparison.paired import PairedComparison
from hpcscope.engine.compare.compare import Kept, Pace, Stage, measure_sides
from hpcscope.engine.compare.sides import MeasuredSide, SideCase, settled_side
from hpcscope.engine.progress import ignore
from hpcscope.findings.finding import Finding, Trial
from hpcscope.findings.results import Run
from hpcscope.findings.settings import spelt
from hpcscope.plan.case import Case

FOLDER = "advice"
"""Directory of the measurements, inside the run directory."""
MOST_FINDINGS = 3
TIME_S = 120.0
"""Time for the measurement that decides on the advice of one finding."""
THRESHOLD = 0.02
"""Smaller relative changes do not count as a gain."""


class TriedAdvice(NamedTuple):
    """A change that a finding advised, and what it brought."""

    finding: Finding
    change: str
    """The change as a user writes it."""
    comparison: PairedComparison
    """B has the change."""

    @property
    def gained(self) -> bool:
        """Whether some result of the case is better, and none worse."""
        counts = self.comparison.counts
        return counts["better"] > 0 and counts["worse"] == 0


def try_advice(run: Path, time_s: float = TIME_S, stage: Stage = ignore) -> list[TriedAdvice]:
    """Measure what the first findings with settings advise, each on its case; only launches' environments change.

    If a finding advises several changes, one round of each selects the change that new rounds then decide on.
    """
    side = settled_side(str(run), {})
    cases = {}
    for one in side.cases:
        asked = Case.of(side.catalog, one.case.benchmark, one.case.parameters, one.batch)
        cases[asked.request] = one
    found: list[Finding] = []
    for finding in Run(run).findings:
        possible = finding.trials and finding.trials[0].case in cases
        if possible and all(finding.trials != other.trials for other in found):
            found.append(finding)
    return [
        _tried(
            run / FOLDER / f"{number}-{finding.code}", finding, side, cases[finding.trials[0].case], time_s, stage
        )
        for number, finding in enumerate(found[:MOST_FINDINGS], 1)
    ]


def _tried(
    folder: Path, finding: Finding, side: MeasuredSide, case: SideCase, time_s: float, stage: Stage
) -> TriedAdvice:
    def measured(name: str, trial: Trial, limit_s: float) -> PairedComparison:
        changed = replace(side, name=spelt(trial.environment), environment=trial.environment)

        def told(what: str) -> None:
            stage(f"{changed.name}: {what}")

        return measure_sides(
            (side, changed), [(case, case)], Kept(folder / name), Pace(limit_s, THRESHOLD), told
        ).comparison

    best = finding.trials[0]
    if len(finding.trials) > 1:
        costs = [_cost(measured(f"round-{number}", trial, 0.0)) for number, trial in enumerate(finding.trials, 1)]
        best = finding.trials[costs.index(min(costs))]
    return TriedAdvice(finding, spelt(best.environment), measured("decision", best, time_s))


def _cost(comparison: PairedComparison) -> float:
    """Return the cost of the changed case relative to the unchanged one; infinity if it does not run."""
    ratios = [
        ratio if case.better == "lower" else 1 / ratio
        for case in comparison.cases
        for ratio in case.rounds.values()
    ]
    return median(ratios) if ratios else inf
