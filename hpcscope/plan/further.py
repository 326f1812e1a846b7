"""Further visits to cases with wide intervals: a run spends its time on the differences between visits.

Hardly any variance of a result arises within a visit; nearly all of it arises between visits that are seconds
apart. So a case gets short visits in many launches. After the launches of the plan, whose number gives an
interval, further rounds visit cheap cases again until their intervals are as narrow as requested.
"""

from collections.abc import Callable, Mapping
from math import ceil

from hpcscope.plan.case import Batch, Key
from hpcscope.plan.plan import START_S, Launch, Plan, PlannedCase, shuffled
from hpcscope.plan.seen import Seen

VISITS = 9
"""Visits to a cheap case with a wide interval, which then ends at the second and the eighth median."""
FEWEST_VISITS = 8
"""Fewest visits: fewer may agree by chance."""
CHEAP_S = 0.05
"""Cases with longer visits are not repeated beyond the launches of the plan while others are due."""
SHARE = 0.25
"""Fraction of the wide cases, the widest first, that each round beyond `VISITS` takes."""
MOST_VISITS = 48
"""Most visits: the interval is then less than half as wide as after 9."""


def with_further_launches(
    plan: Plan,
    seen: Mapping[Key, Seen],
    width: Callable[[list[float]], float],
    left_s: float | None = None,
) -> Plan:
    """Return the plan with another round of launches; the same plan if no case needs one or time is up.

    `width`: returns the relative half width of the interval of medians. `left_s`: remaining time, in which the
    widest cases get visits beyond `VISITS`; None: no case gets any.
    """
    last: dict[Key, tuple[Launch, PlannedCase]] = {}
    for launch in plan.launches:
        for case in launch.cases:
            last[launch.key(case)] = launch, case
    wide: dict[Key, float] = {}
    due: list[Key] = []
    for key, (_, case) in last.items():
        if key not in seen or not seen[key].medians_s:
            continue
        medians_s = seen[key].medians_s
        uncertainty = width(medians_s)
        if len(medians_s) < VISITS and seen[key].duration_s <= CHEAP_S:
            if len(medians_s) < FEWEST_VISITS or uncertainty > case.precision:
                due.append(key)
        elif left_s is not None and len(medians_s) < MOST_VISITS and uncertainty > case.precision:
            wide[key] = uncertainty
    if not due:
        due = sorted(wide, key=lambda key: (-wide[key], str(key)))[: ceil(SHARE * len(wide))]
    batches: dict[Batch, list[PlannedCase]] = {}
    for key in due:
        launch, case = last[key]
        cost_s = seen[key].duration_s + (START_S if launch.batch not in batches else 0.0)
        if left_s is None or cost_s <= left_s:
            left_s = None if left_s is None else left_s - cost_s
            batches.setdefault(launch.batch, []).append(case)
    return plan.with_launches(shuffled(batches, 1, plan.seed + len(plan.launches)))
