"""Heat maps on a logarithmic scale with units."""

import math
from collections.abc import Sequence
from typing import Any

from hpcscope import units
from hpcscope.report.figure import Plot, log_ticks, number, tick

_NARROWEST = 1.3
"""Minimum ratio of the ends of the scale, so that noise does not look like a pattern."""
_PARTED = 40
"""Maximum number of cells in a row that are drawn with gaps between them."""


def cells(
    values: Sequence[Sequence[float | None]],
    hover: Sequence[Sequence[str]],
    written: Sequence[Sequence[str]] | None,
    unit: str = "s",
) -> Plot:
    """Return the cells by `places`; `values`, `hover` and `written` (texts in the cells) are lists of rows."""
    known = [value for row in values for value in row if value]
    low, high = scale(known)
    columns = len(values[0])
    trace: Plot = {
        "type": "heatmap",
        "x": list(range(columns)),
        "y": list(range(len(values))),
        "z": [[number(math.log10(value)) if value else None for value in row] for row in values],
        "zmin": number(math.log10(low)),
        "zmax": number(math.log10(high)),
        "hovertext": [list(row) for row in hover],
        "hovertemplate": "%{hovertext}",
        "colorbar": color_bar(low, high, unit),
        "xgap": 1 if columns <= _PARTED else 0,
        "meta": {"role": "heat"},
    }
    if written is not None:
        trace["text"] = [list(row) for row in written]
    return trace


def places(names: Sequence[str], title: str = "", most: int = 16, down: bool = False, **further: Any) -> Plot:
    """Return an axis with a place for each name, of which about `most` are written.

    `down`: the first name is at the upper end. `further`: other entries of the layout.
    """
    every = -(-len(names) // most)
    ends = [-0.5, len(names) - 0.5]
    return {
        **({"title": {"text": title}} if title else {}),
        "role": "category",
        "tickvals": list(range(0, len(names), every)),
        "ticktext": list(names[::every]),
        "range": ends[::-1] if down else ends,
        **further,
    }


def scale(known: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and the largest value of the scale."""
    low, high = min(known), max(known)
    widen = max(1.0, _NARROWEST / (high / low)) ** 0.5
    return low / widen, high * widen


def color_bar(low: float, high: float, unit: str = "s") -> Plot:
    """Return the ticks of a logarithmic scale."""
    rounded = [value for value in log_ticks(low, high, unit) if low <= value <= high]
    write = tick if rounded else units.quantity
    return {
        "tickvals": [number(math.log10(value)) for value in rounded or (low, high)],
        "ticktext": [write(value, unit) for value in rounded or (low, high)],
    }
