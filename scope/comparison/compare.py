"""Compare two runs, case by case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scope.catalog.catalog import read as read_catalog
from scope.comparison import effect, machines, significance
from scope.comparison.comparison import VERDICTS, Basis, ComparedCase, Comparison, Factor, Verdict
from scope.comparison.effect import Effect
from scope.comparison.significance import Significance
from scope.errors import UsageError
from scope.machine.machine import Machine
from scope.plan.case import Case, Key
from scope.rundirectory import FORMAT, RunDirectory, read_json
from scope.samples.reader import read as read_samples
from scope.samples.samples import CaseSamples, Floats, SamplesKey
from scope.statistics.summarise import read_summaries
from scope.statistics.summary import Summary
from scope.statistics.values import seconds_behind

LAUNCHES_FOR_TEST = 4
"""With so many launches on both sides, launch medians are tested; below, the samples."""

RESOLUTION = 2.5
"""An interval that extends beyond so many thresholds is inconclusive."""

Question = tuple[Key, str]
"""A case and a metric of it: what both runs must have to be compared; the origin is not part of it."""


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    path: Path
    machine: Machine
    summaries: dict[Question, Summary]
    """The headline figures."""
    samples: Callable[[], dict[SamplesKey, list[CaseSamples]]]
    """Reads the samples, when they are needed."""


@dataclass(frozen=True)
class Pair:
    """A case that both runs have, and what its interval is computed from."""

    a: Summary
    b: Summary
    basis: Basis
    samples: Callable[[], tuple[Floats, Floats]]
    """Reads all samples of both sides."""

    @property
    def medians(self) -> tuple[Floats, Floats]:
        """The launch medians of both sides."""
        return np.array(self.a.launch_medians), np.array(self.b.launch_medians)

    @property
    def tested_by_launch(self) -> bool:
        """Whether both sides have enough launches for a test of their medians."""
        return min(self.a.launches, self.b.launches) >= LAUNCHES_FOR_TEST


def compare(
    a: Path, b: Path, threshold: float = 0.02, level: float = 0.05, across_machines: bool = False
) -> Comparison:
    """Compare run B with run A; a change below the share `threshold` is no difference.

    `level` is the share of false alarms among the reported changes (false-discovery rate). With `across_machines`
    two different machines are compared and their differences are named. UsageError when a
    file is missing or wrong.
    """
    left, right = _side(a), _side(b)
    obstacles = machines.obstacles(left.machine, right.machine)
    factors = machines.factors(left.machine, right.machine)
    if across_machines:
        obstacles, factors = [], obstacles + factors
    keys = list(dict.fromkeys([*left.summaries, *right.summaries]))
    refused = {key: reason for key in keys if (reason := _incomparable(key, left, right, obstacles))}
    pairs = [_pair(key, left, right) for key in keys if key not in refused]
    compared = _judged(pairs, threshold, level)
    compared += [_without(left.summaries.get(key), right.summaries.get(key), refused[key]) for key in refused]
    return Comparison(
        format=FORMAT,
        a=str(a),
        b=str(b),
        level=level,
        threshold=threshold,
        factors=factors,
        obstacles=obstacles,
        cases=sorted(compared, key=_worst_first),
    )


def _side(path: Path) -> Side:
    if not path.is_dir():
        what = "not a directory" if path.exists() else "missing"
        raise UsageError(f"{path}: {what}; a run directory is allowed, such as runs/latest")
    directory = RunDirectory(path)
    if directory.samples.exists() and not directory.statistics.exists():
        raise UsageError(f"{directory.statistics}: missing; `scope analyze {path}` derives it from the samples")
    summaries = [one for one in read_summaries(path) if one.primary]
    cache: list[dict[SamplesKey, list[CaseSamples]]] = []

    def samples() -> dict[SamplesKey, list[CaseSamples]]:
        if not cache:
            cache.append(read_samples(path, read_catalog(directory.benchmarks)).by_case())
        return cache[0]

    return Side(
        path, read_json(directory.machine, Machine), {(one.key, one.metric): one for one in summaries}, samples
    )


def _incomparable(key: Question, left: Side, right: Side, obstacles: Sequence[Factor]) -> str:
    """Return why a case cannot be compared; empty when it can."""
    a, b = left.summaries.get(key), right.summaries.get(key)
    if a is None or b is None:
        return f"not in {'A' if a is None else 'B'}"
    for name, one in (("A", a), ("B", b)):
        if not one.valid:
            return f"no result in {name}: {one.reason}"
        if one.median is None or min(one.median, *one.launch_medians) <= 0:
            return f"no value above zero in {name}"
    for what in ("origin", "unit", "better", "definition"):
        if getattr(a, what) != getattr(b, what):
            return f"{what} differs: {getattr(a, what)} in A, {getattr(b, what)} in B"
    if obstacles:
        return "different machine: " + ", ".join(one.name for one in obstacles)
    return ""


def _pair(key: Question, left: Side, right: Side) -> Pair:
    a, b = left.summaries[key], right.summaries[key]

    def samples() -> tuple[Floats, Floats]:
        return _samples(a, left), _samples(b, right)

    same = a.launch_medians == b.launch_medians and (a.n, a.mean) == (b.n, b.mean)
    basis: Basis = "same data" if same else "launches" if min(a.launches, b.launches) >= 2 else "samples"
    return Pair(a, b, basis, samples)


def _samples(summary: Summary, side: Side) -> Floats:
    """Return all samples of a case, thinned so that the remaining ones are nearly independent."""
    launches = [seconds_behind(summary, case) for case in side.samples().get(summary.samples_key, [])]
    values = np.concatenate([one for one in launches if one is not None] or [np.array([])])
    if not values.size:
        where = RunDirectory(side.path).samples
        raise UsageError(f"{where}: {summary.label}: has no samples, but statistics.json has a summary of them")
    correlation = min(max(summary.autocorrelation or 0.0, 0.0), 0.95)
    thinned = values[:: int(np.ceil((1 + correlation) / (1 - correlation)))] if summary.autocorrelated else values
    return 1 / thinned if summary.better == "higher" and summary.definition != "observed" else thinned


def _judged(pairs: Sequence[Pair], threshold: float, level: float) -> list[ComparedCase]:
    different = [pair for pair in pairs if pair.basis != "same data"]
    effects = [_effect(pair) for pair in different]
    tests = _tests(different, level)
    corrected = significance.corrected([test.p for test in tests])
    judged = [
        _case(pair, effect, test, float(q), threshold, level)
        for pair, effect, test, q in zip(different, effects, tests, corrected, strict=True)
    ]
    return judged + [_same(pair) for pair in pairs if pair.basis == "same data"]


def _effect(pair: Pair) -> Effect:
    name = f"{pair.a.spelling} {pair.a.metric}"
    if pair.basis == "launches":
        return effect.of_launches(*pair.medians, name)
    return effect.of_samples(*pair.samples(), name)


def _tests(pairs: Sequence[Pair], level: float) -> list[Significance]:
    by_launch = [index for index, pair in enumerate(pairs) if pair.tested_by_launch]
    found = significance.of_launches([pairs[index].medians for index in by_launch], len(pairs), level)
    answers = dict(zip(by_launch, found, strict=True))
    return [
        answers[index] if index in answers else significance.of_samples(*pair.samples())
        for index, pair in enumerate(pairs)
    ]


def _case(pair: Pair, found: Effect, test: Significance, q: float, threshold: float, level: float) -> ComparedCase:
    verdict, reason = decide(pair.a.better, found, q, threshold, level)
    return _compared(
        pair.a,
        pair.b,
        verdict=verdict,
        reason="; ".join(part for part in (reason, "" if pair.tested_by_launch else _few_launches(pair)) if part),
        ratio=found.ratio,
        ratio_low=found.low,
        ratio_high=found.high,
        basis=pair.basis,
        test=test.test,
        p=test.p,
        smallest_p=test.smallest_p,
        p_corrected=q,
    )


def decide(better: str, found: Effect, q: float, threshold: float, level: float) -> tuple[Verdict, str]:
    """Return the verdict on one case, and the reason where the figures alone do not show it.

    A change is established when the corrected test rejects and the interval excludes 1. Otherwise an interval that
    extends beyond 2.5 thresholds, or a median beyond one, is inconclusive.
    """
    beyond = found.ratio > 1 + threshold or found.ratio < 1 / (1 + threshold)
    established = q <= level and (found.low > 1 or found.high < 1)
    if established and beyond:
        return ("worse" if (found.ratio > 1) == (better == "lower") else "better"), ""
    if established:
        return "no difference", f"a change of {found.ratio - 1:+.1%} is established, but below {threshold:.1%}"
    widest = 1 + RESOLUTION * threshold
    if found.high > widest or found.low < 1 / widest or beyond:
        return "inconclusive", f"anything from {found.low - 1:+.1%} to {found.high - 1:+.1%} is possible"
    return "no difference", ""


def _few_launches(pair: Pair) -> str:
    fewest = min(pair.a.launches, pair.b.launches)
    plural = "es" if fewest != 1 else ""
    return f"tested on samples: {fewest} launch{plural} cannot show differences between launches"


def _same(pair: Pair) -> ComparedCase:
    return _compared(
        pair.a,
        pair.b,
        verdict="no difference",
        reason="identical samples in both runs",
        ratio=1.0,
        ratio_low=1.0,
        ratio_high=1.0,
        basis="same data",
    )


def _without(a: Summary | None, b: Summary | None, reason: str) -> ComparedCase:
    """Return a case that cannot be compared; at least one side has it."""
    return _compared(a, b, verdict="incomparable", reason=reason)


def _compared(a: Summary | None, b: Summary | None, **found: object) -> ComparedCase:
    known = a or b
    assert known is not None
    nothing = {"ratio": None, "ratio_low": None, "ratio_high": None, "basis": "none"}
    untested = {"test": "", "p": None, "smallest_p": None, "p_corrected": None}
    return ComparedCase.model_validate(
        {name: getattr(known, name) for name in Case.model_fields}
        | {name: getattr(known, name) for name in ("metric", "unit", "better", "definition")}
        | {
            "a_median": a.median if a is not None else None,
            "b_median": b.median if b is not None else None,
            "a_launches": a.launches if a is not None else 0,
            "b_launches": b.launches if b is not None else 0,
        }
        | nothing
        | untested
        | found
    )


def _worst_first(case: ComparedCase) -> tuple[int, float, str, str]:
    return (VERDICTS.index(case.verdict), -case.loss, case.label, case.metric)
