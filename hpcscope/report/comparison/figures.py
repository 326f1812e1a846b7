"""The ratio B / A by size, one figure per benchmark: medians with interval bands, surfaces over rank counts."""

import math
from collections.abc import Hashable, Sequence
from statistics import median

from hpcscope import units
from hpcscope.comparison.comparison import ComparedCase, Comparison
from hpcscope.grouping import grouped
from hpcscope.report.comparison.rows import groups
from hpcscope.report.figure import Figure, Plot, Table, band, log_axis, place, scatter, swept_axis
from hpcscope.report.run.figures.grouping import FEWEST_POINTS, MOST_SERIES, swept
from hpcscope.report.run.figures.heat import cells
from hpcscope.report.run.figures.surfaces import WRITTEN, layout


def figures(comparison: Comparison) -> list[Figure]:
    """Return the figures of all benchmarks that were swept over a size, largest change first."""
    cases = [row.case for group in groups(comparison) for row in group.rows if row.case.ratio]
    found: list[Figure] = []
    for alike in sorted(grouped(cases, lambda case: case.benchmark).values(), key=_change, reverse=True):
        curves = _figure(alike)
        found.extend([*([curves] if curves else []), *surfaces(alike)])
    return found


def _change(cases: list[ComparedCase]) -> float:
    """Return the typical change of the cases: the median absolute logarithm of their ratios."""
    return median(abs(math.log(case.ratio)) for case in cases if case.ratio)


def _figure(cases: list[ComparedCase]) -> Figure | None:
    variable = swept(cases)
    if variable is None:
        return None
    by_size = sorted(cases, key=lambda case: float(case.parameters.get(variable, 0)))
    lines = grouped(by_size, lambda case: _name(case, variable))
    longest_first = sorted(lines.items(), key=lambda item: -len(item[1]))
    long = {name: line for name, line in longest_first if len(line) >= FEWEST_POINTS}
    drawn = dict(list(long.items())[:MOST_SERIES])
    if not drawn:
        return None
    xs = [float(case.parameters[variable]) for line in drawn.values() for case in line]
    ys = [bound for line in drawn.values() for case in line for bound in _bounds(case)]
    by = units.named(variable) + " size" * variable.endswith("_bytes")
    left = len(long) - len(drawn)
    return Figure(
        key=f"ratio-{cases[0].benchmark}",
        title=cases[0].label.partition(",")[0],
        caption="B / A with 95 % CIs as bands. Above the dashed line, times are worse and rates are better."
        + (f" Curves that are only in the tables below: {left}." if left else ""),
        traces=[
            scatter([place(min(xs), xs), max(xs)], [1, 1], "no change", role="limit", mode="lines"),
            *(
                trace
                for slot, (name, line) in enumerate(drawn.items())
                for trace in _traces(name, line, variable, xs, slot)
            ),
        ],
        layout={
            "xaxis": swept_axis(variable, by, xs),
            "yaxis": log_axis("B / A", [*ys, 1.0], ""),
        },
        table=Table.of(
            {"case": case.label, "B / A [95 %]": _shown(case)} for line in drawn.values() for case in line
        ),
        origins=sorted({origin for line in drawn.values() for case in line for origin in case.origins}),
    )


def _name(case: ComparedCase, variable: str) -> str:
    """Return the case in words without benchmark and size: `bandwidth, 2 ranks, TCP`."""
    size = units.parameter(variable, case.parameters.get(variable, 0))
    words = [word for word in case.label.split(", ")[1:] if not word.endswith(size)]
    return ", ".join([case.metric_words, *words])


def _bounds(case: ComparedCase) -> tuple[float, float, float]:
    """Return the lower bound, the ratio and the upper bound; the ratio replaces an unknown bound."""
    ratio = case.ratio or 1.0
    return case.ratio_low or ratio, ratio, case.ratio_high or ratio


def _shown(case: ComparedCase) -> str:
    return units.interval(case.ratio, case.ratio_low, case.ratio_high, "")


def _traces(name: str, line: list[ComparedCase], variable: str, xs: list[float], slot: int) -> list[Plot]:
    x = [place(float(case.parameters[variable]), xs) for case in line]
    low, middle, high = zip(*map(_bounds, line), strict=True)
    text = [f"{case.label}: {_shown(case)}" for case in line]
    points = scatter(x, middle, name, slot=slot, mode="lines+markers", text=text)
    return [band([(x, low, high)], name, slot), points]


def surfaces(cases: Sequence[ComparedCase]) -> list[Figure]:
    """Return a figure for each variant of a benchmark that both runs swept over sizes and rank counts."""
    variable = swept(cases)
    if variable is None:
        return []

    def variant(case: ComparedCase) -> Hashable:
        others = {name: value for name, value in case.parameters.items() if name != variable}
        return case.metric, case.transport, tuple(sorted(others.items()))

    variants = grouped((case for case in cases if variable in case.parameters), variant)
    figures = [_surface(alike, variable, number) for number, alike in enumerate(variants.values())]
    return [figure for figure in figures if figure is not None]


def _surface(variant: Sequence[ComparedCase], variable: str, number: int) -> Figure | None:
    grid = {(float(case.parameters[variable]), case.ranks): case for case in variant}
    sizes = sorted({size for size, _ in grid})
    counts = sorted({ranks for _, ranks in grid})
    if min(len(sizes), len(counts)) < FEWEST_POINTS or len(grid) < len(variant):
        return None
    rows = [[grid.get((size, ranks)) for size in sizes] for ranks in counts]
    by = units.named(variable) + " size" * variable.endswith("_bytes")
    first = variant[0]
    return Figure(
        key=f"ratio-{first.benchmark}-surface-{number}",
        title=f"{first.label.partition(',')[0]}: B / A by {by} and number of ranks",
        caption=f"{first.metric_words.capitalize()}: colors on a logarithmic scale. Intervals are in the table.",
        traces=[
            cells(
                [[case.ratio if case else None for case in row] for row in rows],
                [[f"{case.label}: {_shown(case)}" if case else "" for case in row] for row in rows],
                [[f"{case.ratio:.2f}" if case and case.ratio else "" for case in row] for row in rows]
                if len(sizes) <= WRITTEN
                else None,
                "",
            )
        ],
        layout=layout(by, [units.parameter(variable, size) for size in sizes], counts),
        table=Table.of(
            {"ranks": str(ranks), by: units.parameter(variable, size), "B / A [95 %]": _shown(case)}
            for (size, ranks), case in sorted(grid.items(), key=lambda item: (item[0][1], item[0][0]))
        ),
        origins=sorted({origin for case in variant for origin in case.origins}),
    )
