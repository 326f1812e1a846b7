"""The states of the machine along the run: a strip over time."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.plan.case import Batch
from hpcscope.report.figure import Figure, Plot, Table, logarithmic, scatter, upright
from hpcscope.samples.samples import Samples
from hpcscope.statistics.course import MEASURES, Course, Measure, seconds_of

MOST_LAUNCHES = 80
"""Maximum number of launches whose starts are drawn; more lines would hide the points."""
TICKS = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
LOWEST, HIGHEST = 0.5, 10.0
"""Default range of the axis, wider only for states farther apart; a descheduled sentinel may take any time."""

Point = tuple[float, float]
"""Seconds since the start of the run, and the time relative to the typical time."""


def figures(run: Run) -> Iterator[Figure]:
    """Yield the strip of a run with a known course or with sentinel measurements."""
    course, samples = run.course, run.raw_samples
    if not (course.moments or samples.sentinels):
        return
    begin = run.record.started_unix_s
    series: dict[str, list[Point]] = {
        "typical case": [(moment.unix_s - begin, moment.factor) for moment in course.moments],
        **{f"sentinel, {measure}": _sentinel(samples, course, measure, begin) for measure in MEASURES},
    }
    drawn = {name: points for name, points in series.items() if points}
    launches = [launch.started_unix_s - begin for launch in samples.launches]
    highest = max(HIGHEST, 1.5 * max(state.factor for state in course.states)) if course.states else HIGHEST
    yield Figure(
        key="machine-states",
        title="States of the machine",
        caption=_caption(course, samples),
        traces=[_trace(name, points, slot, highest) for slot, (name, points) in enumerate(drawn.items())],
        layout={
            "xaxis": {"title": {"text": "time since the run began (s)"}, "showgrid": False},
            "yaxis": _axis([factor for points in drawn.values() for _, factor in points], highest),
            "shapes": [
                *(upright("launch", at) for at in launches[:: math.ceil(len(launches) / MOST_LAUNCHES) or 1]),
                *(
                    upright("slow-state", period.begin_unix_s - begin, period.end_unix_s - begin)
                    for period in course.periods
                    if period.state > 0
                ),
            ],
            "height": 240,
        },
        table=_table(course, begin),
        origins=sorted({launch.origin for launch in samples.launches}),
        wide=True,
    )


def _sentinel(samples: Samples, course: Course, measure: Measure, begin: float) -> list[Point]:
    """Return a measure of the sentinel relative to its median in the fastest state, per kind of launch."""
    batches: dict[tuple[int, int], Batch] = {
        (record.launch, record.attempt): record.batch for record in samples.launches
    }
    groups: dict[Batch | None, list[tuple[float, float, int]]] = defaultdict(list)
    for sentinel in samples.sentinels:
        seconds = seconds_of(sentinel, measure)
        if seconds:
            at = sentinel.started_unix_s - begin
            groups[batches.get((sentinel.launch, sentinel.attempt))].append(
                (at, seconds, course.state_during(sentinel))
            )
    points: list[Point] = []
    for group in groups.values():
        typical = median([seconds for _, seconds, state in group if state == 0] or [point[1] for point in group])
        points += [(at, seconds / typical) for at, seconds, _ in group]
    return sorted(points)


def _caption(course: Course, samples: Samples) -> str:
    words = "Times of the cases and of a small fixed workload (the sentinel), relative to their typical times. "
    words += "Points beyond the frame are drawn at its edge. Vertical lines mark starts of launches. "
    if course.changes:
        slow = course.states[-1]
        shown_by = "typical case" if course.shown_by == "cases" else f"sentinel ({course.shown_by})"
        words += (
            f"In the shaded time, {units.share(slow.share)} of the run, the {shown_by} took {slow.factor:.3g} "
        )
        words += "times as long."
    else:
        words += "No change of the machine's state was found."
    if samples.sentinels:
        spent_s = sum(sentinel.duration_s for sentinel in samples.sentinels)
        words += f" All {len(samples.sentinels)} measurements of the sentinel took {units.quantity(spent_s, 's')}."
    return words


def _trace(name: str, points: Sequence[Point], slot: int, highest: float) -> Plot:
    return scatter(
        [at for at, _ in points],
        [min(max(factor, LOWEST), highest) for _, factor in points],
        name,
        role="moments",
        slot=slot,
        text=[f"{factor:.3g}" for _, factor in points],
        hover=f"{name}: %{{text}} times its typical time, after %{{x:.1f}} s",
    )


def _axis(factors: Sequence[float], highest: float) -> Plot:
    low, high = max(min([*factors, 0.8]), LOWEST), min(max([*factors, 1.25]), highest)
    ticks = [tick for tick in TICKS if low / 1.1 <= tick <= high * 1.1]
    texts = [f"{tick:g}" for tick in ticks]
    return logarithmic("time / typical time", ticks, texts, math.log10(low / 1.1), math.log10(high * 1.1))


def _table(course: Course, begin: float) -> Table:
    columns = ["state", "from", "to", "times as long", *(f"sentinel, {measure}" for measure in MEASURES)]
    rows = []
    for period in course.periods:
        state = course.states[period.state]
        rows.append(
            [
                str(period.state + 1),
                *(units.quantity(at - begin, "s") for at in (period.begin_unix_s, period.end_unix_s)),
                f"{state.factor:.3g}",
                *(units.quantity(state.sentinel_s.get(measure), "s") for measure in MEASURES),
            ]
        )
    return Table(columns, rows)
