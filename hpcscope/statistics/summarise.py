"""From samples to summaries: every metric of every case, under every definition of time that its series allow."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hpcscope.catalog.benchmark import Definition, Metric
from hpcscope.catalog.catalog import Catalog
from hpcscope.rundirectory import RunDirectory, read_json
from hpcscope.samples.samples import CaseSamples, Floats, Samples, Times
from hpcscope.statistics.course import Course, course_of
from hpcscope.statistics.definitions import comparable, grain, observed, series_of, times_under
from hpcscope.statistics.figures import Figures, as_rate, describe
from hpcscope.statistics.printed import printed_summaries
from hpcscope.statistics.summary import Summaries, Summary, summary_of
from hpcscope.statistics.throughput import throughput_summaries


@dataclass(frozen=True)
class Taken:
    """The values of one launch of a case under one definition."""

    series: Times
    values: Floats
    """One value per repetition."""
    grain: float
    """The step in which the values come."""


Taking = Callable[[CaseSamples], Taken | None]


@dataclass(frozen=True)
class Collected:
    """The values of a case under one definition."""

    figures: Figures
    invalid_share: float
    launches_dependent: bool


def read_statistics(run: Path) -> Summaries:
    """Return the statistics of a run."""
    return read_json(RunDirectory(run).statistics, Summaries)


def read_summaries(run: Path) -> list[Summary]:
    """Return the summaries of a run."""
    return read_statistics(run).summaries


def summarise(samples: Samples, catalog: Catalog, course: Course | None = None) -> list[Summary]:
    """Summarize all cases, in the order in which they first ran.

    Rates are derived from the times. A rate of work that a case does not do (the bandwidth of an empty message)
    has no summary. Raises UsageError for a case of an undeclared benchmark. `course`: if it is already known.
    """
    course = course or course_of(samples)
    summaries: list[Summary] = []
    for launches in samples.by_case().values():
        ordered = sorted(launches, key=lambda case_samples: case_samples.launch)
        summaries += _summarise_case(ordered, catalog[launches[0].case.benchmark].metrics, course)
    printed = printed_summaries(samples.printed, catalog)
    return [*summaries, *printed, *throughput_summaries(samples.jobs, samples.rounds, catalog)]


def _summarise_case(launches: list[CaseSamples], metrics: list[Metric], course: Course) -> Iterator[Summary]:
    reason = _why_invalid(launches)
    right = [case for case in launches if _is_right(case)]
    usable = right or [case for case in launches if case.times]
    cache: dict[str, Collected] = {}

    def collected(key: str, take: Taking) -> Collected:
        if key not in cache:
            cache[key] = _collect(usable, take, course)
        return cache[key]

    for metric in metrics:
        yield from _summarise_metric(metric, launches, usable, reason, collected)


def _summarise_metric(
    metric: Metric,
    launches: list[CaseSamples],
    usable: list[CaseSamples],
    reason: str,
    collected: Callable[[str, Taking], Collected],
) -> Iterator[Summary]:
    if metric.quantity == "observed":
        values = collected(f"observed {metric.name}", partial(_take_observed, metric.name))
        if usable and not any(metric.name in times.observed for case in usable for times in case.times):
            return  # a case of the kind that does not have this quantity
        yield _summary(metric, "observed", True, launches, values, values.figures, reason)
        return
    work = _work(metric, usable)
    if work == 0:
        return
    steps = work if work is not None and metric.quantity == "time_per_step" else 1.0
    for definition in comparable(metric.definition, launches[0].case.ranks):
        times = collected(f"{definition} / {steps}", partial(_take, definition, steps))
        primary = definition == metric.definition
        if primary or times.figures.n:
            figures = _figures_of(metric, times.figures, work)
            yield _summary(metric, definition, primary, launches, times, figures, reason)


def _take(definition: Definition, steps: float, case: CaseSamples) -> Taken | None:
    series = series_of(definition, case.times)
    values = times_under(definition, series) if series else None
    if series is None or values is None:
        return None
    return Taken(series, values / steps, grain(definition, series, case.clock_step_s) / steps)


def _take_observed(name: str, case: CaseSamples) -> Taken | None:
    found = observed(name, case.times)
    return Taken(*found, grain=0.0) if found else None


def _figures_of(metric: Metric, time: Figures, work: float | None) -> Figures:
    if metric.quantity in ("time", "time_per_step"):
        return time
    return as_rate(time, work) if work is not None else Figures()


def _summary(
    metric: Metric,
    definition: str,
    primary: bool,
    launches: list[CaseSamples],
    collected: Collected,
    figures: Figures,
    reason: str,
) -> Summary:
    first = launches[0]
    reason = reason or _why_no_figure(figures, may_be_zero=definition == "observed")
    work = next((case.work for case in launches if case.work is not None), None)
    return summary_of(
        first.case,
        metric,
        figures.as_dict(),
        reason,
        definition=definition,
        primary=primary,
        origin=first.origin,
        work=work,
        steps=work.steps if work is not None and metric.quantity == "time_per_step" else 1.0,
        invalid_share=collected.invalid_share,
        launches_dependent=collected.launches_dependent,
    )


def _collect(launches: list[CaseSamples], take: Taking, course: Course) -> Collected:
    """Collect the values of all launches that have them, without warm-up and invalid ones; count the latter."""
    found = [(case, taken) for case in launches if (taken := take(case)) is not None]
    all_taken = [taken for _, taken in found]
    after_warmup = sum(int(np.count_nonzero(~taken.series.warmup)) for taken in all_taken)
    invalid = sum(taken.series.invalid for taken in all_taken)
    figures = describe(
        [taken.values[taken.series.counted] for taken in all_taken],
        max((taken.grain for taken in all_taken), default=0.0),
        [course.state_during(case) for case, _ in found] if len(course.states) > 1 else None,
        [case.launch for case, _ in found],
    )
    return Collected(figures, invalid / after_warmup if after_warmup else 0.0, course.launches_dependent)


def _is_right(case: CaseSamples) -> bool:
    return case.ok and case.verification is not None and case.verification.passed


def _why_invalid(launches: list[CaseSamples]) -> str:
    """Return why a case's values are not results; empty if they are.

    Wrong data in one launch spoils the case; a launch that crashed or was ended does not, as long as another gave
    verified samples.
    """
    for case in launches:
        if case.status == "failed":
            return f"failed: {case.reason}" if case.reason else "failed"
        if case.verification is not None and not case.verification.passed:
            return f"failed: {case.verification.message or 'the data was wrong'}"
    if any(_is_right(case) for case in launches):
        return ""
    last = launches[-1]
    if last.ok:
        return "not verified"
    return f"{last.status}: {last.reason}" if last.reason else last.status


def _why_no_figure(figures: Figures, may_be_zero: bool) -> str:
    if figures.n == 0:
        return "no valid sample"
    if figures.median is None or (figures.median <= 0 and not may_be_zero):
        return "the median time is not above zero: the clock cannot resolve it"
    return ""


def _work(metric: Metric, launches: list[CaseSamples]) -> float | None:
    """Return what one operation moves or computes; None if no launch declared it."""
    for case in launches:
        if case.work is not None and metric.quantity != "time":
            return case.work.of(metric.quantity, case.case)
    return None
