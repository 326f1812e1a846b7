"""A figure for a paper, one column wide: results by size or number of ranks, drawn by matplotlib.

Each page shows the first of the chosen metrics of a benchmark. Lines are medians, bands their intervals.
Several runs share a page.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.report.figure import Figure, Plot
from hpcscope.report.run.figures import curves
from hpcscope.report.run.results import results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FORMATS = ("pdf", "svg", "png")
WIDTH_IN, HEIGHT_IN, LEGEND_ROW_IN = 3.4, 2.3, 0.13
"""Width of a column in a two-column paper, height without the legend, and height of a legend row, in inches."""
MOST_OF_TWO = 26
"""Maximum length of names of which two fit into a row of the legend."""
COLORS = ("#0072b2", "#d55e00", "#009e73", "#b8528f", "#3aa2dd", "#c98500", "#5b4b9a", "#3b3f44")
"""Distinguishable with every kind of color vision (after Okabe and Ito 2008); markers differ, too."""
MARKERS = "osD^Pv*h"
STYLE: dict[Any, Any] = {
    "font.size": 7.5,
    "font.family": "sans-serif",
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.2,
    "grid.linewidth": 0.3,
    "pdf.fonttype": 42,  # embedded fonts, which publishers accept
    "svg.fonttype": "none",
    "svg.hashsalt": "scope",
}
ZERO = "0 B"
"""Text of the tick at which a logarithmic axis draws size 0."""


def figures(runs: Mapping[str, Run]) -> list[Figure]:
    """Return the curves of the runs' results; `runs` maps names to runs. UsageError if nothing was swept."""
    benchmarks = dict.fromkeys(case.benchmark for run in runs.values() for case in run.headlines)
    pages = [page for name in benchmarks for page in _of_benchmark(runs, name)]
    if not pages:
        raise UsageError(f"{', '.join(runs)}: has no curve of these results; a curve needs three sizes or more")
    return pages


def _of_benchmark(runs: Mapping[str, Run], benchmark: str) -> list[Figure]:
    drawn = {
        name: {page.key: page for page in curves.figures(run, benchmark)}
        for name, run in runs.items()
        if benchmark in run.benchmarks and results(run, benchmark)
    }
    first = next((results(run, benchmark)[0].metric for name, run in runs.items() if name in drawn), "")
    keys = dict.fromkeys(
        key for pages in drawn.values() for key in pages if key.startswith(f"{benchmark}-{first}-")
    )
    return [_overlaid({name: pages[key] for name, pages in drawn.items() if key in pages}, key) for key in keys]


def _overlaid(pages: Mapping[str, Figure], key: str) -> Figure:
    """Return one page with the lines of all pages; with several runs, each line is named after its run."""
    first, *others = pages.values()
    if not others:
        return first
    traces: list[Plot] = []
    for name, page in pages.items():
        taken = len({trace["meta"]["slot"] for trace in traces if "slot" in trace["meta"]})
        series = len({trace.get("name") for trace in page.traces if trace["meta"]["role"] == "points"})
        for trace in page.traces:
            if trace["meta"]["role"] == "limit":
                continue  # the first run's limit is enough
            meta = trace["meta"] | ({"slot": trace["meta"]["slot"] + taken} if "slot" in trace["meta"] else {})
            label = f"{name}, {trace['name']}" if series > 1 and "name" in trace else name
            traces.append(trace | {"meta": meta} | ({"name": label} if "name" in trace else {}))
    traces += [trace for trace in first.traces if trace["meta"]["role"] == "limit"]
    layout = first.layout | {
        axis: _joined([page.layout[axis] for page in pages.values()]) for axis in ("xaxis", "yaxis")
    }
    return Figure(key, first.title, first.caption, traces, layout, first.table, first.origins)


def _joined(axes: Sequence[Plot]) -> Plot:
    """Return the union of several axes of one quantity: the whole range and all ticks."""
    ranges = [axis["range"] for axis in axes]
    ticks = {
        value: text
        for axis in axes
        for value, text in zip(axis.get("tickvals", ()), axis.get("ticktext", ()), strict=True)
    }
    whole = [min(low for low, _ in ranges), max(high for _, high in ranges)]
    return axes[0] | {"range": whole, "tickvals": list(ticks), "ticktext": list(ticks.values())}


def drawing(page: Figure) -> Drawing:
    """Draw a page; UsageError if matplotlib is not installed."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Drawing
    except ImportError as error:
        raise UsageError("matplotlib is not installed; pip install -r requirements/figure.txt") from error
    with mpl.rc_context(STYLE):
        made = Drawing(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
        axes = made.add_subplot()
        _frame(axes, page)
        for trace in page.traces:
            _draw(axes, trace)
        axes.set_title(page.title, loc="left", fontsize=7.5, wrap=True)
        named = axes.get_legend_handles_labels()[1]
        columns = 1 if max(map(len, named), default=0) > MOST_OF_TWO else 2
        if len(named) > 1:
            made.legend(loc="outside lower left", frameon=False, fontsize=6.5, ncols=columns)
            made.set_figheight(HEIGHT_IN + LEGEND_ROW_IN * math.ceil(len(named) / columns))
        if page.origins != ["measured"]:
            axes.text(0.99, 0.01, ", ".join(page.origins), transform=axes.transAxes, ha="right", va="bottom")
    return made


def _frame(axes: Axes, page: Figure) -> None:
    for name in ("x", "y"):
        layout = page.layout[f"{name}axis"]
        log = layout.get("type") == "log"
        axes.set(**{f"{name}scale": "log" if log else "linear", f"{name}label": layout["title"]["text"]})
        if "tickvals" in layout:
            axes.set(**{f"{name}ticks": layout["tickvals"], f"{name}ticklabels": layout["ticktext"]})
            getattr(axes, f"{name}axis").set_ticks([], minor=True)
        low, high = layout["range"]
        axes.set(**{f"{name}lim": (10**low, 10**high) if log else (low, high)})  # ticks widen what is shown
    axes.grid(visible=True, color="#cccccc")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for shape in page.layout.get("shapes", ()):
        if shape["type"] == "line" and shape["x0"] == shape["x1"]:
            axes.axvline(shape["x0"], color="#888888", linewidth=0.6, linestyle=(0, (2, 2)))


def _draw(axes: Axes, trace: Plot) -> None:
    role, slot = trace["meta"]["role"], trace["meta"].get("slot", 0)
    color = COLORS[slot % len(COLORS)]
    x, y = ([math.nan if value is None else value for value in trace[name]] for name in ("x", "y"))
    if role == "band":
        axes.fill(x, y, color=color, alpha=0.18, linewidth=0)
    elif role == "limit":
        axes.plot(x, y, color="#1d2125", linestyle="--", label=trace.get("name", "limit"))
    elif role == "points":
        axes.plot(x, y, color=color, marker=MARKERS[slot % len(MARKERS)], label=trace.get("name"))


def written(pages: Sequence[Figure], kind: str) -> bytes:
    """Return the pages as a file: a PDF has one sheet per page; the other formats hold a single page."""
    if kind != "pdf" and len(pages) != 1:
        titles = "; ".join(page.title for page in pages[:8])
        raise UsageError(
            f"{kind}: must have one figure, found {len(pages)} ({titles}); choose one by KEY=VALUE, or write a PDF"
        )
    drawn = [drawing(page) for page in pages]
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages

    file = io.BytesIO()
    with rc_context(STYLE):  # the style for text in a file takes effect when the file is written
        if kind != "pdf":
            drawn[0].savefig(file, format=kind, dpi=300, metadata={"Date": None} if kind == "svg" else None)
        else:
            with PdfPages(file, metadata={"CreationDate": None}) as sheets:
                for figure in drawn:
                    sheets.savefig(figure)
    return file.getvalue()


def table(pages: Sequence[Figure]) -> str:
    """Return the data of the pages as comma-separated values: exact sizes, medians and interval bounds."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for page in pages:
        titles = [page.layout[axis]["title"]["text"] for axis in ("xaxis", "yaxis")]
        lines.writerow(["series", *titles, "low", "high"])
        for trace in page.traces:
            if trace["meta"]["role"] == "points":
                lines.writerows([trace.get("name", ""), *values] for values in _points(page, trace))
    return text.getvalue()


def _points(page: Figure, trace: Plot) -> Iterator[tuple[float, float, float, float]]:
    axis = page.layout["xaxis"]
    places = zip(axis.get("tickvals", ()), axis.get("ticktext", ()), strict=True)
    zero = next((place for place, word in places if word == ZERO), math.nan)
    ends: dict[float, tuple[float, float]] = {}
    for band in page.traces:
        if band["meta"] == {"slot": trace["meta"].get("slot"), "role": "band"}:
            for x, y in zip(band["x"], band["y"], strict=True):
                if x is not None:
                    low, high = ends.get(x, (y, y))
                    ends[x] = (min(low, y), max(high, y))
    for x, y in zip(trace["x"], trace["y"], strict=True):
        if x is not None and y is not None:
            size = 0 if math.isclose(x, zero, rel_tol=1e-5) else x
            yield int(size) if size == int(size) else size, y, *ends.get(x, (y, y))
