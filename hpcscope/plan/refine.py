"""A second look where a curve may break: further sizes around the last before a break and the first after it.

After SKaMPI's refinement of message sizes (Reussner, Sanders, Prechelt and Müller 1998): measure where a straight
line between two sizes would be wrong. The whole curve is measured again in the same launches: a jump between sizes
of different launches would be the launches'.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hpcscope.plan.case import Batch
from hpcscope.plan.plan import LATER_VISIT, Plan, PlannedCase, shuffled
from hpcscope.settings.selection import Value

ROUNDS = 2
"""Further looks: the second is between the sizes of the first, where the break turns out to be."""
SIZES_IN_A_GAP, SIZES_BESIDE_IT = 3, 2
"""With its own end, a side has three sizes for a line of its own."""
NARROWEST_GAP = 1.25
"""Sizes closer than this factor tell a jump from a steep piece of the curve."""
ITEM_BYTES = 16
"""Sizes are multiples of the largest number that is sent, where they are larger."""


@dataclass(frozen=True)
class Suspect:
    """A curve over message sizes, and the neighboring sizes between which it may break, in bytes."""

    benchmark: str
    parameters: tuple[tuple[str, Value], ...]
    """All but the size."""
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
    """Return the plan with further launches of the curves that may break; the same plan when there are none.

    Cases are sampled as those of the same benchmark in the plan, in as many launches, shuffled with its seed.
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
