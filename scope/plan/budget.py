"""Time divided by information: what earlier launches of a case said decides how long the next ones sample it.

The interval of a case narrows with the square root of its time: half width w after b seconds means w sqrt(b) after
one. A sum of variances is least for a given time when each case gets time in proportion to that figure (Neyman
1934, J. Royal Statistical Society 97, 558-625, optimum allocation). No case gets more than it needs: its interval
as asked, or half of what launches differ among themselves, since the launches are what the figure rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot, sqrt
from statistics import median, stdev

from scope.plan.case import Key
from scope.plan.plan import (
    CASE_OVERHEAD_S,
    LONGEST_BUDGET_S,
    SHORTEST_BUDGET_S,
    START_S,
    Launch,
    PlannedCase,
    with_budget,
)

SHARE_OF_SPREAD = 0.5
"""An interval within a launch this much narrower than launches differ hardly adds to the figure's."""
FEWEST_LAUNCHES = 2
ROOM = 3.0
"""A case that became tight gets so many times what that took: it ends by itself."""
TWO_ERRORS = 2.0
"""Standard errors that the half width of a 95 % interval holds, about."""
DEAR = 2.0
"""A case that takes so many times its budget, most of it for preparation, is not visited more than once."""


@dataclass(frozen=True)
class SeenVisit:
    """The result of one visit to a case."""

    duration_s: float
    """Preparation and verification included."""
    median_s: float | None
    """Of one operation on the first rank that was kept."""
    relative_interval: float | None
    converged: bool
    """Whether it ended before its budget."""


@dataclass
class Seen:
    """The results of the launches so far for a case."""

    visits: dict[int, list[SeenVisit]] = field(default_factory=dict)
    """By launch, in the order in which they took place."""

    def add(self, launch: int, visit: SeenVisit) -> None:
        """Take in a visit."""
        self.visits.setdefault(launch, []).append(visit)

    @property
    def last(self) -> list[SeenVisit]:
        """The visits of the last launch."""
        return self.visits[list(self.visits)[-1]]

    @property
    def durations_s(self) -> list[float]:
        """How long each launch took for it."""
        return [sum(visit.duration_s for visit in visits) for visits in self.visits.values()]

    @property
    def duration_s(self) -> float:
        """How long a launch takes for it."""
        return median(self.durations_s)

    @property
    def medians_s(self) -> list[float]:
        """The time of an operation in each launch that has one; only their spread is used."""
        found = (
            [visit.median_s for visit in visits if visit.median_s is not None] for visits in self.visits.values()
        )
        return [median(medians) for medians in found if medians]

    @property
    def relative_interval(self) -> float | None:
        """Of the last launch."""
        return interval_of_visits([visit.relative_interval for visit in self.last])

    @property
    def converged(self) -> bool:
        """Whether every visit of the last launch ended before its budget."""
        return all(visit.converged for visit in self.last)

    @property
    def spread(self) -> float:
        """Standard deviation between launches over their mean."""
        medians = self.medians_s
        if len(medians) < FEWEST_LAUNCHES:
            return 0.0
        mean = sum(medians) / len(medians)
        return stdev(medians) / mean if mean > 0 else 0.0

    @property
    def uncertainty(self) -> float | None:
        """About the relative half width of the figure's interval over the launches; None below two launches."""
        number = len(self.medians_s)
        return TWO_ERRORS * self.spread / sqrt(number) if number >= FEWEST_LAUNCHES else None


def interval_of_visits(relative_intervals: Sequence[float | None]) -> float | None:
    """Return the interval of the mean of independent visits; None where a visit had too few repetitions."""
    known = [interval for interval in relative_intervals if interval is not None]
    if not known or len(known) < len(relative_intervals):
        return None
    return hypot(*known) / len(known)


def one_visit_is_enough(seen: Seen | None, launch: Launch, case: Key) -> bool:
    """Return whether a launch visits a case once although its plan lists several visits.

    The first launch of a case, which has the budget of the plan, shows that its preparation takes longer than
    sampling, or that a visit's share of the budget does not hold one operation.
    """
    first = min(seen.visits, default=launch.number) if seen else launch.number
    if seen is None or first >= launch.number:
        return False
    visits = seen.visits[first]
    budget_s = launch.budget_s(case)
    dear = sum(visit.duration_s for visit in visits) > DEAR * budget_s
    longest_s = max((visit.median_s for visit in visits if visit.median_s is not None), default=0.0)
    return dear or longest_s > budget_s / len(launch.positions[case])


@dataclass(frozen=True)
class Need:
    """The time that a case requests in each of its next launches."""

    fixed_s: float
    """What it takes beside its share; all of it for a case that becomes tight by itself."""
    after_one_second: float
    """Relative half width of the interval after one second; 0 for a case that gets no share."""
    enough_s: float

    def share_s(self, scale: float) -> float:
        """Return its share for a common scale, at least the shortest and at most what is enough."""
        return max(SHORTEST_BUDGET_S, min(self.enough_s, scale * self.after_one_second))

    def budget_s(self, scale: float) -> float:
        """Return how long it may sample."""
        return self.share_s(scale) if self.after_one_second > 0 else self.enough_s


def divided(
    launches: Sequence[Launch], seen: Mapping[Key, Seen], given_s: Mapping[Key, float], left_s: float
) -> dict[Key, float]:
    """Return budgets in s by case and launch that fill the time left with the launches still to come.

    `given_s` are the budgets of the last launches, where they are not those of the plan. A case that nobody has
    seen keeps what the plan gave it and has no entry.
    """
    cases = [(name, launch) for launch in launches for name in launch.positions]
    needs = {
        name: _need(seen[name], given_s.get(name, launch.budget_s(name)), launch.precision(name) or 0.0)
        for name, launch in cases
        if name in seen
    }
    new_s = sum(launch.budget_s(name) + CASE_OVERHEAD_S for name, launch in cases if name not in seen)
    asking = [needs[name] for name, _ in cases if name in needs]
    scale = _scale(asking, left_s - START_S * len(launches) - new_s)
    return {name: need.budget_s(scale) for name, need in needs.items()}


def with_budgets(launch: Launch, budgets: Mapping[Key, float], seen: Mapping[Key, Seen]) -> Launch:
    """Return the launch with these budgets for its cases, each divided by the visits to it."""

    def changed(case: PlannedCase) -> PlannedCase:
        name = launch.key(case)
        visits = 1 if one_visit_is_enough(seen.get(name), launch, name) else len(launch.positions[name])
        return with_budget(case, budgets.get(name, launch.budget_s(name)) / visits)

    return replace(launch, cases=tuple(changed(case) for case in launch.cases))


def _need(seen: Seen, budget_s: float, precision: float) -> Need:
    wanted = max(precision, SHARE_OF_SPREAD * seen.spread)
    if seen.converged or seen.relative_interval is None or seen.relative_interval <= wanted:
        # Never more than was enough: its duration holds preparation and verification, which no budget pays for.
        enough_s = max(min(ROOM * seen.duration_s, budget_s), SHORTEST_BUDGET_S)
        return Need(seen.duration_s, 0.0, min(enough_s, LONGEST_BUDGET_S))
    after_one_second = seen.relative_interval * sqrt(budget_s)
    enough_s = min((after_one_second / wanted) ** 2, LONGEST_BUDGET_S) if wanted > 0 else LONGEST_BUDGET_S
    return Need(max(0.0, seen.duration_s - budget_s), after_one_second, enough_s)


def _scale(needs: list[Need], time_s: float) -> float:
    """Return the scale at which all shares together, and what lies beside them, fill the time."""
    from scipy.optimize import brentq

    sharing = [need for need in needs if need.after_one_second > 0]
    free_s = time_s - sum(need.fixed_s for need in needs)
    most = max((need.enough_s / need.after_one_second for need in sharing), default=0.0)

    def beyond_s(scale: float) -> float:
        return sum(need.share_s(scale) for need in sharing) - free_s

    if beyond_s(most) <= 0:
        return most
    return float(brentq(beyond_s, 0.0, most)) if beyond_s(0.0) < 0 else 0.0
