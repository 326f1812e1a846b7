"""How times grow, as drawings without a script: medians with their intervals, and the laws through them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scope.programs.campaign.scaling import Law, curve
from scope.report.figure import log_ticks, tick

WIDTH, HEIGHT = 430, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 10, 34
STEPS = 60
SLOTS = {"wall_s": 7, "elapsed_s": 7, "compute_s": 0, "mpi_s": 1}
"""The color of each time."""


@dataclass(frozen=True)
class Dot:
    """A median with its interval, in pixels."""

    x: float
    y: float
    low: float
    high: float
    title: str


@dataclass(frozen=True)
class Series:
    """A time and its law."""

    name: str
    slot: int
    dots: list[Dot]
    path: str


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """The times of otherwise equal points over one factor; both axes are logarithmic."""

    title: str
    across: str
    series: list[Series]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    bottom: int = HEIGHT - BOTTOM
    right: int = WIDTH - RIGHT


def charts(laws: Sequence[Law], named: Callable[[Law], str], names: dict[str, str]) -> list[Chart]:
    """Return a drawing for each factor and each choice of all others; `named` names the choice."""
    groups: dict[tuple[str, str], list[Law]] = {}
    for law in laws:
        groups.setdefault((law.variable, law.held.key), []).append(law)
    return [_chart(group, named(group[0]), names) for group in groups.values()]


def _chart(group: Sequence[Law], title: str, names: dict[str, str]) -> Chart:
    xs = sorted({point.x for law in group for point in law.points})
    measured = [point.measured_s for law in group for point in law.points]
    ys = [value for each in measured for value in (each.value, each.low, each.high) if value and value > 0]
    across = _scale(xs[0], xs[-1], LEFT + 14, WIDTH - RIGHT - 14)
    up = _scale(min(ys), max(ys), HEIGHT - BOTTOM - 8, TOP + 8)
    return Chart(
        title=title,
        across="processes" if group[0].variable == "ranks" else group[0].variable,
        series=[_series(law, across, up, names[law.feature]) for law in group],
        x_ticks=[Tick(across(value), f"{value:g}") for value in _spaced(xs, across)],
        y_ticks=[
            Tick(up(value), tick(value, "s"))
            for value in log_ticks(min(ys), max(ys))
            if TOP <= up(value) <= HEIGHT - BOTTOM
        ],
    )


def _series(law: Law, across: Callable[[float], float], up: Callable[[float], float], name: str) -> Series:
    dots = [
        Dot(
            across(point.x),
            up(point.measured_s.value),
            up(point.measured_s.low or point.measured_s.value),
            up(point.measured_s.high or point.measured_s.value),
            f"{name}: {tick(point.measured_s.value, 's')} at {point.x:g}",
        )
        for point in law.points
    ]
    fine = np.geomspace(law.points[0].x, law.points[-1].x, STEPS)
    says = curve(law, fine)
    corners = [
        f"{across(x):.1f},{min(max(up(y), TOP), HEIGHT - BOTTOM):.1f}"
        for x, y in zip(fine.tolist(), says.tolist(), strict=True)
        if y > 0
    ]
    return Series(name, SLOTS[law.feature], dots, "" if law.reason else " ".join(corners))


def _scale(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    """Return the position of a value between two pixels, on a logarithmic scale."""
    span = math.log(high / low) or 1.0
    return lambda value: begin + (end - begin) * math.log(value / low) / span


def _spaced(values: Sequence[float], across: Callable[[float], float], least: float = 34.0) -> list[float]:
    """Leave out values whose marks would touch."""
    kept: list[float] = []
    for value in values:
        if not kept or across(value) - across(kept[-1]) >= least:
            kept.append(value)
    return kept
