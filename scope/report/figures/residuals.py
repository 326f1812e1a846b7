"""How far each chosen model misses its points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scope import units
from scope.models.fit import Fit, NotFitted, Point, Variable
from scope.report.contents import Contents
from scope.report.figure import Figure, Plot, Table, number, place, plain, size_axis
from scope.report.wording import model

_MOST = 8
_BY: dict[Variable, str] = {
    "message_bytes": "message size",
    "message_bytes_and_ranks": "message size",
    "vector_length": "vector length",
    "intensity": "operations per memory reference",
    "ranks": "number of processes",
}


def figures(contents: Contents) -> Iterator[Figure]:
    """Yield the relative residuals of the chosen fits, one figure for each variable."""
    for variable in dict.fromkeys(fit.variable for fit in contents.models.fits):
        fits = [fit for fit in contents.models.fits if fit.chosen and fit.variable == variable and fit.points]
        for index in range(0, len(fits), _MOST):
            yield _figure(
                contents, fits[index : index + _MOST], variable, f"residuals-{variable}-{index // _MOST}"
            )


def _figure(contents: Contents, fits: Sequence[Fit], variable: Variable, key: str) -> Figure:
    xs = [point.x for fit in fits for point in fit.points]
    sizes = variable in ("message_bytes", "message_bytes_and_ranks")
    by = _BY[variable]
    counts = sorted(set(xs))
    axis: Plot = size_axis(by, xs) if sizes else {"title": {"text": by}, "tickvals": counts}
    found = {one.origin for one in contents.summaries if one.benchmark in {fit.subject.benchmark for fit in fits}}
    return Figure(
        key=key,
        title=f"Residuals by {by}" + (" and number of processes" if variable == "message_bytes_and_ranks" else ""),
        caption="Measured over fitted time, less one. Points that scatter around zero without a pattern are what "
        "a fitting model leaves; a slope or a step is what it misses.",
        traces=[_trace(name, points, slot, xs, sizes) for slot, (name, points) in enumerate(_series(fits))],
        layout={
            "xaxis": axis,
            "yaxis": {"title": {"text": "residual"}, "tickformat": ".0%", "zeroline": True},
        },
        table=Table(
            ["case", "model", by, "measured", "fitted"],
            [_row(fit, point, sizes) for fit in fits for point in fit.points],
        ),
        origins=sorted(found),
        wide=True,
    )


def _series(fits: Sequence[Fit]) -> list[tuple[str, list[Point]]]:
    """Return the points of each fit, of each number of processes where that is a variable too."""
    groups: dict[str, list[Point]] = {}
    for fit in fits:
        for point in fit.points:
            name = subject(fit) + (f", {point.ranks} ranks" if point.ranks is not None else "")
            if point.fitted > 0:
                groups.setdefault(name, []).append(point)
    return list(groups.items())


def _trace(name: str, points: Sequence[Point], slot: int, xs: Sequence[float], sizes: bool) -> Plot:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [number(place(point.x, xs)) if sizes else point.x for point in points],
        "y": [number(point.measured / point.fitted - 1) for point in points],
        "text": [
            plain(f"{units.quantity(p.measured, 's')}, fitted {units.quantity(p.fitted, 's')}") for p in points
        ],
        "hovertemplate": "%{text}: %{y:.1%}<extra></extra>",
        "name": plain(name),
        "meta": {"slot": slot, "role": "points"},
    }


def _row(fit: Fit, point: Point, sizes: bool) -> list[str]:
    measured = units.interval(point.measured, point.measured_low, point.measured_high, "s")
    x = units.size(point.x) if sizes else f"{point.x:g}"
    name = subject(fit) + (f", {point.ranks} ranks" if point.ranks is not None else "")
    return [name, model(fit.model), x, measured, units.quantity(point.fitted, "s")]


def subject(fit: Fit | NotFitted) -> str:
    """Name what a fit is of; a fit over the number of ranks has none of its own."""
    words = [fit.subject.benchmark, *(f"{name}={value}" for name, value in fit.subject.parameters.items())]
    words += [f"{fit.subject.ranks} ranks"] if "ranks" not in fit.variable else []
    words += [fit.subject.transport] if fit.subject.transport != "default" else []
    return " ".join(words)
