"""Residuals of the chosen models."""

from collections.abc import Iterator, Sequence

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.findings.results import Run
from hpcscope.models.fitting.fit import Fit, FitPoint, NotFitted, Variable
from hpcscope.report.figure import Figure, Plot, Table, count_axis, origins, place, scatter, size_axis
from hpcscope.report.wording import model

_MOST = 8
"""Maximum number of series in a figure."""


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the relative residuals of the chosen fits of a benchmark, a few in each figure."""
    mine = [fit for fit in run.models.fits if fit.chosen and fit.points and fit.subject.benchmark == benchmark]
    for variable in dict.fromkeys(fit.variable for fit in mine):
        parts = _parts([fit for fit in mine if fit.variable == variable], run.benchmarks)
        for index, part in enumerate(parts):
            yield _figure(run, part, variable, f"residuals-{benchmark}-{variable}-{index}")


def _parts(fits: Sequence[Fit], catalog: Catalog) -> list[list[Fit]]:
    """Divide the fits so that no figure has too many series, unless a single fit has too many."""
    parts: list[list[Fit]] = []
    for fit in fits:
        if not parts or len(_series([*parts[-1], fit], catalog)) > _MOST:
            parts.append([])
        parts[-1].append(fit)
    return parts


def _figure(run: Run, fits: Sequence[Fit], variable: Variable, key: str) -> Figure:
    xs = [point.x for fit in fits for point in fit.points]
    sizes = variable in ("message_bytes", "message_bytes_and_ranks")
    by = variable_label(run.benchmarks, fits[0], "message_bytes" if sizes else variable)
    drawn = _series(fits, run.benchmarks)
    drawn = drawn[:: -(-len(drawn) // _MOST)]
    return Figure(
        key=key,
        title=f"Residuals by {by}" + (" and number of ranks" if variable == "message_bytes_and_ranks" else ""),
        caption="Measured time / fitted time - 1. A model that fits leaves points scattered around 0 without a "
        "pattern; a slope or a step shows what the model misses.",
        traces=[_trace(name, points, slot, xs, sizes) for slot, (name, points) in enumerate(drawn)],
        layout={
            "xaxis": size_axis(by, xs) if sizes else count_axis(by, xs),
            "yaxis": {"title": {"text": "residual"}, "tickformat": ".0%", "zeroline": True},
        },
        table=Table(
            ["case", "model", by, "measured", "fitted"],
            [_row(fit, point, sizes, run.benchmarks) for fit in fits for point in fit.points],
        ),
        origins=origins(case for case in run.statistics if case.benchmark == fits[0].subject.benchmark),
    )


def _series(fits: Sequence[Fit], catalog: Catalog) -> list[tuple[str, list[FitPoint]]]:
    """Return the points of each fit, separately for each number of ranks if the fit also varies over ranks."""
    groups: dict[tuple[int, str], list[FitPoint]] = {}
    for index, fit in enumerate(fits):
        for point in fit.points:
            if point.fitted > 0:
                groups.setdefault((index, _name(fit, point, catalog)), []).append(point)
    return [(name, points) for (_, name), points in groups.items()]


def _trace(name: str, points: Sequence[FitPoint], slot: int, xs: Sequence[float], sizes: bool) -> Plot:
    return scatter(
        [place(point.x, xs) if sizes else point.x for point in points],
        [point.measured / point.fitted - 1 for point in points],
        name,
        slot=slot,
        mode="lines+markers",
        text=[f"{units.quantity(p.measured, 's')}, fitted {units.quantity(p.fitted, 's')}" for p in points],
        hover="%{text}: %{y:.1%}",
    )


def _row(fit: Fit, point: FitPoint, sizes: bool, catalog: Catalog) -> list[str]:
    measured = units.interval(point.measured, point.measured_low, point.measured_high, "s")
    x = units.size(point.x) if sizes else f"{point.x:g}"
    return [_name(fit, point, catalog), model(fit.model), x, measured, units.quantity(point.fitted, "s")]


def _name(fit: Fit, point: FitPoint, catalog: Catalog) -> str:
    """Return the label of a point's case, with the point's number of ranks if the fit also varies over ranks."""
    if point.ranks is None:
        return subject(fit)
    return subject(fit.model_copy(update={"subject": fit.subject.without(catalog, ranks=point.ranks)}))


def subject(fit: Fit | NotFitted) -> str:
    """Return the label of a fit's case, and the metric if the benchmark recorded it in addition to its time."""
    observed = fit.definition == "observed"
    return f"{fit.subject.label}: {units.named(fit.metric)}" if observed else fit.subject.label


def variable_label(catalog: Catalog, fit: Fit, variable: str) -> str:
    """Return the name of a fit's variable in words."""
    return "number of ranks" if variable == "ranks" else catalog.parameter_label(variable, fit.subject.benchmark)
