"""Whether differences are more than chance: Welch's t of the logarithms of launch medians, in equal states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpcscope.comparison.run_effect import RunEffect
from hpcscope.samples.samples import Floats, Integers
from hpcscope.statistics.dependence import variance_of_mean
from hpcscope.statistics.distributions import student_cdf, student_quantile

TEST = "Welch's t of the logarithms of launch medians"

_SMALLEST_ERROR = 1e-3
"""Smaller relative standard errors are rounded up to this: smaller differences do not matter."""

_POWER = 0.9

_CHANCE = 3.0
"""Standard errors by which a correlation may differ from 0 by chance."""

_LARGEST_CORRELATION = 0.9


@dataclass(frozen=True)
class Launches:
    """The medians of the launches of one side, positive, and the state of the machine in each."""

    medians: Floats
    states: Integers

    def in_state(self, state: int) -> Floats:
        """Return the logarithms of the medians in this state."""
        logs: Floats = np.log(self.medians[self.states == state])
        return logs


@dataclass(frozen=True)
class Difference:
    """The difference of two sides' mean logarithms."""

    log_ratio: float
    error: float
    """Standard error of `log_ratio`, from the scatter of the launches."""
    freedom: float
    """Degrees of freedom of that error."""

    @classmethod
    def of(cls, a: Launches, b: Launches, correlation: float = 0.0) -> Difference:
        """Return the difference of launches, at least two on each side, that have a state in common.

        `correlation`: the correlation of successive launches; correlated launches say less than independent ones.

        Welch (1947, Biometrika 34, 28-35). Differences in equal states are averaged with least-squares weights;
        each side is assumed to scatter equally in all states.
        """
        common = sorted(set(a.states.tolist()) & set(b.states.tolist()))
        of_a, of_b = ([side.in_state(state) for state in common] for side in (a, b))
        weights = np.array([x.size * y.size / (x.size + y.size) for x, y in zip(of_a, of_b, strict=True)])
        weights /= weights.sum()
        means = np.array([y.mean() - x.mean() for x, y in zip(of_a, of_b, strict=True)])
        parts = []
        for side, groups in ((a, of_a), (b, of_b)):
            scatter, freedom = _scatter(side, correlation)
            parts.append((scatter * float((weights**2 / [group.size for group in groups]).sum()), freedom))
        variance = sum(part for part, _ in parts)
        below = sum(part**2 / freedom for part, freedom in parts)
        found = float((weights * means).sum()), variance**0.5
        return cls(*found, variance**2 / below if below else float(sum(freedom for _, freedom in parts)))

    def beside(self, run: RunEffect) -> float:
        """Return the standard error of the difference relative to the effect of the runs on all cases."""
        return float(np.hypot(max(self.error, _SMALLEST_ERROR), run.spread))

    def p(self, run: RunEffect) -> float:
        """Return the two-sided p of the difference relative to the effect of the runs on all cases."""
        return 2 * student_cdf(-abs(self.log_ratio - run.shift) / self.beside(run), self.freedom)

    def detectable(self, run: RunEffect, tests: int, level: float) -> float:
        """Return the smallest relative change of one of `tests` cases that nine of ten comparisons would find."""
        from scipy import special  # takes some time to load

        seen = special.nctdtrinc(self.freedom, 1 - _POWER, -student_quantile(level / tests / 2, self.freedom))
        with np.errstate(over="ignore"):  # infinite: no change of any size would be found
            return float(np.expm1(seen * self.beside(run)))


def levelled(a: Launches, b: Launches) -> tuple[Floats, Floats]:
    """Return the medians of both sides as if all launches had been in the state of most launches.

    The factor between the states is the least-squares estimate, separate from the difference of the sides.
    """
    states = np.concatenate([a.states, b.states])
    most = int(np.bincount(states).argmax())
    other = 1 - most
    weights, factors = [], []
    for side in (a, b):
        slow, fast = side.in_state(other), side.in_state(most)
        if slow.size and fast.size:
            weights.append(slow.size * fast.size / (slow.size + fast.size))
            factors.append(float(slow.mean() - fast.mean()))
    factor = np.exp(np.average(factors, weights=weights)) if weights else 1.0
    found = [np.where(side.states == other, side.medians / factor, side.medians) for side in (a, b)]
    return found[0], found[1]


def correlation(sides: Sequence[Floats]) -> float:
    """Return the correlation of successive launches, over all cases of both runs; 0 if it may be chance.

    The bias of short series is removed (Marriott & Pope 1954, Biometrika 41, 390-402).
    """
    found, weights = [], []
    for side in sides:
        logs = np.log(side) - np.log(side).mean()
        if (squares := float(logs @ logs)) > 0:
            found.append((float(logs[:-1] @ logs[1:]) / squares + 1 / logs.size) / (1 - 4 / max(logs.size, 6)))
            weights.append(logs.size)
    if not found:
        return 0.0
    typical = float(np.average(found, weights=weights))
    return min(typical, _LARGEST_CORRELATION) if typical > _CHANCE * sum(weights) ** -0.5 else 0.0


def _scatter(side: Launches, correlation: float) -> tuple[float, float]:
    """Return the variance of the logarithms within the states, and its degrees of freedom, at least 1.

    It is the variance of independent launches whose mean would be equally uncertain.
    """
    groups: Sequence[Floats] = [side.in_state(state) for state in np.unique(side.states).tolist()]
    count, freedom = side.medians.size, max(side.medians.size - len(groups), 1)
    of_mean = variance_of_mean(count, correlation)
    scatter = float(sum(((group - group.mean()) ** 2).sum() for group in groups)) / freedom
    alike = (1 - correlation**2) / (1 + correlation**2)
    return scatter * of_mean * (count - 1) / (1 - of_mean), max(freedom * alike, 1.0)
