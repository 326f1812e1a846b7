"""Metrics by size: medians, interval bands, fits, breakpoints and limits."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.findings.results import Run
from hpcscope.machine.machine import Machine
from hpcscope.models.fitting.fit import Breakpoint, Fit
from hpcscope.models.ladder.limit_lines import EXCHANGES, Limit
from hpcscope.models.ladder.rung import Ladder
from hpcscope.plan.case import Case
from hpcscope.report.figure import (
    LOWEST_SHARE,
    Figure,
    Plot,
    band,
    extent,
    modeled,
    origins,
    place,
    scatter,
    series_name,
    shown,
    swept_axis,
    table,
    title_words,
    upright,
    value_axis,
)
from hpcscope.report.order import level
from hpcscope.report.run.figures.grouping import (
    FEWEST_POINTS,
    panels,
    series,
    series_factors,
    spread,
    swept,
    values,
)
from hpcscope.report.run.results import choice_key, results
from hpcscope.report.wording import definition, model, points_shown, sentence
from hpcscope.statistics.summary import Summary

_NOTE_SHARE = 0.22
"""Fraction of the axis that a note takes, on the logarithmic scale."""
_LEAST_STEP = 0.1
"""Minimum step of a marked break, relative to the time after it; smaller steps do not recur in the next run."""
_MOST_BREAKS = 4
"""If there are more breaks, the caption counts them instead of listing them."""
_MOST_RANKS = 4
"""Maximum number of rank counts that are drawn."""
_MOST_APART = 100
"""Maximum ratio of neighboring sizes whose points are joined; between sizes farther apart nothing is known."""
_NOTE_ROW = 0.055
"""Height of a line of notes above a figure, as a fraction of the figure's height."""


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the metrics of a benchmark by size, split if too full; the metrics of one panel are side by side."""
    usable = results(run, benchmark)
    columns = [
        list(_panels(run, [case for case in usable if case.metric == name], f"{benchmark}-{name}"))
        for name in dict.fromkeys(case.metric for case in usable)
    ]
    for row in zip_longest(*columns):
        yield from (figure for figure in row if figure is not None)


def _panels(run: Run, group: list[Summary], key: str) -> Iterator[Figure]:
    """Yield the series with enough points; series with fewer may have been swept over another parameter."""
    index = 0
    if level(group[0].benchmark) != "node":
        # The figures by number of ranks show all rank counts.
        drawn = spread(values(group, "ranks"), _MOST_RANKS)
        group = [case for case in group if case.ranks in drawn]
    names = series_factors(group, None)
    while (variable := swept(group)) is not None:
        factors = series_factors(group, variable)
        lines = series(group, factors)
        long = [case for line in lines if len(line) >= FEWEST_POINTS for case in line]
        if not long:
            return
        for part in panels(long, variable):
            yield _figure(run, part, variable, f"{key}-{index}", names)
            index += 1
        group = [case for line in lines if len(line) < FEWEST_POINTS for case in line]


def _figure(run: Run, group: list[Summary], variable: str, key: str, all_factors: list[str]) -> Figure:
    first, catalog = group[0], run.benchmarks
    metric = catalog.metric_label(first.metric, first.benchmark)
    by = catalog.parameter_label(variable, first.benchmark)
    names = series_factors(group, variable)
    lines = sorted(series(group, names), key=lambda line: choice_key(run.benchmarks, line[0]))
    xs = [float(case.parameters[variable]) for case in group]
    traces: list[Plot] = []
    drawn: list[Fit] = []
    for slot, line in enumerate(lines):
        fits = list(chosen_fits(run.models.fits, line[0], variable, variable))
        fit = next((candidate for candidate in fits if candidate.metric == first.metric), None)
        drawn += fits
        breaks = [step for fit in fits for step in certain_breaks(fit)]
        traces += points_and_band(
            line, variable, xs, slot, series_name(line[0], names, catalog, metric), breaks, fit is None
        )
        traces += [_fitted(fit, xs, slot)] if fit else []
    limits = (
        list(_lines(run.models.limits, group, xs, catalog)) or _limits(run.models.ladders, group, xs)
        if variable == "message_bytes"
        else []
    )
    traces += limits
    shapes, annotations = _breaks(drawn, xs)
    cache_shapes, cache_annotations = _caches(run.machine, xs) if variable == "array_bytes" else ([], [])
    ys = [*extent(group), *(y for trace in limits for y in trace["y"])]
    title = f"{metric.capitalize()} by {by}"
    return Figure(
        key=key,
        title=", ".join([title, *title_words(catalog, group, all_factors)]),
        caption=_caption(group, drawn, bool(limits), bool(cache_shapes))
        + (" Values below -100 % are cut off." if units.is_share(first.metric) and min(ys) < LOWEST_SHARE else ""),
        traces=traces,
        layout={
            "xaxis": swept_axis(variable, by, xs),
            "yaxis": value_axis(first.metric, metric, ys, first.unit),
            "shapes": shapes + cache_shapes,
            "annotations": annotations + cache_annotations,
        },
        table=table(group, [*names, variable], catalog),
        origins=origins(group),
    )


def points_and_band(
    line: list[Summary],
    variable: str,
    xs: Sequence[float],
    slot: int,
    name: str,
    breaks: Sequence[Breakpoint],
    joined: bool,
) -> Iterator[Plot]:
    """Yield the band of intervals and the points; neither crosses a breakpoint or a gap, or starts at size 0."""
    bands: list[tuple[list[float], list[float], list[float]]] = []
    x: list[float | None] = []
    y: list[float | None] = []
    text: list[str] = []
    for piece in _pieces(line, variable, breaks):
        places = [place(float(case.parameters[variable]), xs) for case in piece]
        medians = [case.median or 0.0 for case in piece]
        lows = [case.estimate.bounds[0] for case in piece]
        if not units.is_share(line[0].metric):  # a logarithmic axis cannot show zero or less
            lows = [low if low > 0 else median / 100 for low, median in zip(lows, medians, strict=True)]
        bands.append((places, lows, [case.ci_high or case.median or 0.0 for case in piece]))
        x += [*places, None]
        y += [*medians, None]
        text += [
            f"{name}, {units.parameter(variable, case.parameters[variable])}: {shown(case)}" for case in piece
        ]
        text.append("")
    yield band(bands, name, slot)
    mode = "lines+markers" if joined else "markers"
    yield scatter(x, y, name, slot=slot, mode=mode, text=text)


def _pieces(line: list[Summary], variable: str, breaks: Sequence[Breakpoint]) -> Iterator[list[Summary]]:
    piece = [line[0]]
    for before, after in pairwise(line):
        low, high = float(before.parameters[variable]), float(after.parameters[variable])
        far = low == 0 or high / low > _MOST_APART
        if far or any(low <= step.last_before < high for step in breaks):
            yield piece
            piece = []
        piece.append(after)
    yield piece


def _fitted(fit: Fit, xs: Sequence[float], slot: int) -> Plot:
    x: list[float | None] = []
    y: list[float | None] = []
    for before, point in pairwise([None, *fit.points]):
        if point is None:
            continue
        if before is not None and (
            before.x == 0 or any(before.x <= step.last_before < point.x for step in fit.breakpoints)
        ):
            x.append(None)
            y.append(None)
        x.append(place(point.x, xs))
        y.append(point.fitted if point.fitted > 0 else None)
    return modeled(x, y, slot, f"fit: {model(fit.model)}")


def chosen_fits(fits: Iterable[Fit], case: Summary, over: str, swept: str) -> Iterator[Fit]:
    """Yield the chosen fits over a variable for all metrics of a case; `swept`: the parameter that varies.

    A change of protocol shows in all metrics. Fits over ranks match cases with any number of ranks.
    """

    def fixed(subject: Case) -> tuple[object, ...]:
        parameters = {name: value for name, value in subject.parameters.items() if name != swept}
        place = () if over in ("ranks", "message_bytes_and_ranks") else (subject.ranks, subject.placement)
        return subject.benchmark, parameters, subject.transport, *place

    return (fit for fit in fits if fit.chosen and fit.variable == over and fixed(fit.subject) == fixed(case))


def _breaks(fits: Sequence[Fit], xs: Sequence[float]) -> tuple[list[Plot], list[Plot]]:
    """Mark the breakpoints: a strip between the two sizes and a line at the first size after it."""
    seen = {(step.last_before, step.first_after) for fit in fits for step in certain_breaks(fit)}
    shapes: list[Plot] = []
    annotations: list[Plot] = []
    span = max(xs) / place(min(xs), xs)
    noted, row = [0.0, 0.0], 0
    for before, after in sorted(seen):
        left, right = place(before, xs), place(after, xs)
        shapes += [upright("break-strip", left, right), upright("break", right)]
        # Notes on neighboring breakpoints must not overlap.
        if right >= noted[row % 2] * span**_NOTE_SHARE:
            noted[row % 2] = right
            annotations.append(_note(f"from {units.size(after)}", right, 1.0 + row % 2 * _NOTE_ROW))
            row += 1
    return shapes, annotations


def certain_breaks(fit: Fit) -> list[Breakpoint]:
    """Return the breaks worth a mark: the time jumps by a tenth of the time after the break at 95 % confidence."""
    behind_s = {point.x: point.measured for point in fit.points}
    return [
        step
        for step in fit.breakpoints
        if step.is_jump
        and min(abs(step.jump_s.low or 0.0), abs(step.jump_s.high or 0.0))
        >= _LEAST_STEP * behind_s[step.first_after]
    ]


def _caches(machine: Machine, xs: Sequence[float]) -> tuple[list[Plot], list[Plot]]:
    """Mark the data cache sizes of every kind of host, as one core sees them."""
    sizes = {
        (cache.level, cache.size_bytes)
        for host in machine.hosts
        for cache in host.caches
        if cache.kind != "instruction"
    }
    shown_sizes = [(level, size) for level, size in sorted(sizes) if min(xs) <= size <= max(xs)]
    return [upright("cache", size) for _, size in shown_sizes], [
        _note(f"L{level} {units.size(size)}", size, 1.0) for level, size in shown_sizes
    ]


def _limits(ladders: Sequence[Ladder], group: Sequence[Summary], xs: Sequence[float]) -> list[Plot]:
    """Draw the limit of each ladder that contains one of these cases, at the sizes of the ladders."""
    first, labels = group[0], {case.label for case in group}
    points: dict[str, list[tuple[float, float]]] = {}
    for ladder in ladders:
        limit = ladder.rungs[0] if ladder.rungs else None
        stands = any(rung.name in labels for rung in ladder.rungs[1:])
        if limit and limit.layer == "limit" and limit.value and stands and ladder.quantity == first.metric:
            points.setdefault(ladder.path, []).append((float(ladder.message_bytes or 0), limit.value))
    traces: list[Plot] = []
    for path, found in points.items():
        ordered = sorted(found)
        places = [place(size, xs) for size, _ in ordered]
        values = [value for _, value in ordered]
        text = [f"limit, {path}: {units.quantity(value, first.unit)}" for value in values]
        if len(ordered) == 1:
            places, values, text = [min(place(x, xs) for x in xs), max(xs)], values * 2, text * 2
        traces.append(scatter(places, values, f"limit: {path}", role="limit", mode="lines", text=text))
    return traces


def _lines(
    lines: Sequence[Limit], group: Sequence[Summary], xs: Sequence[float], catalog: Catalog
) -> Iterator[Plot]:
    """Draw by size the limits of this figure's protocols, for messages between two ranks."""
    first = group[0]
    bounded = [place for pattern in EXCHANGES for place in catalog.standing(pattern, "network")]
    if first.benchmark not in {place.benchmark.name for place in bounded}:
        return
    drawn = {str(case.parameters.get("protocol")) for case in group}
    for line in lines:
        if (
            line.metric != first.metric
            or first.placement not in line.placements
            or not drawn & set(line.protocols)
        ):
            continue
        yield limit_line(line, xs)


def limit_line(line: Limit, xs: Sequence[float]) -> Plot:
    """Return a limit at the sizes within the range of `xs`."""
    points = [point for point in line.points if min(xs) <= point.message_bytes <= max(xs)]
    return scatter(
        [place(point.message_bytes, xs) for point in points],
        [point.value for point in points],
        f"limit: {line.name}",
        role="limit",
        mode="lines",
        text=[f"limit, {line.name}: {units.quantity(point.value, line.unit)}" for point in points],
    )


def _caption(group: Sequence[Summary], fits: Sequence[Fit], limits: bool, caches: bool) -> str:
    first = group[0]
    words = [
        f"{points_shown(group, definition(first.definition), bands=True)}; "
        + ("higher is better." if first.better == "higher" else "lower is better.")
    ]
    models = sorted({model(fit.model) for fit in fits if fit.metric == first.metric})
    if models:
        words.append(f"Lines show the chosen model ({sentence(models)}). Without a model, lines join the points.")
    jumps = {
        (step.last_before, step.first_after): step.jump_s.value for fit in fits for step in certain_breaks(fit)
    }
    if len(jumps) > _MOST_BREAKS:
        words.append(
            f"The fitted times jump at {len(jumps)} sizes, which are marked and listed under Models; "
            "points are not joined across the jumps of their series."
        )
    elif jumps:
        steps = [
            f"jumps by {units.signed(jump, 's')} between {units.size(before)} and {units.size(after)}"
            for (before, after), jump in sorted(jumps.items())
        ]
        words.append(f"The fitted time {sentence(steps)}; points are not joined across jumps.")
    words += ["The long-dashed line is the limit of the path."] if limits else []
    words += ["Vertical lines mark the cache sizes available to one core."] if caches else []
    return " ".join(words)


def _note(text: str, x: float, y: float) -> Plot:
    return {"text": text, "x": math.log10(x), "y": y}
