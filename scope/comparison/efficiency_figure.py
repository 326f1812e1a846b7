"""Layout of the bar chart of efficiencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scope import units
from scope.comparison.efficiency import Efficiencies, Efficiency
from scope.comparison.efficiency_table import share

LETTER = 7.2
"""Width of a letter of a label, measured with wide words."""
LONGEST = 480
"""Length of a bar that reaches the right end of the axis; its share is written behind it."""
SHARE = 110
"""Space for the share behind the longest bar."""
ROW, BAR = 40, 13
TOP = 34
STEPS = 5


@dataclass(frozen=True)
class Bar:
    """One efficiency; lengths in units of the drawing."""

    side: str
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
    """Return the bars of both runs, benchmark by benchmark, on an axis that ends at the peak or beyond it."""
    known = [one for row in shares.rows for one in (row.a, row.b) if one is not None]
    end = max([1.0, *(one.high or one.share for one in known)])
    scale = LONGEST / end
    left = round(LETTER * max((len(row.label) for row in shares.rows), default=0)) + 20
    return Figure(
        width=left + LONGEST + SHARE,
        height=TOP + ROW * len(shares.rows) + 6,
        left=left,
        right=left + LONGEST,
        bars=[
            _bar(one, side, TOP + ROW * at + 4 + (BAR + 2) * place, scale)
            for at, row in enumerate(shares.rows)
            for place, (side, one) in enumerate((("a", row.a), ("b", row.b)))
            if one is not None
        ],
        labels=[Label(TOP + ROW * at + ROW / 2 + 2, row.label) for at, row in enumerate(shares.rows)],
        ticks=list(_ticks(left, scale)),
    )


def _bar(one: Efficiency, side: str, y: float, scale: float) -> Bar:
    low, high = (one.share if bound is None else bound for bound in (one.low, one.high))
    return Bar(
        side=side,
        y=y,
        length=one.share * scale,
        low=low * scale,
        high=high * scale,
        words=units.percent(one.share, 1),
        title=f"{side.upper()}: {share(one)} of {one.peak_is}; {one.case}",
    )


def _ticks(left: int, scale: float) -> Iterator[Label]:
    for step in range(STEPS + 1):
        yield Label(left + step / STEPS * scale, units.percent(step / STEPS))
