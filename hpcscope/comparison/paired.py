"""Two interleaved sides, A B B A: the ratio of each round, and the joint result of all rounds.

Both measurements of a round are neighbors in time, so a state of the machine that lasts longer than a round is in
both of them and in none of the ratios. If the sides are equal, both sides of a round are equally likely to be the
slower one, whatever the size of the ratio and the previous rounds. Bets on these signs make a test that is valid
at every round, so measuring may end as soon as it decides (Ramdas, Grunwald, Vovk & Shafer 2023, Statistical
Science 38 (4), 576-601).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hpcscope import units
from hpcscope.comparison.comparison import ComparedMetric, Factor
from hpcscope.samples.samples import Floats
from hpcscope.statistics.distributions import normal_quantile
from hpcscope.strict import Strict

LEVEL = 0.05
"""Expected fraction of false verdicts at most, whenever measuring ends."""
MOST_ROUNDS = 64
TILTS = (1.0, 3.0, 9.0)
"""How much more is bet on rounds that differ more: for small changes in many rounds up to clear ones in few."""

PairedVerdict = Literal["worse", "better", "inconclusive", "no difference", "incomparable"]
PAIRED_VERDICTS: list[PairedVerdict] = ["worse", "better", "inconclusive", "no difference", "incomparable"]
"""The verdicts in reading order."""

_POWER = 0.9


class PairedCase(ComparedMetric):
    """One metric of a case on both sides, round by round."""

    a: str
    """The case of side A."""
    b: str
    """The case of side B; the same as A's, unless the sides differ in what identifies a case."""
    words: str = ""
    """The case in words, or both cases if they differ; empty in older comparisons."""
    verdict: PairedVerdict
    rounds: dict[int, float]
    """The ratio of each round that has a result on both sides."""
    most: float | None = None
    """The largest relative change that is still possible, for all cases of the comparison together."""

    @property
    def label(self) -> str:
        """The case, or both cases if they differ."""
        if self.words:
            return self.words
        return self.a if self.a == self.b else f"{self.a} | {self.b}"


class PairedComparison(Strict):
    """The result of `scope compare --measure`: `comparison.json`."""

    format: int
    a: str
    b: str
    level: float
    """The fraction of verdicts that may be false, whenever measuring ends."""
    confidence: float
    """Confidence of each interval, whenever measuring ends."""
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
        """Number of cases per verdict."""
        return {verdict: sum(case.verdict == verdict for case in self.cases) for verdict in PAIRED_VERDICTS}

    def regressions(self, beyond: float) -> list[PairedCase]:
        """Return the cases that are worse by more than the fraction `beyond`."""
        return [case for case in self.cases if case.verdict == "worse" and case.loss > beyond]


Judgement = tuple[PairedVerdict, str]


@dataclass(frozen=True)
class Ratio:
    """The joint result of the rounds of a case."""

    ratio: float
    low: float
    high: float
    """Upper end of the interval for this case; with too few rounds the ends are 0 and infinite."""
    most: float
    """The largest relative change that is still possible, for all cases together; infinite with too few rounds."""
    detectable: float
    """The smallest relative change that nine of ten such comparisons would find; infinite with too few rounds."""
    change: float
    """What a unit bet on a change has become: with equal sides, it ever reaches x at most once in x times."""
    equal: float
    """What a unit bet has become that the sides differ by less than would matter."""

    def is_beyond(self, threshold: float) -> bool:
        """Return whether the ratio is a larger change than this."""
        return bool(abs(np.log(self.ratio)) > np.log1p(threshold))


def fewest_rounds(level: float = LEVEL) -> int:
    """Return the fewest rounds with which a case can have a verdict."""
    return next(n for n in range(1, MOST_ROUNDS) if _evidence(np.arange(1.0, n + 1)[None, :])[0] >= 1 / level)


def together(rounds: Mapping[int, float], cases: int, matters: float, level: float = LEVEL) -> Ratio:
    """Return the pseudomedian of ratios (Hodges & Lehmann 1963) with its interval, and the evidence.

    Sides that differ by a factor of less than `matters` are equal. The interval contains the factors against which
    the evidence is too small; it is valid at all rounds at once. Its ends are means of pairs of log ratios.
    """
    logs = np.log(np.array(list(rounds.values())))
    first, second = np.triu_indices(logs.size)
    means = np.sort((logs[first] + logs[second]) / 2)
    ends = np.concatenate([[-np.inf], means, [np.inf]])
    between = np.concatenate([[means[0] - 1], (means[:-1] + means[1:]) / 2, [means[-1] + 1]])
    against = _evidence(logs - between[:, None])
    own, of_all = (
        ends[[kept[0], kept[-1] + 1]] for limit in (1, cases) for kept in [np.flatnonzero(against < limit / level)]
    )
    error = 1.4826 * float(np.median(np.abs(logs - np.median(logs)))) / logs.size**0.5
    return Ratio(
        ratio=float(np.exp(np.median(means))),
        low=float(np.exp(own[0])),
        high=float(np.exp(own[1])),
        most=float(np.expm1(np.abs(of_all).max())),
        detectable=float(np.expm1(np.diff(of_all)[0] / 2 + normal_quantile(_POWER) * error)),
        change=float(_evidence(logs[None, :])[0]),
        equal=float(against[(ends[:-1] < -np.log(matters)) | (ends[1:] > np.log(matters))].min()),
    )


def needed(evidence: Sequence[float], level: float = LEVEL) -> float:
    """Return the evidence that a verdict needs, given each case's evidence for its likeliest verdict.

    The expected fraction of false verdicts is at most `level`, however cases depend on one another: k verdicts on
    n cases need an evidence of n / (k level) each (Wang & Ramdas 2022, J. R. Stat. Soc. B 84 (3), 822-852).
    """
    falling = np.sort(np.asarray(evidence))[::-1]
    limits = falling.size / level / np.arange(1, falling.size + 1)
    return float(limits[falling >= limits].min(initial=falling.size / level))


def judged(
    ratios: Sequence[Ratio], better: Sequence[str], threshold: float, level: float = LEVEL
) -> list[Judgement]:
    """Return the verdict on each case, and the reason if the values alone do not show it."""
    evidence = [ratio.change if ratio.is_beyond(threshold) else ratio.equal for ratio in ratios]
    limit = needed(evidence, level)
    judgements: list[Judgement] = []
    for one, has, lower in zip(ratios, evidence, better, strict=True):
        if has < limit:
            possible = "any change from {} to {} is possible".format(*units.changes(one.low - 1, one.high - 1))
            judgements.append(("inconclusive", possible if one.low else "too few rounds: any change is possible"))
        elif one.is_beyond(threshold):
            judgements.append(("worse" if (one.ratio > 1) == (lower == "lower") else "better", ""))
        else:
            judgements.append(("no difference", ""))
    return judgements


def _evidence(logs: Floats) -> Floats:
    """Return what bets on a change have become, for each row of log ratios; shape (rows,).

    In each round, a fraction tanh(tilt x rank) is bet on either sign, with the rank (0 to 1) of the ratio's size
    among the rounds so far (sequential ranks: Reynolds 1975, Annals of Statistics 3 (2), 382-400). With equal
    sides, every bet is fair. The result is the mean over tilts and signs.
    """
    size = np.abs(logs)
    ranks = np.stack([(size[:, : i + 1] <= size[:, i : i + 1]).mean(axis=1) for i in range(logs.shape[1])], axis=1)
    signed = np.sign(logs) * ranks
    bets = [np.prod(1 + np.tanh(tilt * signed), axis=1) for tilt in (*TILTS, *(-tilt for tilt in TILTS))]
    return np.asarray(np.mean(bets, axis=0))


def worst_first(cases: Sequence[PairedCase]) -> list[PairedCase]:
    """Return the cases in reading order."""
    return sorted(
        cases, key=lambda case: (PAIRED_VERDICTS.index(case.verdict), -case.loss, case.label, case.metric)
    )
