"""Measures two sides interleaved, A B B A, until every case is decided or the time is over."""

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
from hpcscope.comparison.compare import RESOLUTION
from hpcscope.comparison.comparison import Comparison, Factor
from hpcscope.comparison.confirm import confirmed, in_question
from hpcscope.comparison.paired import LEVEL, MOST_ROUNDS, PairedCase, PairedComparison, fewest_rounds
from hpcscope.engine import analysis
from hpcscope.engine.compare.sides import MeasuredSide, SideCase, in_common, settled_side
from hpcscope.engine.directories import new_directory
from hpcscope.engine.progress import ignore, silent
from hpcscope.engine.run import begun_run
from hpcscope.engine.run.measurement import Setup, measure
from hpcscope.grouping import grouped
from hpcscope.launch.supervision.supervisor import Limits
from hpcscope.plan import plan as planning
from hpcscope.plan.case import Key
from hpcscope.plan.plan import Launch, Plan
from hpcscope.rundirectory import FORMAT, RunDirectory, write_json, write_text
from hpcscope.samples.reader import read as read_samples
from hpcscope.statistics.summarise import summarise
from hpcscope.statistics.summary import Summary
from hpcscope.statistics.values import seconds_behind

NAME = "compare"
TIME_S = 300.0
"""Default time for both sides together."""

PairedCases = list[tuple[SideCase, SideCase]]
Stage = Callable[[str], None]
Rounds = dict[int, float]


@dataclass(frozen=True)
class Kept:
    """What is kept of a measurement of two sides besides its values."""

    output: Path | None = None
    """The folder; None: a new one below runs/."""
    command: Sequence[str] = ()
    """The command line, for the record."""


@dataclass(frozen=True)
class Pace:
    """How long two sides are measured, and when a change is one."""

    time_s: float = TIME_S
    threshold: float = 0.02
    level: float = LEVEL
    """The fraction of verdicts that may be false."""


@dataclass(frozen=True)
class Interleaved:
    """A finished measurement of two sides."""

    path: Path
    """The folder with the run directories `a` and `b`, and the comparison."""
    comparison: PairedComparison


@dataclass(frozen=True)
class Measured:
    """The values of one metric of a case on one side."""

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
    """Set these environment variables for launches, and restore the former ones afterwards."""
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
    pace: Pace = Pace(),
    stage: Stage = ignore,
    tell: Stage = ignore,
) -> Interleaved:
    """Measure two sides interleaved and compare them round by round; `settled_side` says what names a side.

    `stage` is told what is being done, `tell` beforehand how long it will take. Raises UsageError if a side cannot
    be measured, or if the sides have no case in common.
    """
    sides = settled_side(a, given), settled_side(b, given)
    return measure_sides(sides, in_common(*sides), kept, pace, stage, tell)


def confirm(
    comparison: Comparison,
    given: Mapping[str, Any],
    kept: Kept = Kept(),
    time_s: float = TIME_S,
    stage: Stage = ignore,
    tell: Stage = ignore,
) -> Comparison:
    """Measure both runs of a comparison again, interleaved, for cases that are or may be worse.

    Afterwards only cases that this measurement finds worse count as worse.

    Raises UsageError if the native program of a run no longer exists.
    """
    wanted = set(in_question(comparison))
    if not wanted:
        return comparison
    sides = settled_side(comparison.a, given), settled_side(comparison.b, given)
    pairs = [pair for pair in in_common(*sides) if pair[0].key in wanted]
    pace = Pace(time_s, comparison.threshold, comparison.level)
    again = measure_sides(sides, pairs, kept, pace, stage, tell)
    return confirmed(comparison, again.comparison)


def measure_sides(
    sides: tuple[MeasuredSide, MeasuredSide],
    pairs: PairedCases,
    kept: Kept,
    pace: Pace,
    stage: Stage = ignore,
    tell: Stage = ignore,
) -> Interleaved:
    """Measure these pairs of cases interleaved, at least once, until all are decided or the time is over.

    A round that began in time is finished.
    """
    began_s = time.monotonic()
    # Pairs that share a launch on both sides.
    groups = list(grouped(pairs, lambda pair: (pair[0].batch, pair[1].batch)).values())
    path = new_directory(NAME, kept.output).path
    runs = [_begun(side, path / name, kept.command) for side, name in zip(sides, "ab", strict=True)]
    cases: list[PairedCase] = []
    rounds, fewest = 0, fewest_rounds(pace.level)
    chance = random.Random(0)
    round_s = 2 * sum(
        launch.expected_s for group in groups for launch in _launches(group, 1, random.Random(0))[:1]
    )
    tell(
        f"Cases: {len(pairs)}. A round takes about {round_s:.0f} s. A verdict needs {fewest} to "
        f"{MOST_ROUNDS} rounds ({fewest * round_s:.0f} to {MOST_ROUNDS * round_s:.0f} s). No round begins after "
        f"{pace.time_s:.0f} s."
    )
    while rounds == 0 or (rounds < MOST_ROUNDS and time.monotonic() - began_s < pace.time_s):
        stage(f"round {rounds + 1} of at most {MOST_ROUNDS}")
        for number, group in enumerate(groups):
            launches = _launches(group, rounds * len(groups) + number + 1, chance)
            order = (0, 1) if (rounds + number) % 2 == 0 else (1, 0)
            for side in order:
                runs[side].measure(launches[side])
        rounds += 1
        if rounds >= fewest:
            cases = _judged(runs, pairs, len(groups), pace)
            if all(case.verdict != "inconclusive" for case in cases):
                break
    if rounds < fewest:
        cases = _judged(runs, pairs, len(groups), pace)
    undecided = rounds < 2 or any(case.verdict == "inconclusive" for case in cases)
    comparison = PairedComparison(
        format=FORMAT,
        a=sides[0].name,
        b=sides[1].name,
        level=pace.level,
        confidence=1 - pace.level,
        threshold=pace.threshold,
        factors=_factors(*sides),
        rounds=rounds,
        elapsed_s=time.monotonic() - began_s,
        out_of_time=rounds < MOST_ROUNDS and undecided,
        cases=paired.worst_first(cases),
    )
    write_json(path / MEASURED, comparison)
    for run in runs:
        analysis.analyze(run.directory.path)
    return Interleaved(path, comparison)


def _launches(group: PairedCases, number: int, chance: random.Random) -> tuple[Launch, Launch]:
    """Return a launch for each side, with its cases in the same shuffled order."""
    order = list(group)
    chance.shuffle(order)
    a, b = ([pair[side] for pair in order] for side in (0, 1))
    first, second = (
        Launch(number, *cases[0].batch, tuple(side_case.case for side_case in cases)) for cases in (a, b)
    )
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


def _judged(runs: Sequence[_GrowingRun], pairs: PairedCases, launches: int, pace: Pace) -> list[PairedCase]:
    """Compare the two sides for each metric of each pair of cases."""
    of_a, of_b = (_measured(run, launches) for run in runs)
    cases = [
        _case(measured, of_b.get(b.key, {}).get(name))
        for a, b in pairs
        for name, measured in of_a.get(a.key, {}).items()
    ]
    compared = [case for case in cases if not case.reason]
    matters = 1 + RESOLUTION * pace.threshold
    ratios = [paired.together(case.rounds, len(compared), matters, pace.level) for case in compared]
    verdicts = paired.judged(ratios, [case.better for case in compared], pace.threshold, pace.level)
    decided = iter([_decided(*each) for each in zip(compared, ratios, verdicts, strict=True)])
    return [case if case.reason else next(decided) for case in cases]


def _measured(run: _GrowingRun, launches: int) -> dict[Key, dict[str, Measured]]:
    """Return the results of each case of a run: one metric for each quantity that was timed."""
    samples = read_samples(run.directory.path, run.side.catalog)
    cases = samples.by_case()
    measured: dict[Key, dict[str, Measured]] = defaultdict(dict)
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
            # The sides may differ in their work: a rate is the work of its own side divided by the time.
            work = summary.work.of(metric.quantity, summary)
            medians = {number: work / median for number, median in medians.items() if median > 0}
        measured[summary.key][summary.metric] = Measured(summary, metric.label, medians)
    return measured


def _case(a: Measured, b: Measured | None) -> PairedCase:
    """Return one metric of a pair of cases with its rounds and their level, or why they are incomparable."""
    case, other = a.summary, b.summary if b is not None else a.summary
    common = sorted(set(a.rounds) & set(b.rounds)) if b is not None else []
    ratios = {number: b.rounds[number] / a.rounds[number] for number in common} if b is not None else {}
    ratios = {number: ratio for number, ratio in ratios.items() if np.isfinite(ratio) and ratio > 0}
    reason = _why_incomparable(case, other, b is not None)
    if not reason and len(ratios) < 2:
        reason = "fewer than two rounds have results"
    level = float(np.median([a.rounds[n] * ratio**0.5 for n, ratio in ratios.items()])) if ratios else None
    return PairedCase(
        a=case.spelling,
        b=other.spelling,
        words=case.label if case.label == other.label else f"{case.label} | {other.label}",
        metric=case.metric,
        metric_label=a.label,
        unit=case.unit,
        better=case.better,
        definition=case.definition,
        verdict="incomparable",
        reason=reason,
        a_median=case.median if reason else level,
        b_median=(other.median if b is not None else None) if reason else level,
        ratio=None,
        ratio_low=None,
        ratio_high=None,
        rounds=ratios,
        p=None,
        detectable=None,
    )


def _decided(case: PairedCase, found: paired.Ratio, judgement: paired.Judgement) -> PairedCase:
    """Return a case with its verdict.

    The values of A and B are set around the level of a typical round, so that their ratio is the estimated one:
    the separate medians of the sides may have the opposite order if the machine changes between rounds.
    """
    assert case.a_median is not None
    assert case.b_median is not None
    verdict, reason = judgement
    known = {name: value if np.isfinite(value) else None for name, value in vars(found).items()}
    return case.model_copy(
        update={
            "verdict": verdict,
            "reason": reason,
            "ratio": found.ratio,
            "a_median": case.a_median / found.ratio**0.5,
            "b_median": case.b_median * found.ratio**0.5,
            "ratio_low": known["low"] or None,
            "ratio_high": known["high"],
            "p": min(1.0, 1 / found.change),
            "most": known["most"],
            "detectable": None if verdict in ("worse", "better") else known["detectable"],
        }
    )


def _why_incomparable(a: Summary, b: Summary, has_b: bool) -> str:
    """Return why two summaries cannot be compared; empty if they can."""
    if not has_b:
        return "not in B"
    for name, case in (("A", a), ("B", b)):
        if not case.valid:
            return f"no result in {name}: {case.reason}"
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
