"""Layout of the bar chart of efficiencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scope import units
from scope.comparison.efficiency import Efficiencies, Efficiency
from scope.comparison.efficiency_table import share
from scope.comparison.letters import letter

LETTER = 7.2
"""Width of a letter of a label, measured with wide words."""
LONGEST = 480
"""Length of a bar that reaches the right end of the axis; its share is written behind it."""
SHARE = 110
"""Space for the share behind the longest bar."""
BAR, BETWEEN_BARS, BETWEEN_ROWS = 13, 2, 10
TOP = 34
STEPS = 5


@dataclass(frozen=True)
class Bar:
    """One efficiency; lengths in units of the drawing."""

    slot: int
    """The run, which decides the color."""
    y: float
    length: float
    low: float
    high: float
    words: str
    title: str


@dataclass(frozen=True)
class Label:
    """A benchmark or a tick."""

    at: float
    words: str


@dataclass(frozen=True)
class Figure:
    """The drawing, ready for the template."""

    width: int
    height: int
    left: int
    right: int
    bars: list[Bar]
    labels: list[Label]
    ticks: list[Label]


def figure(shares: Efficiencies) -> Figure:
    """Return the bars of all runs, benchmark by benchmark, on an axis that ends at the peak or beyond it."""
    end = max([1.0, *(one.high or one.share for row in shares.rows for one in row.known)])
    scale = LONGEST / end
    left = round(LETTER * max((len(row.label) for row in shares.rows), default=0)) + 20
    step = BAR + BETWEEN_BARS
    height = step * len(shares.runs) + BETWEEN_ROWS
    tops = [TOP + height * at for at in range(len(shares.rows))]
    return Figure(
        width=left + LONGEST + SHARE,
        height=TOP + height * len(shares.rows) + 6,
        left=left,
        right=left + LONGEST,
        bars=[
            _bar(one, slot, top + 4 + step * slot, scale)
            for top, row in zip(tops, shares.rows, strict=True)
            for slot, one in enumerate(row.runs)
            if one is not None
        ],
        labels=[Label(top + height / 2 + 2, row.label) for top, row in zip(tops, shares.rows, strict=True)],
        ticks=list(_ticks(left, scale)),
    )


def _bar(one: Efficiency, slot: int, y: float, scale: float) -> Bar:
    low, high = (one.share if bound is None else bound for bound in (one.low, one.high))
    return Bar(
        slot=slot,
        y=y,
        length=one.share * scale,
        low=low * scale,
        high=high * scale,
        words=units.percent(one.share, 1),
        title=f"{letter(slot)}: {share(one)} of {one.peak_is}; {one.case}",
    )


def _ticks(left: int, scale: float) -> Iterator[Label]:
    for step in range(STEPS + 1):
        yield Label(left + step / STEPS * scale, units.percent(step / STEPS))
