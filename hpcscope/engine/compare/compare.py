"""Measures two sides in turn, A B B A, until every case is decided or the time is over."""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hpcscope.comparison import MEASURED, machines, paired
from hpcscope.comparison.compare import LEVEL
from hpcscope.comparison.comparison import Comparison, Factor
from hpcscope.comparison.confirm import confirmed, in_question
from hpcscope.comparison.paired import LOOKS, PairedCase, PairedComparison
from hpcscope.engine import analysis
from hpcscope.engine.compare.sides import MeasuredSide, SideCase, in_common, settled_side
from hpcscope.engine.directories import new_directory
from hpcscope.engine.progress import ignore, silent
from hpcscope.engine.run import begun_run
from hpcscope.engine.run.measurement import Setup, measure
from hpcscope.launch.supervision.supervisor import Limits
from hpcscope.plan import plan as planning
from hpcscope.plan.case import Batch, Key
from hpcscope.plan.plan import Launch, Plan
from hpcscope.rundirectory import FORMAT, RunDirectory, write_json, write_text
from hpcscope.samples.reader import read as read_samples
from hpcscope.statistics.summarise import summarise
from hpcscope.statistics.summary import Summary
from hpcscope.statistics.values import seconds_behind

NAME = "compare"
TIME_S = 300.0
"""For both sides together, when the caller does not say."""

PairedCases = list[tuple[SideCase, SideCase]]
Stage = Callable[[str], None]
Rounds = dict[int, float]


@dataclass(frozen=True)
class Kept:
    """What is kept of a measurement of two sides besides its figures."""

    output: Path | None = None
    """The folder; None: a new one below runs/."""
    command: Sequence[str] = ()
    """The command line, for the record."""


@dataclass(frozen=True)
class Interleaved:
    """A finished measurement of two sides."""

    path: Path
    """The folder with the run directories `a` and `b`, and the comparison."""
    comparison: PairedComparison


@dataclass(frozen=True)
class Measured:
    """What one side says of one metric of a case."""

    summary: Summary
    label: str
    """The metric in words."""
    rounds: Rounds
    """The median of each round that has a valid sample."""


@dataclass
class _GrowingRun:
    """The growing run of one side."""

    side: MeasuredSide
    directory: RunDirectory
    setup: Setup
    plan: Plan

    def measure(self, launch: Launch) -> None:
        """Measure one more launch."""
        self.plan = replace(self.plan, launches=(*self.plan.launches, launch))
        write_text(self.directory.plan, planning.write(self.plan))
        with _set(self.side.environment):
            measure(self.directory, replace(self.plan, launches=(launch,)), self.setup)


@contextmanager
def _set(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Have these variables in the environment of launches, and afterwards those of before."""
    before = {name: os.environ.get(name) for name in variables}
    _put(variables)
    try:
        yield
    finally:
        _put(before)


def _put(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def compare(
    a: str,
    b: str,
    given: Mapping[str, Any],
    kept: Kept = Kept(),
    time_s: float = TIME_S,
    threshold: float = 0.02,
    stage: Stage = ignore,
) -> Interleaved:
    """Measure two sides in turn and compare them round by round; `settled_side` says what names a side.

    UsageError where a side cannot be measured, or the sides have no case in common.
    """
    sides = settled_side(a, given), settled_side(b, given)
    return measure_sides(sides, in_common(*sides), kept, time_s, threshold, stage)


def confirm(
    comparison: Comparison,
    given: Mapping[str, Any],
    kept: Kept = Kept(),
    time_s: float = TIME_S,
    stage: Stage = ignore,
) -> Comparison:
    """Measure both runs of a comparison again, in turn, where one is worse; what is not worse again is none.

    UsageError where the native program of a run is gone.
    """
    wanted = set(in_question(comparison))
    if not wanted:
        return comparison
    sides = settled_side(comparison.a, given), settled_side(comparison.b, given)
    pairs = [pair for pair in in_common(*sides) if pair[0].key in wanted]
    again = measure_sides(sides, pairs, kept, time_s, comparison.threshold, stage)
    return confirmed(comparison, again.comparison)


def measure_sides(
    sides: tuple[MeasuredSide, MeasuredSide],
    pairs: PairedCases,
    kept: Kept,
    time_s: float,
    threshold: float,
    stage: Stage,
) -> Interleaved:
    """Measure these pairs of cases in turn, at least once, until all are decided or the time is over."""
    began_s = time.monotonic()
    groups = _groups(pairs)
    path = new_directory(NAME, kept.output).path
    runs = [_begun(side, path / name, kept.command) for side, name in zip(sides, "ab", strict=True)]
    cases: list[PairedCase] = []
    rounds = 0
    slowest_s = 0.0
    chance = random.Random(0)
    while rounds == 0 or (rounds < LOOKS[-1] and time.monotonic() - began_s + slowest_s < time_s):
        stage(f"round {rounds + 1} of at most {LOOKS[-1]}")
        before_s = time.monotonic()
        for number, group in enumerate(groups):
            launches = _launches(group, rounds * len(groups) + number + 1, chance)
            order = (0, 1) if (rounds + number) % 2 == 0 else (1, 0)
            for side in order:
                runs[side].measure(launches[side])
        rounds += 1
        slowest_s = max(slowest_s, time.monotonic() - before_s)
        if rounds in LOOKS:
            cases = _judged(runs, pairs, len(groups), threshold)
            if all(case.verdict != "inconclusive" for case in cases):
                break
    if rounds not in LOOKS:
        cases = _judged(runs, pairs, len(groups), threshold)
    undecided = rounds < 2 or any(case.verdict == "inconclusive" for case in cases)
    comparison = PairedComparison(
        format=FORMAT,
        a=sides[0].name,
        b=sides[1].name,
        level=LEVEL,
        confidence=paired.confidence(),
        threshold=threshold,
        factors=_factors(*sides),
        rounds=rounds,
        elapsed_s=time.monotonic() - began_s,
        out_of_time=rounds < LOOKS[-1] and undecided,
        cases=paired.worst_first(cases),
    )
    write_json(path / MEASURED, comparison)
    for run in runs:
        analysis.analyze(run.directory.path)
    return Interleaved(path, comparison)


def _groups(pairs: PairedCases) -> list[PairedCases]:
    """Return the pairs that share a launch on both sides."""
    together: dict[tuple[Batch, Batch], PairedCases] = defaultdict(list)
    for one, other in pairs:
        together[one.batch, other.batch].append((one, other))
    return list(together.values())


def _launches(group: PairedCases, number: int, chance: random.Random) -> tuple[Launch, Launch]:
    """Return a launch for each side, with its cases in the same shuffled order."""
    order = list(group)
    chance.shuffle(order)
    a, b = ([pair[side] for pair in order] for side in (0, 1))
    first, second = (Launch(number, *cases[0].batch, tuple(one.case for one in cases)) for cases in (a, b))
    return first, second


def _begun(side: MeasuredSide, path: Path, command: Sequence[str]) -> _GrowingRun:
    settled = side.settled
    directory = new_directory(path.name, path)
    plan = replace(side.plan, launches=())
    begun_run.begin(directory, settled.experiment, settled.machine, side.catalog, plan, command)
    margin_s = settled.experiment.launcher.time_margin_s
    return _GrowingRun(
        side,
        directory,
        Setup(settled.build, settled.cluster, Limits(case_s=settled.experiment.limit_s), margin_s, silent),
        plan,
    )


def _judged(runs: Sequence[_GrowingRun], pairs: PairedCases, launches: int, threshold: float) -> list[PairedCase]:
    """Hold each metric of each pair of cases against each other."""
    of_a, of_b = (_measured(run, launches) for run in runs)
    asked = [(a, b, metric) for a, b in pairs for metric in of_a.get(a.key, {})]
    return [_case(of_a[a.key][name], of_b.get(b.key, {}).get(name), len(asked), threshold) for a, b, name in asked]


def _measured(run: _GrowingRun, launches: int) -> dict[Key, dict[str, Measured]]:
    """Return what a run says of the results of each case: one metric for each time that was taken."""
    samples = read_samples(run.directory.path, run.side.catalog)
    cases = samples.by_case()
    found: dict[Key, dict[str, Measured]] = defaultdict(dict)
    taken: set[tuple[Key, str]] = set()
    for summary in summarise(samples, run.side.catalog):
        metric = next(one for one in run.side.catalog[summary.benchmark].metrics if one.name == summary.metric)
        observed = summary.definition == "observed"
        quantity = (summary.key, summary.metric if observed else summary.definition)
        if not summary.primary or metric.role != "result" or quantity in taken:
            continue
        taken.add(quantity)
        values: dict[int, list[float]] = defaultdict(list)
        for case in cases[summary.samples_key]:
            seconds = seconds_behind(summary, case)
            values[(case.launch - 1) // launches] += [] if seconds is None else seconds.tolist()
        medians = {number: float(np.median(each)) for number, each in sorted(values.items()) if each}
        if summary.better == "higher" and not observed and summary.work is not None:
            # The sides may differ in their work: a rate is the work of its own side over the time.
            work = summary.work.of(metric.quantity, summary)
            medians = {number: work / median for number, median in medians.items() if median > 0}
        found[summary.key][summary.metric] = Measured(summary, metric.label, medians)
    return found


def _case(a: Measured, b: Measured | None, cases: int, threshold: float) -> PairedCase:
    """Judge one metric of a pair of cases."""
    one, other = a.summary, b.summary if b is not None else a.summary
    common = sorted(set(a.rounds) & set(b.rounds)) if b is not None else []
    ratios = {number: b.rounds[number] / a.rounds[number] for number in common} if b is not None else {}
    ratios = {number: ratio for number, ratio in ratios.items() if np.isfinite(ratio) and ratio > 0}
    case = PairedCase(
        a=one.spelling,
        b=other.spelling,
        words=one.label if one.label == other.label else f"{one.label} | {other.label}",
        metric=one.metric,
        metric_label=a.label,
        unit=one.unit,
        better=one.better,
        definition=one.definition,
        verdict="incomparable",
        reason=_why_incomparable(one, other, b is not None),
        a_median=one.median,
        b_median=other.median if b is not None else None,
        ratio=None,
        ratio_low=None,
        ratio_high=None,
        rounds=ratios,
        p=None,
        detectable=None,
    )
    if case.reason or len(ratios) < 2:
        return case if case.reason else case.model_copy(update={"reason": "has no two rounds with results"})
    found = paired.together(ratios, cases)
    verdict, reason = paired.decide(found, len(ratios), one.better, cases, threshold)
    judged = {"verdict": verdict, "reason": reason, "ratio": found.ratio, "p": found.p}
    interval = {"ratio_low": found.low, "ratio_high": found.high}
    seen = {"detectable": found.detectable if verdict == "inconclusive" else None}
    return case.model_copy(update={**judged, **interval, **seen})


def _why_incomparable(a: Summary, b: Summary, has_b: bool) -> str:
    """Return why two summaries cannot be compared; empty when they can."""
    if not has_b:
        return "not in B"
    for name, one in (("A", a), ("B", b)):
        if not one.valid:
            return f"no result in {name}: {one.reason}"
    if (a.unit, a.definition) != (b.unit, b.definition):
        return f"{a.definition} in {a.unit} in A, {b.definition} in {b.unit} in B"
    return ""


def _factors(a: MeasuredSide, b: MeasuredSide) -> list[Factor]:
    """Return what differs between the sides: machine, build and settings."""
    found = machines.factors(a.settled.machine, b.settled.machine)
    left, right = (_settings(side) for side in (a, b))
    names = list(dict.fromkeys([*left, *right]))
    return found + [
        Factor(name=name, a=left.get(name, "not set"), b=right.get(name, "not set"))
        for name in names
        if left.get(name) != right.get(name)
    ]


def _settings(side: MeasuredSide) -> dict[str, str]:
    """Return the settings that decide how cases are measured."""
    experiment = side.settled.experiment
    tables = {"launcher": experiment.launcher, "sampling": experiment.sampling}
    return {
        f"{table}.{key}": " ".join(value) if isinstance(value, list) else str(value)
        for table, settings in tables.items()
        for key, value in settings.plain().items()
    }
