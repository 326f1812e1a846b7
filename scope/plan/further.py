"""Further launches where intervals are wide: of the cases whose figures are the least certain.

A figure rests on the medians of its launches, so that no time within a launch narrows an interval that launches
widen. What is left of the time after the launches that every case gets goes to further launches, round by round,
of the widest quarter of the cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from scope.plan.budget import Seen
from scope.plan.case import Batch, Key
from scope.plan.plan import START_S, Launch, Plan, PlannedCase, shuffled, with_budget

SHARE = 0.25
"""Of the cases that are not yet certain enough, in each round."""
MOST_LAUNCHES = 4
"""A case gets at most so many times the launches of the plan: the interval is then half as wide."""


def with_further_launches(
    plan: Plan, seen: Mapping[Key, Seen], launches: int, visits: tuple[int, int], left_s: float
) -> Plan:
    """Return the plan with another round of launches; the same plan when no case needs one or there is no time.

    `launches`: how many every case gets; `visits` as `planning.shuffled` takes them; `left_s`: remaining time.
    """
    first: dict[Key, tuple[Launch, PlannedCase]] = {}
    for launch in plan.launches:
        for key, positions in launch.positions.items():
            first.setdefault(key, (launch, launch.cases[positions[0]]))
    wide: dict[Key, float] = {}
    for key, (launch, _) in first.items():
        uncertainty = seen[key].uncertainty if key in seen else None
        few = key in seen and len(seen[key].visits) < MOST_LAUNCHES * launches
        if few and uncertainty is not None and uncertainty > (launch.precision(key) or 0.0):
            wide[key] = uncertainty
    batches: dict[Batch, list[PlannedCase]] = {}
    for key in sorted(wide, key=lambda key: (-wide[key], str(key)))[: ceil(SHARE * len(wide))]:
        launch, case = first[key]
        cost_s = seen[key].duration_s + (START_S if launch.batch not in batches else 0.0)
        if cost_s <= left_s:
            left_s -= cost_s
            batches.setdefault(launch.batch, []).append(with_budget(case, launch.budget_s(key)))
    last = plan.launches[-1].number if plan.launches else 0
    round_ = shuffled(batches, 1, plan.seed + last, (visits[1], visits[1]))
    return plan.with_launches(round_)
