"""Curves with a line for each run (thesis, Fig. 7.12; PARAM 10000, Figs. 1 to 11)."""

from collections import defaultdict
from collections.abc import Sequence
from math import inf, log

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.comparison.compare import Side
from hpcscope.comparison.letters import letter
from hpcscope.comparison.published import beside
from hpcscope.comparison.side_by_side import SideBySide
from hpcscope.models.published.machines import PublishedMachine
from hpcscope.report.figure import Figure, Table, extent, origins, shown, swept_axis, value_axis
from hpcscope.report.order import case_key, factors
from hpcscope.report.run.figures.curves import points_and_band
from hpcscope.report.run.figures.grouping import FEWEST_POINTS, MOST_SERIES, swept
from hpcscope.report.wording import points_shown
from hpcscope.statistics.summary import Summary

Line = tuple[int, list[Summary]]
"""The index of a run, and its results by size."""
_MOST_OF_ONE = 4
"""Maximum number of further curves per metric of a benchmark; all other cases are only in the table of cases."""


def curves(
    side_by_side: SideBySide, sides: Sequence[Side], historic: Sequence[PublishedMachine] = ()
) -> list[Figure]:
    """Return figures of each metric that two or more runs swept alike, each benchmark's first figure first.

    A historic machine counts as a run.
    """
    names = [*side_by_side.runs, *(f"{published_machine.name}, published" for published_machine in historic)]
    groups: dict[tuple[str, str], list[tuple[int, Summary]]] = defaultdict(list)
    for number, side in enumerate(sides):
        for summary in sorted(side.summaries.values(), key=case_key):
            if summary.is_headline:
                groups[summary.benchmark, summary.metric].append((number, summary))
    for number, machine in enumerate(historic, start=len(sides)):
        for case in sorted(beside(machine, sides), key=case_key):
            groups[case.benchmark, case.metric].append((number, case))
    first: list[Figure] = []
    further: list[Figure] = []
    seen: set[str] = set()
    for (benchmark, metric), group in sorted(groups.items(), key=lambda item: case_key(item[1][0][1])):
        catalog = next(side.catalog for side in sides if benchmark in side.catalog)
        drawn = _of_metric(group, names, side_by_side.baseline, catalog, f"{benchmark}-{metric}")
        if drawn and benchmark not in seen:
            seen.add(benchmark)
            first.append(drawn.pop(0))
        further += drawn[:_MOST_OF_ONE]
    return first + further


def _of_metric(
    group: list[tuple[int, Summary]], names: Sequence[str], baseline: int, catalog: Catalog, key: str
) -> list[Figure]:
    """Return the figures of a metric, one for each combination of the other factors, longest curves first."""
    variable = swept([case for _, case in group])
    if variable is None:
        return []
    alike: dict[tuple[object, ...], dict[int, list[Summary]]] = defaultdict(lambda: defaultdict(list))
    for number, summary in group:
        kept = tuple((name, value) for name, value in factors(summary).items() if name != variable)
        if variable in summary.parameters:
            alike[kept][number].append(summary)
    figures = []
    for runs in alike.values():
        lines = [(number, line) for number, line in runs.items() if len(line) >= FEWEST_POINTS]
        if len(lines) > 1:
            figures.append(lines)
    figures.sort(key=lambda lines: -sum(len(line) for _, line in lines))
    return [
        _figure(lines, variable, names, _chosen(lines, variable, baseline), catalog, f"{key}-{at}")
        for at, lines in enumerate(figures)
    ]


def _figure(
    lines: list[Line], variable: str, names: Sequence[str], drawn: list[Line], catalog: Catalog, key: str
) -> Figure:
    summaries = [case for _, line in drawn for case in line]
    first = summaries[0]
    label = first.without(catalog, variable).label
    xs = [float(summary.parameters[variable]) for summary in summaries]
    metric = catalog.metric_label(first.metric, first.benchmark)
    by = catalog.parameter_label(variable, first.benchmark)
    left_out = len(lines) - len(drawn)
    return Figure(
        key=key,
        title=f"{label[:1].upper()}{label[1:]}: {metric}",
        caption=f"{points_shown(summaries, bands=True)}; {first.better} is better."
        + (f" The table also has {units.count(left_out, 'run')} with smaller differences." if left_out else ""),
        traces=[
            trace
            for number, line in drawn
            for trace in points_and_band(
                line, variable, xs, number, f"{letter(number)} {names[number]}", (), joined=True
            )
        ],
        layout={
            "xaxis": swept_axis(variable, by, xs),
            "yaxis": value_axis(first.metric, metric, extent(summaries), first.unit),
        },
        table=_table(lines, variable, by),
        origins=origins(summaries),
    )


def _chosen(lines: list[Line], variable: str, baseline: int) -> list[Line]:
    """Return as many lines as one figure can show: the baseline's line and the lines farthest from it."""
    if len(lines) <= MOST_SERIES:
        return lines
    reference = next((line for number, line in lines if number == baseline), lines[0][1])
    at = {case.parameters[variable]: case.median for case in reference}

    def distance(line: Line) -> float:
        """Return the mean absolute logarithm of the line's ratios to the baseline; 0 for the baseline itself."""
        medians = [(case.median, at.get(case.parameters[variable])) for case in line[1]]
        ratios = [abs(log(mine / its)) for mine, its in medians if mine and its and mine * its > 0]
        return sum(ratios) / len(ratios) if ratios else inf

    kept = sorted((line for line in lines if line[1] is not reference), key=distance)[1 - MOST_SERIES :]
    return [line for line in lines if line[1] is reference or line in kept]


def _table(lines: list[Line], variable: str, by: str) -> Table:
    """Return a row for each size with a column for each run."""
    cells = {number: {case.parameters[variable]: shown(case) for case in line} for number, line in lines}
    sizes = sorted({size for line in cells.values() for size in line}, key=lambda size: float(size))
    return Table(
        [by, *(letter(number) for number in cells)],
        [[units.parameter(variable, size), *(line.get(size, "–") for line in cells.values())] for size in sizes],
    )
