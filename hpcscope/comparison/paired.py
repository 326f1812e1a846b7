"""Two sides that were measured in turn, A B B A: the ratio of each round, and what the rounds say together.

Both measurements of a round are neighbors in time, so that a state of the machine that lasts longer than a round
is in both of them and in none of the ratios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hpcscope import units
from hpcscope.comparison.compare import LEVEL, RESOLUTION
from hpcscope.comparison.comparison import ComparedMetric, Factor
from hpcscope.comparison.significance import standard_errors_seen
from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import student_quantile
from hpcscope.strict import Strict

LOOKS = (12, 16, 20, 24, 32, 48, 64)
"""Rounds after which the question is asked; each answer has its share of the level."""

PairedVerdict = Literal["worse", "better", "inconclusive", "no difference", "incomparable"]
PAIRED_VERDICTS: list[PairedVerdict] = ["worse", "better", "inconclusive", "no difference", "incomparable"]
"""In reading order."""

_EXACT_ROUNDS = 50
"""Up to so many rounds the signed-rank distribution is exact; above, the normal approximation is good."""


class PairedCase(ComparedMetric):
    """One metric of a case on both sides, round by round."""

    a: str
    """The case of side A."""
    b: str
    """The case of side B; the same as A's, unless the sides differ in what identifies a case."""
    words: str = ""
    """The case in words, or both where they differ; empty in comparisons of before."""
    verdict: PairedVerdict
    rounds: dict[int, float]
    """The ratio of each round that has a result on both sides."""

    @property
    def label(self) -> str:
        """The case, or both where they differ."""
        if self.words:
            return self.words
        return self.a if self.a == self.b else f"{self.a} | {self.b}"


class PairedComparison(Strict):
    """The result of `scope compare --measure`: `comparison.json`."""

    format: int
    a: str
    b: str
    level: float
    """The share of comparisons of equal sides that may hold a false alarm, all looks together."""
    confidence: float
    """Of each interval, which allows for the looks."""
    threshold: float
    """Smaller relative changes count as no difference."""
    factors: list[Factor]
    """Differences between the sides."""
    rounds: int
    elapsed_s: float
    out_of_time: bool
    """Whether the time ended before every case was decided."""
    cases: list[PairedCase]
    """Worst first."""

    @property
    def counts(self) -> dict[PairedVerdict, int]:
        """Cases per verdict."""
        return {verdict: sum(case.verdict == verdict for case in self.cases) for verdict in PAIRED_VERDICTS}

    def regressions(self, beyond: float) -> list[PairedCase]:
        """Return the cases that are worse by more than the share `beyond`."""
        return [case for case in self.cases if case.verdict == "worse" and case.loss > beyond]


@dataclass(frozen=True)
class Ratio:
    """What the rounds say together."""

    ratio: float
    low: float
    high: float
    p: float
    detectable: float


def confidence() -> float:
    """Return the confidence of each interval, so that 95 % hold at all looks together."""
    return 1 - 0.05 / len(LOOKS)


def level_of_case(cases: int) -> float:
    """Return the p that one of so many cases must reach at one look."""
    return LEVEL / len(LOOKS) / cases


def together(rounds: Mapping[int, float], cases: int) -> Ratio:
    """Return the pseudomedian of ratios with its interval, and the p of the signed-rank test; at least two ratios.

    The interval is the exact one of the signed-rank test, between two of the means of all pairs of log ratios
    (Hollander, Wolfe & Chicken 2014, section 3.3); with fewer rounds than the first look needs, all of them.
    """
    logs = np.log(np.array(list(rounds.values())))
    first, second = np.triu_indices(logs.size)
    means = np.sort((logs[first] + logs[second]) / 2)
    outside = _ranks_outside(logs.size, 1 - confidence())
    low, high = means[outside], means[means.size - 1 - outside]
    # From the interval, since one odd round widens the standard deviation but not the test.
    error = float(high - low) / 2 / float(student_quantile((1 + confidence()) / 2, logs.size - 1))
    needed = standard_errors_seen(logs.size - 1, level_of_case(cases))
    return Ratio(
        ratio=float(np.exp(np.median(means))),
        low=float(np.exp(low)),
        high=float(np.exp(high)),
        p=_signed_rank(logs),
        detectable=float(np.expm1(needed * error)),
    )


def decide(found: Ratio, rounds: int, better: str, cases: int, threshold: float) -> tuple[PairedVerdict, str]:
    """Return the verdict on one case, and the reason where the figures alone do not show it."""
    if rounds < LOOKS[0]:
        return "inconclusive", f"needs {LOOKS[0]} rounds, has {rounds}"
    beyond = found.ratio > 1 + threshold or found.ratio < 1 / (1 + threshold)
    widest = 1 + RESOLUTION * threshold
    if found.p <= level_of_case(cases):
        if beyond:
            return ("worse" if (found.ratio > 1) == (better == "lower") else "better"), ""
        least = units.percent(threshold, 1)
        return "no difference", f"a change of {units.change(found.ratio - 1)} is established, but below {least}"
    if not beyond and 1 / widest <= found.low and found.high <= widest:
        return "no difference", ""
    return (
        "inconclusive",
        f"anything from {units.change(found.low - 1)} to {units.change(found.high - 1)} is possible",
    )


def _signed_rank(logs: Floats) -> float:
    """Return the two-sided p of the signed-rank test; ratios of exactly 1 say nothing and are left out."""
    from scipy.stats import wilcoxon  # takes a second to load

    differing = logs[logs != 0]
    if not differing.size:
        return 1.0
    exact = differing.size <= _EXACT_ROUNDS and np.unique(np.abs(differing)).size == differing.size
    return float(wilcoxon(differing, method="exact" if exact else "approx").pvalue)


def _ranks_outside(count: int, level: float) -> int:
    """Return how many means lie outside of the interval on each side."""
    # The number of ways in which a subset of the ranks 1..count has each sum.
    ways = np.ones(1)
    for rank in range(1, count + 1):
        longer = np.zeros(ways.size + rank)
        longer[: ways.size] += ways
        longer[rank:] += ways
        ways = longer
    below = np.cumsum(ways / ways.sum())
    return max(int(np.searchsorted(below, level / 2, side="right")) - 1, 0)


def worst_first(cases: Sequence[PairedCase]) -> list[PairedCase]:
    """Return the cases in reading order."""
    return sorted(cases, key=lambda one: (PAIRED_VERDICTS.index(one.verdict), -one.loss, one.label, one.metric))
