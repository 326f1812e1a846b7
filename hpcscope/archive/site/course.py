"""A plot of a result over time: its intervals, and lines where its level changed."""

import time
from collections.abc import Sequence

from hpcscope import units
from hpcscope.archive.index import FigureSeries
from hpcscope.archive.site.pieces import shown
from hpcscope.report.figure import Plot, log_axis, number, share_axis
from hpcscope.statistics.change_points import ChangePoint

MOST_POINTS = 1000
"""Maximum number of runs that are drawn, newest first."""
_TICKS = 5
_DAY_S = 86400.0


def plot(course: FigureSeries, changes: Sequence[ChangePoint], cluster: str) -> Plot:
    """Return the plot of a series for the page's script."""
    points = course.points[-MOST_POINTS:]
    first = len(course.points) - len(points)
    x = [round(point.started_unix_s / _DAY_S, 4) for point in points]
    low = [number(point.median if point.low is None else point.low) for point in points]
    high = [number(point.median if point.high is None else point.high) for point in points]
    days = [time.strftime("%Y-%m-%d", time.gmtime(point.started_unix_s)) for point in points]
    common = {"type": "scatter", "name": cluster, "legendgroup": cluster}
    metric = units.named(course.metric)
    band = {
        "x": [*x, *reversed(x), x[0]],
        "y": [*high, *reversed(low), high[0]],
        "mode": "lines",
        "fill": "toself",
        "hoverinfo": "skip",
        "showlegend": False,
        "meta": {"slot": 0, "role": "band"},
    }
    line = {
        "x": x,
        "y": [number(point.median) for point in points],
        "text": [f"{day}: {shown(course, point)}" for day, point in zip(days, points, strict=True)],
        "mode": "lines+markers",
        "hovertemplate": "%{text}",
        "meta": {"slot": 0, "role": "points"},
    }
    values = [value for value in (*low, *high) if value > 0] or [1.0]
    share = units.is_share(course.metric)
    return {
        "data": [common | band, common | line],
        "layout": {
            "xaxis": _time_axis(x),
            "yaxis": share_axis(metric, values) if share else log_axis(metric, values, course.unit),
            "shapes": [_line(x[change.first_after - first]) for change in changes if change.first_after >= first],
            "annotations": [],
        },
    }


def _line(x: float) -> Plot:
    return {"yref": "paper", "y0": 0, "y1": 1, "layer": "below", "type": "line", "x0": x, "x1": x, "meta": "break"}


def _time_axis(x: Sequence[float]) -> Plot:
    """Return an axis in days with dates as ticks."""
    low, high = min(x), max(x)
    margin = max(0.04 * (high - low), 0.02)
    within_days = high - low < _TICKS
    digits, words = (2, "%m-%d %H:%M") if within_days else (0, "%Y-%m-%d")
    ticks = sorted({round(low + (high - low) * step / _TICKS, digits) for step in range(_TICKS + 1)})
    return {
        "title": {"text": "time (UTC)" if within_days else "date"},
        "tickvals": ticks,
        "ticktext": [time.strftime(words, time.gmtime(day * _DAY_S)) for day in ticks],
        "range": [low - margin, high + margin],
    }
