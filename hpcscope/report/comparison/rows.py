"""The cases of a comparison as rows of its report: a row per time, with the position of its change on one axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_high

from hpcscope.comparison.comparison import ComparedCase, Comparison, Verdict
from hpcscope.comparison.times import ComparedRow, rows
from hpcscope.grouping import grouped
from hpcscope.statistics.estimate import Estimate

OPEN: tuple[Verdict, ...] = ("worse", "better", "states differ", "common change")
"""Verdicts whose cases are shown in full; each other verdict is folded into one line."""
_NARROWEST = 0.05
_WIDEST = 1.0
"""Smallest and largest end of the axis of changes: 5 % and 100 %."""


@dataclass(frozen=True)
class VerdictGroup:
    """Cases of one verdict."""

    verdict: Verdict
    rows: list[ComparedRow]
    seen: float | None
    """Smallest change that the median case could have detected; None if unknown."""

    @property
    def is_open(self) -> bool:
        """Whether its rows are shown at once."""
        return self.verdict in OPEN


@dataclass(frozen=True)
class AxisPlace:
    """Position of a change and its interval on the axis of all changes, in percent of the axis's width."""

    low: float
    middle: float
    high: float


def groups(comparison: Comparison) -> list[VerdictGroup]:
    """Return the cases grouped by verdict in reading order, with one row for each time."""
    alike = grouped(rows(comparison.cases), lambda row: row.case.verdict)
    return [VerdictGroup(verdict, group, _seen([row.case for row in group])) for verdict, group in alike.items()]


def axis(comparison: Comparison) -> float:
    """Return the end of the axis of changes, which nearly all changes lie within."""
    changes = sorted(abs(case.change) for case in comparison.cases if case.change is not None)
    if not changes:
        return _NARROWEST
    return min(_WIDEST, max(_NARROWEST, 1.15 * changes[math.ceil(0.95 * len(changes)) - 1]))


def place(case: ComparedCase, end: float) -> AxisPlace | None:
    """Return the position of a change on an axis from -`end` to `end`; None if the change is not known."""
    if case.ratio is None:
        return None
    ratios = Estimate(value=case.ratio, low=case.ratio_low, high=case.ratio_high).bounds
    return AxisPlace(*(round(50 + 50 * max(-1.0, min(1.0, (ratio - 1) / end)), 2) for ratio in ratios))


def _seen(cases: Sequence[ComparedCase]) -> float | None:
    known = [case.detectable for case in cases if case.detectable is not None]
    return median_high(known) if known else None
