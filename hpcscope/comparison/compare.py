"""Compare two runs, case by case."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.comparison import effect, machines, run_effect, significance, states
from hpcscope.comparison.comparison import (
    VERDICTS,
    CommonChange,
    ComparedCase,
    Comparison,
    Factor,
    StateChange,
    Verdict,
)
from hpcscope.comparison.effect import Effect
from hpcscope.comparison.run_effect import RunEffect
from hpcscope.comparison.significance import Difference, Launches
from hpcscope.findings.results import Run
from hpcscope.grouping import grouped
from hpcscope.machine.machine import Machine
from hpcscope.plan.case import Case, Key
from hpcscope.plan.case import key as key_of
from hpcscope.rundirectory import FORMAT, read_toml
from hpcscope.samples.samples import Floats
from hpcscope.statistics.course import Course
from hpcscope.statistics.false_discoveries import adjusted
from hpcscope.statistics.summary import Summary

LAUNCHES_FOR_VERDICT = 4
"""Fewest launches on each side for a verdict: fewer do not show how launches differ."""

OF_REAL_HOSTS = {"measured", "imported"}
"""Origins that may be compared with each other: both are from a real machine."""
LEVEL = 0.01
"""The fraction of comparisons of equal runs that may contain a false alarm."""

RESOLUTION = 2.5
"""An interval that extends beyond this many thresholds is inconclusive."""

Question = tuple[Key, str]
"""A case and a metric of it: what both runs must have to be compared; the origin is not part of it."""


@dataclass(frozen=True)
class Side:
    """One of the runs."""

    path: str
    machine: Machine
    catalog: Catalog
    summaries: dict[Question, Summary]
    """The headline results."""
    course: Course
    """The states of the machine."""
    beside: dict[Question, list[Summary]] = field(default_factory=dict)
    """The results under other definitions of time."""
    launcher: dict[str, str] = field(default_factory=dict)
    """How the launcher was asked to bind ranks, and its further arguments."""


@dataclass(frozen=True)
class Pair:
    """A case that both runs have."""

    a: Summary
    b: Summary

    @cached_property
    def launches(self) -> tuple[Launches, Launches]:
        """The launches of both sides, with states of the machine if these matter to the case."""
        a, b = states.of_launches(self.a, self.b)
        return Launches(np.array(self.a.launch_medians), a), Launches(np.array(self.b.launch_medians), b)

    @cached_property
    def medians(self) -> tuple[Floats, Floats]:
        """The launch medians of both sides, adjusted to one state of the machine."""
        return significance.levelled(*self.launches)

    @property
    def is_in_states(self) -> bool:
        """Whether either side was measured in several states of the machine that matter to the case."""
        return any(side.states.any() for side in self.launches)

    @property
    def name(self) -> str:
        """A name that is unique in the comparison."""
        return f"{self.a.spelling} {self.a.metric}"

    @property
    def fewest_launches(self) -> int:
        """The number of launches of the side with fewer launches."""
        return min(len(self.a.launch_medians), len(self.b.launch_medians))

    @property
    def is_same_data(self) -> bool:
        """Whether both sides are the same samples."""
        a, b = self.a, self.b
        return a.launch_medians == b.launch_medians and (a.n, a.mean) == (b.n, b.mean)

    @property
    def is_of_one_statistic(self) -> bool:
        """Whether both sides are medians, or the same statistic of another program."""
        return self.a.printed == self.b.printed

    @property
    def is_testable(self) -> bool:
        """Whether its sides may differ, and have enough launches for a verdict."""
        enough = self.fewest_launches >= LAUNCHES_FOR_VERDICT
        return not self.is_same_data and self.is_of_one_statistic and enough


@dataclass(frozen=True)
class Rules:
    """The rules for what counts as a change."""

    threshold: float
    level: float
    states: StateChange | None
    """How the states of the machine differ between the runs."""


def compare(
    a: Path, b: Path, threshold: float = 0.02, level: float = LEVEL, across_machines: bool = False
) -> Comparison:
    """Compare run B with run A; a relative change below `threshold` counts as no difference.

    `level` is the fraction of comparisons of equal runs that may contain a false alarm. With `across_machines`,
    different machines are compared and their differences named. Raises UsageError if a file is missing or wrong.
    """
    return compare_sides(read_side(a), read_side(b), threshold, level, across_machines)


def compare_sides(a: Side, b: Side, threshold: float, level: float, across_machines: bool) -> Comparison:
    """Compare two runs that were already read, otherwise like `compare`."""
    left, right = _under_printed_definitions(*_with_common_parameters(a, b))
    obstacles = machines.obstacles(left.machine, right.machine)
    factors = machines.factors(left.machine, right.machine) + machines.differences(left.launcher, right.launcher)
    if across_machines:
        obstacles, factors = [], obstacles + factors
    keys = list(dict.fromkeys([*left.summaries, *right.summaries]))
    refused = {key: reason for key in keys if (reason := _incomparable(key, left, right, obstacles))}
    pairs = [Pair(left.summaries[key], right.summaries[key]) for key in keys if key not in refused]
    tested = [pair for pair in pairs if pair.is_testable]
    found = differences(tested)
    run = _run_effect(found, alike=not obstacles and not factors)
    states_differ = states.change(left.course, right.course, machines.changes_messages(factors))
    compared = _judged(tested, found, run, Rules(threshold, level, states_differ))
    compared += [_untested(pair) for pair in pairs if not pair.is_testable]
    compared += [
        _compared(left.summaries.get(key), right.summaries.get(key), verdict="incomparable", reason=reason)
        for key, reason in refused.items()
    ]
    compared = [
        case.model_copy(update={"metric_label": side.catalog.metric_label(case.metric, case.benchmark)})
        for case in compared
        for side in [right if case.benchmark in right.catalog else left]
    ]
    return Comparison(
        format=FORMAT,
        a=a.path,
        b=b.path,
        level=level,
        threshold=threshold,
        factors=factors,
        obstacles=obstacles,
        optimized=machines.optimized(left.machine, right.machine),
        common=_common_change(run, len(tested), threshold),
        states=states_differ,
        spread=run.spread,
        cases=sorted(compared, key=_worst_first),
    )


def read_side(path: Path) -> Side:
    """Read what a comparison needs of a run; raises UsageError if a file is missing or wrong."""
    run = Run(path)
    summaries = {(summary.key, summary.metric): summary for summary in run.statistics.primary}
    others = (summary for summary in run.statistics if not summary.primary)
    beside = grouped(others, lambda summary: (summary.key, summary.metric))
    settings = read_toml(run.directory.experiment) if run.directory.experiment.exists() else {}
    asked = settings["launcher"] if isinstance(settings.get("launcher"), dict) else {}
    launcher = {f"launcher {name}": str(asked[name]) for name in ("binding", "arguments") if name in asked}
    return Side(str(path), run.machine, run.benchmarks, summaries, run.course, beside, launcher)


def _with_common_parameters(a: Side, b: Side) -> tuple[Side, Side]:
    """Return both sides with the parameters of both: a version that lacks one measured its present default."""

    def question(side: Side, other: Side, metric: str, case: Summary) -> Question:
        declared = [compared.catalog.get(case.benchmark) for compared in (other, side)]
        parameters = {
            name: parameter.default for known in declared if known for name, parameter in known.parameter.items()
        }
        return key_of(case.benchmark, {**parameters, **case.parameters}, case.batch), metric

    def completed(side: Side, other: Side) -> Side:
        found = {question(side, other, metric, case): case for (_, metric), case in side.summaries.items()}
        beside = {question(side, other, metric, of[0]): of for (_, metric), of in side.beside.items()}
        return replace(side, summaries=found, beside=beside)

    return completed(a, b), completed(b, a)


def _under_printed_definitions(a: Side, b: Side) -> tuple[Side, Side]:
    """Return both sides; imported results are compared with the other side's under the same definition, if any."""

    def chosen(side: Side, other: Side) -> Side:
        found = dict(side.summaries)
        for key, theirs in other.summaries.items():
            own = found.get(key)
            if theirs.origin != "imported" or own is None or own.definition == theirs.definition:
                continue
            found[key] = next(
                (case for case in side.beside.get(key, []) if case.definition == theirs.definition), own
            )
        return replace(side, summaries=found)

    return chosen(a, b), chosen(b, a)


def _incomparable(key: Question, left: Side, right: Side, obstacles: Sequence[Factor]) -> str:
    """Return why a case cannot be compared; empty if it can."""
    a, b = left.summaries.get(key), right.summaries.get(key)
    if a is None or b is None:
        return f"not in {'A' if a is None else 'B'}"
    for name, case in (("A", a), ("B", b)):
        if not case.valid:
            return f"no result in {name}: {case.reason}"
        if case.median is None or min(case.median, *case.launch_medians) <= 0:
            return f"no value above zero in {name}"
    for what in ("unit", "better", "definition"):
        if getattr(a, what) != getattr(b, what):
            return f"{what} differs: {getattr(a, what)} in A, {getattr(b, what)} in B"
    if a.origin != b.origin and {a.origin, b.origin} != OF_REAL_HOSTS:
        return f"origin differs: {a.origin} in A, {b.origin} in B"
    if obstacles:
        return "different machine: " + ", ".join(factor.name for factor in obstacles)
    return ""


def differences(tested: Sequence[Pair]) -> list[Difference]:
    """Return the difference of the sides of each case, in equal states of the machine."""
    correlation = significance.correlation([side for pair in tested for side in pair.medians])
    return [Difference.of(*pair.launches, correlation) for pair in tested]


def _run_effect(differences: Sequence[Difference], alike: bool) -> RunEffect:
    return run_effect.estimated(
        np.array([difference.log_ratio for difference in differences]),
        np.array([difference.error for difference in differences]),
        [difference.freedom for difference in differences],
        alike,
    )


def _common_change(run: RunEffect, tested: int, threshold: float) -> CommonChange | None:
    if abs(run.shift) <= np.log1p(threshold):
        return None
    ratio, low, high = (float(np.exp(value)) for value in (run.shift, run.low, run.high))
    return CommonChange(ratio=ratio, low=low, high=high, agreeing=run.agreeing, cases=tested)


def _judged(
    tested: Sequence[Pair], differences: Sequence[Difference], run: RunEffect, rules: Rules
) -> list[ComparedCase]:
    q = adjusted([difference.p(run) for difference in differences])
    seen = [difference.detectable(run, len(tested), rules.level) for difference in differences]
    return [
        _case(pair, run, difference.p(run), float(each), detectable, rules)
        for pair, difference, each, detectable in zip(tested, differences, q, seen, strict=True)
    ]


def _case(pair: Pair, run: RunEffect, p: float, q: float, seen: float, rules: Rules) -> ComparedCase:
    found = effect.of_launches(*pair.medians, pair.name)
    beside = found.over(float(np.exp(run.shift)))
    verdict, reason = decide(pair.a.better, beside, q, rules.threshold, rules.level)
    medians = [float(np.median(side)) for side in pair.medians]
    apart = abs(np.log(pair.b.median / pair.a.median)) if pair.a.median and pair.b.median else 0.0
    explained = "" if pair.is_in_states else states.explains(rules.states, pair.a.better, found.ratio)
    is_change = verdict in ("worse", "better")
    if verdict == "no difference" and pair.is_in_states and apart > np.log1p(rules.threshold):
        verdict, reason = (
            "states differ",
            f"in equal machine states, the change is {units.change(found.ratio - 1)}",
        )
    elif is_change and (found.ratio > 1) != (beside.ratio > 1):
        # It changed less than all others: neither a regression nor an improvement.
        verdict, reason = "common change", f"{units.change(beside.ratio - 1)} relative to the common change"
    elif is_change and explained:
        verdict, reason = "states differ", explained
    elif is_change and (pair.a.launches_dependent or pair.b.launches_dependent):
        reason = "successive launches were correlated: the change is valid for these minutes only; use `--confirm`"
    elif verdict == "no difference" and abs(run.shift) > np.log1p(rules.threshold):
        verdict, reason = "common change", ""
    return _compared(
        pair.a,
        pair.b,
        verdict=verdict,
        reason=reason,
        ratio=found.ratio,
        ratio_low=found.low,
        ratio_high=found.high,
        basis="launches",
        test=significance.TEST,
        p=p,
        p_corrected=q,
        detectable=None if verdict in ("worse", "better") else seen,
        a_median=medians[0],
        b_median=medians[1],
    )


def decide(better: str, found: Effect, q: float, threshold: float, level: float) -> tuple[Verdict, str]:
    """Return the verdict on one case, and the reason if the values alone do not show it.

    A change is established if the corrected test rejects and the interval excludes 1. Otherwise the case is
    inconclusive if its interval extends beyond 2.5 thresholds, or its ratio beyond one.
    """
    beyond = found.ratio > 1 + threshold or found.ratio < 1 / (1 + threshold)
    established = q <= level and (found.low > 1 or found.high < 1)
    if established and beyond:
        return ("worse" if (found.ratio > 1) == (better == "lower") else "better"), ""
    if established:
        least = units.percent(threshold, 1)
        return "no difference", f"a change of {units.change(found.ratio - 1)} is significant, but below {least}"
    widest = 1 + RESOLUTION * threshold
    if found.high > widest or found.low < 1 / widest or beyond:
        return (
            "inconclusive",
            "any change from {} to {} is possible".format(*units.changes(found.low - 1, found.high - 1)),
        )
    return "no difference", ""


def _untested(pair: Pair) -> ComparedCase:
    """Return a case that needs no test, or has too few launches for one."""
    if pair.is_same_data:
        reason = "identical samples in both runs"
        one = {"ratio": 1.0, "ratio_low": 1.0, "ratio_high": 1.0}
        return _compared(pair.a, pair.b, verdict="no difference", reason=reason, basis="same data", **one)
    reason = f"a verdict needs {LAUNCHES_FOR_VERDICT} launches; this case has {pair.fewest_launches}"
    if not pair.is_of_one_statistic:
        reason = f"{pair.a.printed or 'median'} in A, {pair.b.printed or 'median'} in B"
    ratio = (pair.b.median or 0.0) / pair.a.median if pair.a.median else None
    return _compared(pair.a, pair.b, verdict="inconclusive", reason=reason, ratio=ratio)


def _compared(a: Summary | None, b: Summary | None, **found: object) -> ComparedCase:
    """Return a case with these results; at least one side has the case."""
    known = a or b
    assert known is not None
    nothing = {"ratio": None, "ratio_low": None, "ratio_high": None, "basis": "none"}
    untested = {"test": "", "p": None, "p_corrected": None, "detectable": None}
    return ComparedCase.model_validate(
        {name: getattr(known, name) for name in Case.model_fields}
        | {name: getattr(known, name) for name in ("metric", "unit", "better", "definition")}
        | {
            "a_median": a.median if a is not None else None,
            "b_median": b.median if b is not None else None,
            "a_launches": a.launches if a is not None else 0,
            "b_launches": b.launches if b is not None else 0,
            "origins": sorted({case.origin for case in (a, b) if case is not None}),
        }
        | nothing
        | untested
        | found
    )


def _worst_first(case: ComparedCase) -> tuple[int, float, str, str]:
    return (VERDICTS.index(case.verdict), -case.loss, case.label, case.metric)
