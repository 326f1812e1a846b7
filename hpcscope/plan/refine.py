"""A second measurement where a curve may break: further sizes around the last before and the first after a break.

Like SKaMPI's refinement of message sizes (Reussner, Sanders, Prechelt and Müller 1998), it measures where a
straight line between two sizes would be wrong. The whole curve is measured again in the same launches, because a
jump between sizes of different launches may be a difference between the launches.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hpcscope.plan.case import Batch
from hpcscope.plan.plan import LATER_VISIT, Plan, PlannedCase, shuffled
from hpcscope.settings.selection import Value

ROUNDS = 2
"""Number of refinements: the second is between the sizes of the first, where the break turns out to be."""
SIZES_IN_A_GAP, SIZES_BESIDE_IT = 3, 2
"""Sizes inside a gap, and on each side of it: with its own end, a side has three sizes for its own line."""
NARROWEST_GAP = 1.25
"""Sizes closer than this factor distinguish a jump from a steep part of the curve."""
ITEM_BYTES = 16
"""Larger sizes are multiples of this, the size of the largest number that is sent."""


@dataclass(frozen=True)
class Suspect:
    """A curve over message sizes, and the neighboring sizes between which it may break, in bytes."""

    benchmark: str
    parameters: tuple[tuple[str, Value], ...]
    """All parameters except the size."""
    batch: Batch
    sizes: tuple[int, ...]
    gaps: tuple[tuple[int, int], ...]

    def further(self) -> set[int]:
        """Return sizes at equal ratios inside and on both sides of each gap, up to the curve's largest."""
        exact: list[float] = []
        for last_before, first_after in self.gaps:
            low = max(last_before, 1)
            if first_after >= NARROWEST_GAP * low:
                ratio = (first_after / low) ** (1 / (SIZES_IN_A_GAP + 1))
                steps = range(-SIZES_BESIDE_IT, SIZES_IN_A_GAP + SIZES_BESIDE_IT + 2)
                exact += [low * ratio**step for step in steps]
        sizes = {round(size / ITEM_BYTES) * ITEM_BYTES if size > 2 * ITEM_BYTES else round(size) for size in exact}
        return {size for size in sizes if 0 < size <= max(self.sizes)} - {*self.sizes}


def refined(plan: Plan, suspects: Iterable[Suspect], launches: int) -> Plan:
    """Return the plan with further launches of the curves that may break; the same plan if there are none.

    Cases are sampled like the plan's cases of the same benchmark; its seed shuffles this number of launches.
    """
    sampling = {
        case.benchmark: {name: value for name, value in case.sampling.items() if LATER_VISIT.get(name) != value}
        for launch in plan.launches
        for case in launch.cases
    }
    batches: dict[Batch, dict[str, PlannedCase]] = {}
    for curve in suspects:
        further = curve.further()
        for size in sorted({*curve.sizes, *further} if further else ()):
            parameters = {**dict(curve.parameters), "message_bytes": size}
            case = PlannedCase(curve.benchmark, parameters, sampling.get(curve.benchmark, {}))
            batches.setdefault(curve.batch, {}).setdefault(case.line(), case)
    ordered = {batch: list(cases.values()) for batch, cases in batches.items()}
    return plan.with_launches(shuffled(ordered, launches, plan.seed + len(plan.launches)))
