"""Times, and rates of files, by size and number of ranks: heat maps, and 3-D surfaces of times."""

import math
from collections.abc import Iterable, Iterator, Sequence

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.models.fitting.fit import Fit
from hpcscope.report.figure import Figure, Plot, log_ticks, number, origins, place, shown, table, tick, title_words
from hpcscope.report.order import level
from hpcscope.report.run.figures.curves import chosen_fits
from hpcscope.report.run.figures.grouping import series, series_factors, swept, values
from hpcscope.report.run.figures.heat import cells, places, scale
from hpcscope.report.run.results import choice_key, results
from hpcscope.report.wording import definition, equation, model
from hpcscope.statistics.summary import Summary

_UNITS = {"mpi": "s", "operation": "s", "storage": "B/s"}
"""The levels that are drawn, with the unit of the drawn metrics."""
_FEWEST = 3
"""Minimum number of sizes and of rank counts; for files, two rank counts suffice."""
WRITTEN = 9
"""Maximum number of sizes at which the cells contain the values."""

Grid = dict[tuple[float, int], Summary]
"""Summaries by size and number of ranks."""


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the time or rate of each variant that was swept over both sizes and ranks."""
    unit = _UNITS.get(level(benchmark), "")
    usable = [case for case in results(run, benchmark) if case.unit == unit]
    for name in dict.fromkeys(case.metric for case in usable):
        times = [case for case in usable if case.metric == name]
        variable = swept(times)
        if variable is None:
            continue
        factors = [factor for factor in series_factors(times, variable) if factor != "ranks"]
        groups = sorted(series(times, factors), key=lambda group: choice_key(run.benchmarks, group[0]))
        for index, group in enumerate(groups):
            counts = len(values(group, "ranks")) + (unit != "s")
            if min(len(values(group, variable)), counts) >= _FEWEST:
                apart = title_words(run.benchmarks, group, factors)
                yield _figure(run, group, variable, f"{benchmark}-{name}-surface-{index}", apart)


def _figure(run: Run, group: list[Summary], variable: str, key: str, apart: list[str]) -> Figure:
    first, catalog = group[0], run.benchmarks
    metric = catalog.metric_label(first.metric, first.benchmark)
    by = catalog.parameter_label(variable, first.benchmark)
    sizes = [float(value) for value in values(group, variable)]
    counts = [int(value) for value in values(group, "ranks")]
    grid = {(float(case.parameters[variable]), case.ranks): case for case in group}
    fits = chosen_fits(run.models.fits, first, "message_bytes_and_ranks", variable)
    fit = next((candidate for candidate in fits if candidate.metric == first.metric), None)
    fitted = {(point.x, point.ranks or 0): point.fitted for point in fit.points} if fit else {}
    ticks = [units.parameter(variable, value) for value in values(group, variable)]
    return Figure(
        key=key,
        title=", ".join([f"{metric.capitalize()} by {by} and number of ranks", *apart]),
        caption=_caption(first, fit) if first.unit == "s" else _fastest(group, variable),
        traces=[_cells(grid, sizes, counts, fitted)],
        layout=layout(by, ticks, counts),
        surface=_surface(grid, sizes, counts, fitted, ticks, variable, by) if first.unit == "s" else {},
        table=table(group, ["ranks", variable], run.benchmarks),
        origins=origins(group),
    )


def layout(by: str, sizes: Sequence[str], counts: Sequence[int]) -> Plot:
    """Return the layout of cells by size and number of ranks; `by`: the name of the sizes."""
    return {
        "height": max(260, 110 + 30 * len(counts)),
        "xaxis": places(sizes, by, most=len(sizes)),
        "yaxis": places([str(count) for count in counts], "ranks", most=len(counts)),
    }


def _cells(
    grid: Grid, sizes: Sequence[float], counts: Sequence[int], fitted: dict[tuple[float, int], float]
) -> Plot:
    rows = [[grid.get((size, count)) for size in sizes] for count in counts]
    hover = [[_hover(case, fitted.get((size, count))) for case, size in zip(row, sizes, strict=True)]
             for row, count in zip(rows, counts, strict=True)]  # fmt: skip
    written = [[units.quantity(case.median, case.unit) if case else "" for case in row] for row in rows]
    return cells(
        [[case.median if case else None for case in row] for row in rows],
        hover,
        written if len(sizes) <= WRITTEN else None,
        next(iter(grid.values())).unit,
    )


def _hover(case: Summary | None, fitted: float | None) -> str:
    if case is None:
        return ""
    model_says = f", model {units.quantity(fitted, case.unit)}" if fitted is not None else ""
    return f"{case.ranks} ranks: {shown(case)}{model_says}"


def _surface(
    grid: Grid,
    sizes: Sequence[float],
    counts: Sequence[int],
    fitted: dict[tuple[float, int], float],
    ticks: Sequence[str],
    variable: str,
    by: str,
) -> Plot:
    """Return the 3-D plot: the measured points, and a surface of the model or, without one, of the points."""
    across = [math.log2(place(size, sizes)) for size in sizes]
    measured = {at: case.median for at, case in grid.items() if case.median}
    low, high = scale([*measured.values(), *(value for value in fitted.values() if value > 0)])
    surface = fitted or measured
    heights = [[_log10(surface.get((size, count))) for size in sizes] for count in counts]
    depth = [math.log2(count) for count in counts]
    heat = {"cmin": number(math.log10(low)), "cmax": number(math.log10(high))}
    points = [(size, count, case) for (size, count), case in sorted(grid.items())]
    upward = log_ticks(low, high)
    stride = -(-len(sizes) // 8)
    return {
        "data": [
            heat
            | {
                "type": "surface",
                "x": [number(x) for x in across],
                "y": [number(y) for y in depth],
                "z": heights,
                "meta": {"role": "surface"},
            },
            {
                "type": "scatter3d",
                "mode": "markers",
                "x": [number(across[sizes.index(size)]) for size, _, _ in points],
                "y": [number(math.log2(count)) for _, count, _ in points],
                "z": [_log10(case.median) for _, _, case in points],
                "text": [
                    f"{units.parameter(variable, case.parameters[variable])}, {_hover(case, None)}"
                    for _, _, case in points
                ],
                "hovertemplate": "%{text}",
                "meta": {"role": "points3d"},
            },
        ],
        "layout": {
            "height": 460,
            "scene": {
                "xaxis": _axis(by, across[::stride], ticks[::stride]),
                "yaxis": _axis("ranks", depth, [str(count) for count in counts]),
                "zaxis": _axis("time", map(math.log10, upward), [tick(value, "s") for value in upward]),
            },
        },
    }


def _axis(title: str, places: Iterable[float], texts: Sequence[str]) -> Plot:
    return {"title": {"text": title}, "tickvals": [*map(number, places)], "ticktext": list(texts)}


def _log10(value: float | None) -> float | None:
    return number(math.log10(value)) if value and value > 0 else None


def _caption(first: Summary, fit: Fit | None) -> str:
    head = f"Medians ({definition(first.definition)}); colors on a logarithmic scale. "
    if fit is None:
        drawn = "No model of size and ranks was fitted, so the 3-D surface joins the measured points."
    else:
        drawn = (
            f"In the 3-D view, points are measured and the surface is the model: {model(fit.model)}, "
            f"{equation(fit)} ({fit.source})."
        )
    return f"{head}{drawn} Contour lines join equal times, as labeled on the axis."


def _fastest(group: Sequence[Summary], variable: str) -> str:
    best = max(group, key=lambda case: case.median or 0.0)
    size = units.parameter(variable, best.parameters[variable])
    return (
        f"Medians ({definition(best.definition)}); colors on a logarithmic scale."
        f" The highest, {shown(best)}, comes from {units.count(best.ranks, 'rank')} with {size}."
    )
