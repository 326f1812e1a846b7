"""A second look where a curve breaks: further sizes between the last before a break and the first after it.

After SKaMPI's refinement of message sizes (Reussner, Sanders, Prechelt and Müller 1998): measure where a straight
line between two sizes would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hpcscope.plan.case import Batch
from hpcscope.plan.placement import Placement
from hpcscope.plan.plan import LATER_VISIT, Plan, PlannedCase, extended, shuffled
from hpcscope.settings.selection import Value

SIZES_IN_A_GAP = 3
NARROWEST_GAP = 1.5
"""Sizes closer than this factor are near enough to name a break."""


@dataclass(frozen=True)
class Gap:
    """Two neighboring message sizes of a curve with a break between them, in bytes."""

    benchmark: str
    parameters: tuple[tuple[str, Value], ...]
    """All but the size."""
    ranks: int
    transport: str
    placement: Placement
    last_before: int
    first_after: int

    @property
    def batch(self) -> Batch:
        """Ranks, transport and placement of one launch."""
        return self.ranks, self.transport, self.placement

    def sizes(self) -> Iterator[int]:
        """Yield sizes at equal ratios inside the gap."""
        low = max(self.last_before, 1)
        ratio = self.first_after / low
        if ratio >= NARROWEST_GAP:
            for step in range(1, SIZES_IN_A_GAP + 1):
                size = round(low * ratio ** (step / (SIZES_IN_A_GAP + 1)))
                if self.last_before < size < self.first_after:
                    yield size


def refined(plan: Plan, gaps: Iterable[Gap], launches: int) -> Plan:
    """Return the plan with further launches for the sizes inside the gaps; the same plan when there are none.

    Cases are sampled as those of the same benchmark in the plan, in as many launches, shuffled with its seed.
    """
    sampling = {
        case.benchmark: {name: value for name, value in case.sampling.items() if LATER_VISIT.get(name) != value}
        for launch in plan.launches
        for case in launch.cases
    }
    batches: dict[Batch, dict[str, PlannedCase]] = {}
    for gap in gaps:
        for size in gap.sizes():
            parameters = {**dict(gap.parameters), "message_bytes": size}
            case = PlannedCase(gap.benchmark, parameters, sampling.get(gap.benchmark, {}))
            batches.setdefault(gap.batch, {}).setdefault(case.line(), case)
    ordered = {batch: list(cases.values()) for batch, cases in batches.items()}
    further = shuffled(ordered, launches, plan.seed + 1)
    return extended(plan, further)
