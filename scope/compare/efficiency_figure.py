"""Where the bars of the figure of efficiencies stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scope.compare.efficiency import Efficiencies, Efficiency
from scope.compare.efficiency_table import share

LEFT = 390
"""Where bars begin; what stands before them is their benchmark."""
LONGEST = 480
"""The bar of the right end of the axis. Behind it stands the share."""
WIDTH = 1100
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
    """What the page draws."""

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
    return Figure(
        width=WIDTH,
        height=TOP + ROW * len(shares.rows) + 6,
        left=LEFT,
        right=LEFT + LONGEST,
        bars=[
            _bar(one, side, TOP + ROW * at + 4 + (BAR + 2) * place, scale)
            for at, row in enumerate(shares.rows)
            for place, (side, one) in enumerate((("a", row.a), ("b", row.b)))
            if one is not None
        ],
        labels=[Label(TOP + ROW * at + ROW / 2 + 2, row.label) for at, row in enumerate(shares.rows)],
        ticks=list(_ticks(scale)),
    )


def _bar(one: Efficiency, side: str, y: float, scale: float) -> Bar:
    low, high = (one.share if bound is None else bound for bound in (one.low, one.high))
    return Bar(
        side=side,
        y=y,
        length=one.share * scale,
        low=low * scale,
        high=high * scale,
        words=f"{one.share:.1%}",
        title=f"{side.upper()}: {share(one)} of {one.peak_is}; {one.case}",
    )


def _ticks(scale: float) -> Iterator[Label]:
    for step in range(STEPS + 1):
        yield Label(LEFT + step / STEPS * scale, f"{step / STEPS:.0%}")
