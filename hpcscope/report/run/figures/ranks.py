"""Times by number of ranks, with the chosen models."""

from collections.abc import Iterator

from hpcscope.findings.results import Run
from hpcscope.models.fitting.fit import Fit
from hpcscope.report.figure import (
    Figure,
    Plot,
    extent,
    log_axis,
    modeled,
    origins,
    ranks_axis,
    series_name,
    shown,
    table,
    title_words,
    with_intervals,
)
from hpcscope.report.order import level
from hpcscope.report.run.figures.curves import chosen_fits
from hpcscope.report.run.figures.grouping import MOST_SERIES, panels, series, series_factors, spread, swept, values
from hpcscope.report.run.results import results
from hpcscope.report.wording import definition, equation, points_shown
from hpcscope.statistics.summary import Summary

LEVELS = ("mpi", "operation", "algorithm", "application", "storage")
"""Levels whose benchmarks are drawn by number of ranks."""
_SIZES = 4


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the times of a benchmark by number of ranks if there are at least two rank counts."""
    if level(benchmark) not in LEVELS:
        return
    times = [case for case in results(run, benchmark) if case.unit == "s"]
    for name in dict.fromkeys(case.metric for case in times):
        group = [case for case in times if case.metric == name]
        if len(values(group, "ranks")) < 2:
            continue
        variable = swept(group)
        if variable is not None:
            chosen = spread(values(group, variable), _SIZES)
            group = [case for case in group if case.parameters[variable] in chosen]
        group = _varied(group)
        for index, part in enumerate(panels(group, "ranks") if group else []):
            apart = title_words(run.benchmarks, part, series_factors(group, "ranks"))
            yield _figure(run, part, f"{benchmark}-{name}-ranks-{index}", apart)


def _figure(run: Run, group: list[Summary], key: str, apart: list[str]) -> Figure:
    first, catalog = group[0], run.benchmarks
    metric = catalog.metric_label(first.metric, first.benchmark)
    names = series_factors(group, "ranks")
    traces: list[Plot] = []
    fits: list[Fit] = []
    for slot, line in enumerate(series(group, names)[:MOST_SERIES]):
        name = series_name(line[0], names, catalog, metric)
        fits_of_line = chosen_fits(run.models.fits, line[0], "ranks", "")
        fit = next((candidate for candidate in fits_of_line if candidate.metric == first.metric), None)
        fits += [fit] if fit else []
        points = ((case.ranks, case.estimate, f"{name}, {case.ranks} ranks: {shown(case)}") for case in line)
        traces.append(with_intervals(points, name, slot, joined=fit is None))
        traces += [modeled([at.x for at in fit.points], [at.fitted for at in fit.points], slot)] if fit else []
    counts = [int(value) for value in values(group, "ranks")]
    margin = 0.06 * (counts[-1] - counts[0])
    models = ", ".join(sorted({f"{equation(fit)} ({fit.source})" for fit in fits}))
    return Figure(
        key=key,
        title=", ".join([f"{metric.capitalize()} by number of ranks", *apart]),
        caption=f"{points_shown(group, definition(first.definition))}. "
        + (f"Lines show the chosen model: {models}." if fits else "Without a model, lines join the points."),
        traces=traces,
        layout={
            "xaxis": ranks_axis(counts, range=[counts[0] - margin, counts[-1] + margin]),
            "yaxis": log_axis(metric, extent(group), first.unit),
        },
        table=table(group, [*names, "ranks"], catalog),
        origins=origins(group),
    )


def _varied(group: list[Summary]) -> list[Summary]:
    """Keep the series with at least two rank counts."""
    lines = series(group, series_factors(group, "ranks"))
    return [case for line in lines if len({summary.ranks for summary in line}) > 1 for case in line]
