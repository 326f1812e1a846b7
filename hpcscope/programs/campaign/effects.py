"""The effect of each factor on the time, with all other factors equal; and the fastest point."""

from collections.abc import Iterator, Sequence

import numpy as np

from hpcscope.grouping import grouped
from hpcscope.natural_order import natural
from hpcscope.programs.campaign.configurations import numbers, spread, well
from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.resampling import FEWEST, medians
from hpcscope.programs.campaign.study import Point, Value
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import estimate, seeded
from hpcscope.statistics.estimate import Estimate
from hpcscope.strict import Strict

FEATURES = ("wall_s", "elapsed_s")
"""Features for the time of a run: from its profile, else the time of the command."""


class FactorEffect(Strict):
    """The effect of a factor's value compared with the factor's first value."""

    factor: str
    """`ranks`, `placement`, `transport` or the name of a parameter."""
    value: Value
    first: Value
    ratio: Estimate
    """Time / time with the first value: geometric mean over all pairs of otherwise equal points.
    The interval is from draws of the runs' medians; None if a point has fewer than four runs."""
    pairs: int
    oversubscribed: bool
    """Whether one of the points has more ranks than processors."""

    @property
    def certain(self) -> bool:
        """Whether the interval excludes a ratio of 1."""
        low, high = self.ratio.low, self.ratio.high
        return low is not None and high is not None and (low > 1 or high < 1)


class Fastest(Strict):
    """The point with the shortest median time."""

    point: Point
    time_s: Estimate
    rivals: int
    """Number of other points whose intervals overlap this point's interval."""


def effects(records: Sequence[RunRecord]) -> list[FactorEffect]:
    """Return the effect of each value of each factor with several values, in the order of factors and values."""
    runs = _runs(records)
    factors = dict.fromkeys(name for group in runs.values() for name in group[0].point.factors)
    return [effect for factor in factors for effect in _of_factor(factor, list(runs.values()))]


def fastest(records: Sequence[RunRecord]) -> Fastest | None:
    """Return the fastest of several points; None if there are fewer than two."""
    feature = _feature(records)
    times = [(group[0].point, spread(numbers(group, feature))) for group in _runs(records).values()]
    if len(times) < 2:
        return None
    point, best = min(times, key=lambda time: time[1].median)
    reach = best.median if best.high is None else best.high
    rivals = sum((other.median if other.low is None else other.low) <= reach for _, other in times) - 1
    return Fastest(point=point, time_s=best.estimate, rivals=rivals)


def _runs(records: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return the successful runs with a time, by point."""
    feature = _feature(records)
    timed = [record for record in well(records) if feature == "elapsed_s" or feature in record.features]
    return grouped(timed, lambda record: record.point.key)


def _feature(records: Sequence[RunRecord]) -> str:
    return FEATURES[0] if any(FEATURES[0] in record.features for record in well(records)) else FEATURES[1]


def _of_factor(factor: str, points: Sequence[Sequence[RunRecord]]) -> Iterator[FactorEffect]:
    groups: dict[str, dict[Value, Sequence[RunRecord]]] = {}
    for group in points:
        point = group[0].point
        if factor in point.factors:
            groups.setdefault(point.without(factor).key, {})[point.factors[factor]] = group
    values = sorted({value for records in groups.values() for value in records}, key=_order)
    for value in values[1:]:
        pairs = [
            (records[values[0]], records[value])
            for records in groups.values()
            if values[0] in records and value in records
        ]
        if pairs:
            yield _effect(factor, value, values[0], pairs)


def _effect(
    factor: str, value: Value, first: Value, pairs: Sequence[tuple[Sequence[RunRecord], Sequence[RunRecord]]]
) -> FactorEffect:
    records = [record for pair in pairs for group in pair for record in group]
    feature = _feature(records)
    random = seeded(f"{factor} {value}")

    def draws(group: Sequence[RunRecord]) -> Floats:
        return np.log(medians(numbers(group, feature), random))

    ratios = np.exp(np.mean([draws(after) - draws(before) for before, after in pairs], axis=0))
    enough = min(len(group) for pair in pairs for group in pair) >= FEWEST
    return FactorEffect(
        factor=factor,
        value=value,
        first=first,
        ratio=estimate(ratios) if enough else Estimate(value=float(ratios[0])),
        pairs=len(pairs),
        oversubscribed=any(record.oversubscribed for record in records),
    )


def _order(value: Value) -> tuple[bool, float, list[tuple[int, str]]]:
    """Sort numbers by value, then words in natural order (`T42` before `T170`)."""
    return (True, 0.0, natural(value)) if isinstance(value, str) else (False, float(value), [])
