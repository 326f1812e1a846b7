"""Stacked bars of the parts of a time, with one row for each case or rank."""

from collections.abc import Sequence

from hpcscope import units
from hpcscope.report.figure import Plot, number


def bars(name: str, slot: int, labels: Sequence[str], seconds: Sequence[float]) -> Plot:
    """Return the bars of one part, from its name, its style slot and its time in s in each row."""
    return {
        "type": "bar",
        "orientation": "h",
        "y": list(labels),
        "x": [number(value) for value in seconds],
        "text": [f"{name}: {units.quantity(value, 's')}" for value in seconds],
        "textposition": "none",
        "hovertemplate": "%{y}\n%{text}",
        "name": name,
        "meta": {"slot": slot, "role": "bar"},
    }


def layout(rows: int, axis: Plot, share: bool) -> Plot:
    """Return the layout of stacked rows; with `share`, each row adds up to 100 %."""
    return {
        "barmode": "stack",
        **({"barnorm": "percent"} if share else {}),
        "height": 110 + 26 * rows,
        "xaxis": axis | ({"ticksuffix": " %", "range": [0, 100]} if share else {"rangemode": "tozero"}),
        "yaxis": {"type": "category", "autorange": "reversed", "role": "category"},
    }
