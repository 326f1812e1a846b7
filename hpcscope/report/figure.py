"""Figures of the reports: traces without colors, a caption and a table.

A trace names its `role` and the `slot` of its series in `meta`; the style of the report decides how they look.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hpcscope import units
from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.catalog import Catalog, phrase
from hpcscope.plan.case import Case, transport_words
from hpcscope.plan.placement import Placement
from hpcscope.report.order import factors, varying
from hpcscope.report.validity import MIXED, mark
from hpcscope.report.wording import definition, figure_heading
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary

LOWEST_SHARE = -1.0
"""Lower end of an axis of fractions."""

Plot = dict[str, Any]
"""A part of a figure, as JSON."""


@dataclass(frozen=True)
class Table:
    """The values of a figure as text."""

    columns: list[str]
    rows: list[list[str]]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, str]]) -> Table:
        """Return a table from rows that name the column of each cell; it has no columns if there are no rows."""
        found = list(rows)
        return cls([*found[0]] if found else [], [[*row.values()] for row in found])

    def without_empty(self) -> Table:
        """Return the table without its empty columns."""
        kept = [number for number, _ in enumerate(self.columns) if any(row[number] for row in self.rows)]
        return Table([self.columns[n] for n in kept], [[row[n] for n in kept] for row in self.rows])

    @property
    def mixes_states(self) -> bool:
        """Whether a value in it mixes states of the machine."""
        return any(MIXED in cell for row in self.rows for cell in row)


@dataclass(frozen=True)
class Figure:
    """One figure with its caption and table."""

    key: str
    """Its anchor on the page."""
    title: str
    caption: str
    """What the figure shows."""
    traces: list[Plot]
    layout: Plot
    table: Table
    origins: list[str]
    """Origins of its samples; any other than `measured` is shown."""
    wide: bool = field(default=False)
    surface: Plot = field(default_factory=dict)
    """The same data as a 3-D surface, drawn on request; empty if there is none."""


@dataclass(frozen=True)
class Mark:
    """One row of a panel: a value with its interval, in percent of the panel's width."""

    name: str
    shown: str
    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, name: str, shown: str, bounds: Iterable[float], end: float) -> Mark:
        """Return the row for a value and its bounds in a panel up to `end`; negative bounds are drawn at 0."""
        return cls(name, shown, *(round(100 * max(0.0, bound) / end, 2) for bound in bounds))


@dataclass(frozen=True)
class Panel:
    """Rows on a common scale that starts at 0."""

    head: str
    marks: list[Mark]


@dataclass(frozen=True)
class DotPlot:
    """Cases side by side as plain HTML, one panel for each size."""

    key: str
    title: str
    caption: str
    panels: list[Panel]
    table: Table
    origins: list[str]
    wide: bool = True


def number(value: float) -> float:
    """Round to six significant digits, more than any screen shows; whole numbers stay exact."""
    return value if value == round(value) else float(f"{value:.6g}")


def scatter(
    x: Iterable[float | None],
    y: Iterable[float | None],
    name: str = "",
    *,
    role: str = "points",
    slot: int | None = None,
    mode: str = "markers",
    text: Iterable[str] = (),
    hover: str = "%{text}",
    **further: Any,
) -> Plot:
    """Return points, or a line through them; None in `x` and `y` interrupts a line.

    `text`: hover text of each point, shown where `hover` refers to it. Without `text` and with the default
    `hover`, nothing is shown on hovering. A trace without a name is not in the legend.
    """
    words = list(text)
    return {
        "type": "scatter",
        "mode": mode,
        "x": [None if value is None else number(value) for value in x],
        "y": [None if value is None else number(value) for value in y],
        **({"name": name} if name else {"showlegend": False}),
        **({"text": words} if words else {}),
        **({"hovertemplate": hover} if words or hover != "%{text}" else {}),
        "meta": {"role": role} if slot is None else {"slot": slot, "role": role},
        **further,
    }


def estimates(x: Iterable[float], y: Iterable[Estimate], name: str, **further: Any) -> Plot:
    """Return points with their intervals as error bars; `further` is passed to `scatter`."""
    bounds = [estimate.bounds for estimate in y]
    whiskers = {
        "array": [number(high - value) for _, value, high in bounds],
        "arrayminus": [number(value - low) for low, value, _ in bounds],
    }
    return scatter(x, [value for _, value, _ in bounds], name, error_y=whiskers, **further)


def with_intervals(
    points: Iterable[tuple[float, Estimate, str]], name: str, slot: int, joined: bool = False
) -> Plot:
    """Return points with intervals and hover texts; a line joins them if no model is drawn through them."""
    found = list(points)
    return estimates(
        [place for place, _, _ in found],
        [value for _, value, _ in found],
        name,
        slot=slot,
        mode="lines+markers" if joined else "markers",
        text=[text for _, _, text in found],
    )


def modeled(x: Iterable[float | None], y: Iterable[float | None], slot: int, name: str = "") -> Plot:
    """Return the line of a model that was fitted to the points of a series."""
    return scatter(x, y, name, role="fit", slot=slot, mode="lines")


def band(pieces: Iterable[tuple[Sequence[float], Sequence[float], Sequence[float]]], name: str, slot: int) -> Plot:
    """Return the band of intervals behind a line; each piece consists of its x, lower bounds and upper bounds."""
    x: list[float | None] = []
    y: list[float | None] = []
    for places, low, high in pieces:
        x += [*places, *reversed(places), places[0], None]
        y += [*high, *reversed(low), high[0], None]
    return scatter(x, y, name, role="band", slot=slot, mode="lines", fill="toself")


def upright(meta: str, left: float, right: float | None = None) -> Plot:
    """Return a vertical line over the whole height of a figure or, up to `right`, a strip; `meta` is its style."""
    ends = {"x0": number(left), "x1": number(left if right is None else right)}
    return {"type": "line" if right is None else "rect", "yref": "paper", "meta": meta, **ends}


def origins(summaries: Iterable[Summary]) -> list[str]:
    """Return the origins of some summaries."""
    return sorted({summary.origin for summary in summaries})


def extent(summaries: Iterable[Summary]) -> list[float]:
    """Return the medians and the bounds of their intervals, which the axis of a figure must hold."""
    bounds = [bound for case in summaries for bound in (case.ci_low, case.ci_high, case.median)]
    return [bound for bound in bounds if bound is not None]


def shown(summary: Summary) -> str:
    """Return the median of a summary with its interval in words, and its mark; fractions in percent."""
    bounds = summary.median, summary.ci_low, summary.ci_high
    words = units.share(*bounds) if units.is_share(summary.metric) else units.interval(*bounds, summary.unit)
    return f"{words} {mark(summary)}".rstrip()


def label(catalog: Catalog, benchmark: str, name: str, value: Value) -> str:
    """Return one factor of a case in words: `2 ranks`, `mode synchronous`, `bound to sockets`."""
    if name == "ranks":
        return f"{value} rank{'' if value == 1 else 's'}"
    if name in ("placement", "transport"):
        return value_words(catalog, benchmark, name, value)
    declared = catalog[benchmark].parameter.get(name)
    return phrase(declared, name, value) or f"{declared.label if declared else name} {value}"


def title_words(catalog: Catalog, cases: Sequence[Case], names: Sequence[str]) -> list[str]:
    """Return in words those of the factors `names` that the cases share, without parameters at their defaults."""
    first, same = cases[0], varying(cases)[1]
    words = [
        catalog.differences(first.benchmark, {name: same[name]})
        if name in first.parameters
        else [label(catalog, first.benchmark, name, same[name])]
        for name in names
        if name in same
    ]
    return [word for group in words for word in group]


def _is_unsaid(catalog: Catalog, benchmark: str, name: str, value: Value) -> bool:
    """Return whether a factor need not be mentioned: the default transport, or a choice without words."""
    declared = catalog[benchmark].parameter.get(name)
    if name == "transport":
        return value == "default"
    return declared is not None and bool(declared.words) and not phrase(declared, name, value)


def value_words(catalog: Catalog, benchmark: str, name: str, value: Value) -> str:
    """Return the value of a factor for a cell under the factor's name: `1 MiB`, `shared memory`, `tuned`."""
    if name == "placement":
        return Placement.parse(str(value)).described
    if name == "transport":
        return transport_words(str(value))
    declared = catalog[benchmark].parameter.get(name)
    if declared is not None and declared.words and value in declared.choices:
        return phrase(declared, name, value) or str(value).replace("_", " ")
    return units.parameter(name, value).replace("_", " ")


def common_words(cases: Sequence[Case], catalog: Catalog) -> str:
    """Return in words the factors that several cases of a benchmark share; defaults are left out."""
    first, constant = cases[0], varying(cases)[1]
    words = catalog.differences(
        first.benchmark, {name: value for name, value in constant.items() if name in first.parameters}
    )
    words += [label(catalog, first.benchmark, "ranks", first.ranks)] if "ranks" in constant else []
    words += [
        label(catalog, first.benchmark, name, constant[name])
        for name, usual in (("transport", "default"), ("placement", "core"))
        if constant.get(name, usual) != usual
    ]
    return ", ".join(words)


def series_name(summary: Summary, names: Sequence[str], catalog: Catalog, otherwise: str) -> str:
    """Return the name of a summary's series: its factors `names`, and its origin unless it was measured.

    Factors that need not be mentioned are named only if no other factor would be.
    """
    chosen = {name: value for name, value in factors(summary).items() if name in names}
    said = [name for name, value in chosen.items() if not _is_unsaid(catalog, summary.benchmark, name, value)]
    words = [label(catalog, summary.benchmark, name, chosen[name]) for name in names if name in (said or chosen)]
    words += [summary.origin] if summary.origin != "measured" else []
    return ", ".join(words) or otherwise


def table(
    summaries: Sequence[Summary], names: Sequence[str], catalog: Catalog, with_definition: bool = False
) -> Table:
    """Return the table of a figure: the factors `names` of each summary and its values."""
    benchmark = summaries[0].benchmark if summaries else None
    columns = [catalog.parameter_label(name, benchmark) for name in names]
    columns += ["metric"] + (["definition"] if with_definition else []) + [figure_heading(summaries), "samples"]
    rows = []
    for summary in summaries:
        chosen = factors(summary)
        row = [
            value_words(catalog, summary.benchmark, name, chosen[name]) if name in chosen else "" for name in names
        ]
        row += [catalog.metric_label(summary.metric, summary.benchmark)]
        row += [definition(summary.definition)] if with_definition else []
        row += [shown(summary) if summary.valid else f"no result: {summary.reason}", str(summary.n)]
        rows.append(row)
    return Table(columns, rows)


def logarithmic(title: str, ticks: Sequence[float], texts: Sequence[str], low: float, high: float) -> Plot:
    """Return a logarithmic axis from its ticks with their texts, and the decimal logarithms of its ends."""
    names = {"tickvals": ticks, "ticktext": texts}
    return {"title": {"text": title}, "type": "log", **names, "range": [low, high]}


def log_axis(title: str, values: Iterable[float], unit: str, margin: float = 1.05) -> Plot:
    """Return a logarithmic axis whose ticks carry engineering units."""
    positive = [value for value in values if value > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 10.0)
    ticks = log_ticks(low, high, unit)
    texts = [tick(value, unit) for value in ticks]
    margin *= (high / low) ** 0.04
    return logarithmic(title, [*map(number, ticks)], texts, math.log10(low / margin), math.log10(high * margin))


def size_axis(title: str, values: Iterable[float]) -> Plot:
    """Return a logarithmic axis of sizes in bytes, with size 0 at the far left."""
    chosen = sorted(set(values))
    positive = [value for value in chosen if value > 0] or [1.0]
    low, high = positive[0], positive[-1]
    exponents = range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)
    stride = max(1, math.ceil(len(exponents) / 6))
    ticks = [2.0**exponent for exponent in exponents if exponent % stride == 0]
    places, texts = list(ticks), [units.size(value) if value >= 1 else "" for value in ticks]
    left = low
    if chosen and chosen[0] == 0:
        left = place(0.0, positive)
        places, texts = [left, *places], ["0 B", *texts]
    return logarithmic(title, places, texts, math.log10(left) - 0.15, math.log10(high) + 0.15)


def swept_axis(variable: str, title: str, values: Iterable[float]) -> Plot:
    """Return the axis of a parameter that was swept: of sizes in bytes, or of other numbers."""
    return size_axis(title, values) if variable.endswith("bytes") else count_axis(title, values)


def value_axis(metric: str, title: str, values: Iterable[float], unit: str) -> Plot:
    """Return the axis of a metric: of fractions, or logarithmic in its unit."""
    return share_axis(title, values) if units.is_share(metric) else log_axis(title, values, unit)


def count_axis(title: str, values: Iterable[float]) -> Plot:
    """Return a logarithmic axis of numbers other than bytes, such as matrix orders, and their ticks."""
    chosen = sorted({value for value in values if value > 0}) or [1.0]
    ticks = _apart(chosen)
    texts = [f"{value:g}" for value in ticks]
    return logarithmic(title, ticks, texts, math.log10(chosen[0]) - 0.1, math.log10(chosen[-1]) + 0.1)


def ranks_axis(counts: Sequence[int], **further: Any) -> Plot:
    """Return an axis of rank counts with a tick at each; `further`: other entries of the layout."""
    ticks = {"tickvals": list(counts), "ticktext": [str(count) for count in counts]}
    return {"title": {"text": "ranks"}, **ticks, **further}


def _apart(chosen: Sequence[float]) -> list[float]:
    """Drop values too close to their neighbor on a logarithmic axis, but keep the last."""
    least = (chosen[-1] / chosen[0]) ** 0.09
    kept: list[float] = [chosen[-1]]
    for value in reversed(chosen[:-1]):
        if kept[-1] / value >= least:
            kept.append(value)
    return sorted(kept)


def share_axis(title: str, values: Iterable[float]) -> Plot:
    """Return an axis in percent that contains 0 and 100 and does not extend below -100."""
    known = [0.0, 1.0, *values]
    low, high = max(min(known), LOWEST_SHARE), max(known)
    margin = 0.04 * (high - low)
    return {
        "title": {"text": title},
        "tickformat": ".0%",
        "range": [low - margin, high + margin],
        "zeroline": True,
    }


def place(value: float, values: Iterable[float]) -> float:
    """Return the position of a size on a logarithmic axis: 0 is drawn one step left of the smallest size."""
    return value if value > 0 else min((positive for positive in values if positive > 0), default=1.0) / 6


def log_ticks(low: float, high: float, unit: str = "") -> list[float]:
    """Return the coarsest ticks with at least three inside the range; for bytes, powers of two."""
    if unit in units.BYTES:
        powers = [2.0**power for power in range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)]
        return powers[:: -(-len(powers) // 6)]
    decades = [10.0**decade for decade in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    step = _step(high - low or high)
    choices = [
        decades,
        [factor * decade for decade in decades for factor in (1.0, 2.0, 5.0)],
        [index * step for index in range(max(1, math.floor(low / step)), math.ceil(high / step) + 1)],
    ]
    return next((ticks for ticks in choices if sum(low <= value <= high for value in ticks) >= 3), choices[-1])


def tick(value: float, unit: str) -> str:
    """Return the text of a tick with its engineering unit: `10 µs`."""
    factor, name = units.scale(unit, value)
    return f"{number(value / factor):g} {name}".strip()


def _step(span: float) -> float:
    raw = span / 4
    power: float = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * 0.999)


def filled(figures: list[Figure | DotPlot]) -> list[Figure | DotPlot]:
    """Widen figures that have no neighbor."""
    placed: list[Figure | DotPlot] = []
    second = False
    for index, figure in enumerate(figures):
        if figure.wide:
            second = False
            placed.append(figure)
            continue
        following = figures[index + 1] if index + 1 < len(figures) else None
        paired = following is not None and not following.wide
        placed.append(figure if second or paired else replace(figure, wide=True))
        second = not second and paired
    return placed
