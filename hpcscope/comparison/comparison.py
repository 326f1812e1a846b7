"""The result of comparing two runs."""

from collections import Counter
from typing import Literal, get_args

from hpcscope import units
from hpcscope.plan.case import Case
from hpcscope.statistics.course import Measure, State
from hpcscope.strict import Strict

Verdict = Literal[
    "worse", "better", "inconclusive", "states differ", "common change", "no difference", "incomparable"
]
VERDICTS: list[Verdict] = list(get_args(Verdict))
"""The verdicts in reading order."""
DIFFERENT: tuple[Verdict, ...] = ("worse", "better", "states differ")
"""Verdicts on cases that differ."""

Basis = Literal["launches", "same data", "none"]


class Factor(Strict):
    """A difference between the two runs' machines or settings."""

    name: str
    a: str
    b: str


class ComparedMetric(Strict):
    """One metric of a case on two sides, under its headline definition."""

    metric: str
    metric_label: str = ""
    """The metric in words, as its benchmark declares it; empty in older comparisons."""
    unit: str
    better: Literal["lower", "higher"]
    definition: str
    reason: str
    """The reason for the verdict, if the values alone do not show it."""
    a_median: float | None
    b_median: float | None
    ratio: float | None
    """B over A: the ratio of the medians; if interleaved, the pseudomedian of the rounds' ratios."""
    ratio_low: float | None
    ratio_high: float | None
    p: float | None
    """p of the test; if interleaved, 1 over what a unit bet on a change has become, valid at every round."""
    detectable: float | None
    """The smallest relative change that nine of ten such comparisons would find, if no change is found."""

    @property
    def metric_words(self) -> str:
        """The metric in words."""
        return self.metric_label or units.named(self.metric)

    def shown(self, value: float | None) -> str:
        """Write a value of the metric."""
        return units.figure(value, self.unit, self.metric)

    @property
    def loss(self) -> float:
        """How much worse B is, relative to A; negative if it is better, 0 if unknown."""
        if self.ratio is None:
            return 0.0
        return self.ratio - 1 if self.better == "lower" else 1 - self.ratio


class ComparedCase(Case, ComparedMetric):
    """One metric of one case in both runs."""

    verdict: Verdict
    basis: Basis
    """What the interval is computed from: launch medians, the same data, or nothing with too few launches."""
    a_launches: int
    b_launches: int
    origins: list[str] = ["measured"]
    """Origins of the values in A and B, each once."""
    test: str
    """The test behind `p`; empty if there was none."""
    p_corrected: float | None
    """p corrected after Benjamini and Hochberg, over all cases that were tested."""

    @property
    def change(self) -> float | None:
        """The relative change from A to B: 0.05 is 5 % more."""
        return None if self.ratio is None else self.ratio - 1


class CommonChange(Strict):
    """One factor by which the cases changed together."""

    ratio: float
    low: float
    high: float
    """Half of the cases changed by factors between `low` and `high`."""
    agreeing: int
    """Number of cases that agree with the factor."""
    cases: int
    """Number of cases that were tested."""


class StateChange(Strict):
    """The states in which the machine ran during the two runs, if they differ."""

    a: list[State]
    b: list[State]
    sentinel: dict[Measure, float]
    """The sentinel's time in B over its time in A, each in its longest state; empty if unknown."""


class Comparison(Strict):
    """The result of `scope compare`."""

    format: int
    a: str
    b: str
    level: float
    """The fraction of comparisons of equal runs that may contain a false alarm."""
    threshold: float
    """Smaller relative changes count as no difference."""
    factors: list[Factor]
    """Differences that may explain a change but do not make the runs incomparable."""
    obstacles: list[Factor]
    """Differences between the machines that make every case incomparable."""
    optimized: list[str] = []
    """The sides whose native program has other flags than the baseline's, with these flags: `A: -O3`."""
    common: CommonChange | None
    """Cases are judged relative to it; None if it is below the threshold."""
    states: StateChange | None = None
    """None if the machine was in one state, the same in both runs as far as is known."""
    spread: float
    """Relative scatter of unchanged cases between the runs, beyond the scatter of their launches."""
    cases: list[ComparedCase]
    """Worst first."""

    @property
    def counts(self) -> dict[Verdict, int]:
        """Number of cases per verdict."""
        numbers = Counter(case.verdict for case in self.cases)
        return {verdict: numbers[verdict] for verdict in VERDICTS}

    def regressions(self, beyond: float) -> list[ComparedCase]:
        """Return the cases that are worse by more than the fraction `beyond`."""
        return [case for case in self.cases if case.verdict == "worse" and case.loss > beyond]
