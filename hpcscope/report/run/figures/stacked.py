"""Stacked bars of the parts of a time, with one row for each case or rank."""

from collections.abc import Sequence

from hpcscope import units
from hpcscope.report.figure import Plot, number


def bars(name: str, slot: int, labels: Sequence[str], seconds: Sequence[float]) -> Plot:
    """Return the bars of one part, from its name, its style slot and its time in s in each row."""
    return {
        "type": "bar",
        "y": list(labels),
        "x": [number(value) for value in seconds],
        "text": [f"{name}: {units.quantity(value, 's')}" for value in seconds],
        "hovertemplate": "%{y}\n%{text}",
        "name": name,
        "meta": {"slot": slot, "role": "bar"},
    }


def layout(rows: int, title: str = "time in s", share: bool = False) -> Plot:
    """Return the layout of stacked rows; with `share`, each row adds up to 100 %."""
    return {
        **({"barnorm": "percent"} if share else {}),
        "height": 110 + 26 * rows,
        "xaxis": {"title": {"text": title}}
        | ({"ticksuffix": " %", "range": [0, 100]} if share else {"rangemode": "tozero"}),
        "yaxis": {"type": "category", "autorange": "reversed", "role": "category"},
    }
