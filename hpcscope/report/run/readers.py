"""What each reader of a report wants first: a user turn-around, an analyst scaling, a manager throughput and cost.

The three views of Melas 2000, section 6.1.1. Only what was measured is shown; what was not names what measures it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hpcscope import units
from hpcscope.catalog.mix import ALONE, JOB, MIX
from hpcscope.findings.results import Run
from hpcscope.models.scaling.speedup import Speedup, SpeedupPoint
from hpcscope.report.order import level
from hpcscope.statistics.estimate import in_percent, in_unit
from hpcscope.statistics.summary import Summary

_MOST = 4
"""Programs in a view."""


@dataclass(frozen=True)
class ViewAnswer:
    """One figure of a view."""

    name: str
    figure: str
    note: str = ""
    mixes_states: bool = False


@dataclass(frozen=True)
class View:
    """What one kind of reader wants first."""

    reader: str
    asks: str
    answers: list[ViewAnswer]
    lacks: str = ""
    """What was not measured, and how it is; empty where nothing is missing."""


def views(run: Run) -> list[View]:
    """Return the views of users, analysts and managers; none of a run that measured no programs."""
    chosen = _chosen(run)
    if run.record.mix:
        return [
            View("For users", "turn-around time", list(_jobs(run))),
            View("For analysts", "how the jobs slow each other down", list(_slowdowns(run))),
            View("For managers", "throughput, utilization, efficiency, cost", list(_mix(run))),
        ]
    if not chosen:
        return []
    scaled = [one for one in chosen if one.sequential_baseline]
    one_process = "No program was measured on one process and on several."
    return [
        View("For users", "time to solution", [_time(one, run) for one in chosen]),
        View(
            "For analysts",
            "speed-up, scalability",
            [_scaling(one, run) for one in scaled],
            "" if scaled else one_process,
        ),
        View(
            "For managers",
            "efficiency and cost of a result",
            [_cost(one, run) for one in scaled],
            "" if scaled else one_process,
        ),
    ]


def _chosen(run: Run) -> list[Speedup]:
    """Return one speed-up of each program, applications first: most processes, then the largest problem."""
    best: dict[str, Speedup] = {}
    for one in run.models.speedups:
        name = one.subject.benchmark
        if _fair(one) and (name not in best or _weight(one, run) > _weight(best[name], run)):
            best[name] = one
    order = sorted(
        best.values(), key=lambda one: (level(one.subject.benchmark) != "application", -_last(one).ranks)
    )
    return order[:_MOST]


def _weight(one: Speedup, run: Run) -> tuple[bool, int, int, bool]:
    usual = one.subject.transport == "default" and not one.subject.placement.one_per_host
    problem = run.benchmarks.of_role(one.subject.benchmark, one.subject.parameters, "problem", "method")
    defaults = run.benchmarks.defaults(one.subject.benchmark)
    plain = all(defaults.get(name) == value for name, value in problem.items())
    return usual, _last(one).ranks, one.size, plain


def _fair(one: Speedup) -> list[SpeedupPoint]:
    """Return the points with a processor for every process."""
    return [point for point in one.points if not point.oversubscribed]


def _last(one: Speedup) -> SpeedupPoint:
    return _fair(one)[-1]


def _name(one: Speedup, run: Run) -> str:
    return run.benchmarks.described(one.subject.benchmark, one.subject.parameters)


def _time(one: Speedup, run: Run) -> ViewAnswer:
    fastest = min(_fair(one), key=lambda point: point.time_s.value)
    slower = f"; the fastest of up to {_last(one).ranks}" if len(_fair(one)) > 1 else ""
    return ViewAnswer(
        _name(one, run),
        in_unit(fastest.time_s, "s"),
        f"on {_ranks(fastest.ranks)}{slower}",
        fastest.time_s.mixes_states,
    )


def _scaling(one: Speedup, run: Run) -> ViewAnswer:
    last, law = _last(one), one.amdahl
    words = [f"on {_ranks(last.ranks)}"]
    if law is not None:
        words.append(f"{in_percent(law.serial_share)} serial")
        words += [f"no gain beyond {law.critical_ranks.value:.0f} ranks"] if law.critical_ranks else []
    figure = in_unit(last.speedup)
    return ViewAnswer(_name(one, run), figure, "; ".join(words), bool(last.speedup and last.speedup.mixes_states))


def _cost(one: Speedup, run: Run) -> ViewAnswer:
    last, first = _last(one), one.points[0]
    note = f"on {_ranks(last.ranks)}"
    if last.cost_core_s and first.cost_core_s:
        costs = (units.quantity(one.cost_core_s.value, "s") for one in (last, first) if one.cost_core_s)
        note += "; a result costs {} of core time, on one process {}".format(*costs)
    states = bool(last.efficiency and last.efficiency.mixes_states)
    return ViewAnswer(_name(one, run), in_percent(last.efficiency), note, states)


def _jobs(run: Run) -> Iterator[ViewAnswer]:
    for alone, mixed in _pairs(run, "turnaround_s"):
        note = f"alone; {_of(mixed)} in the mix" if mixed.valid else f"alone; in the mix: {mixed.reason}"
        yield ViewAnswer(_job(alone, run), _of(alone), note if alone.valid else alone.reason)


def _slowdowns(run: Run) -> Iterator[ViewAnswer]:
    for one in _metric(run, JOB, "slowdown"):
        note = "times as long in the mix as alone" if one.valid else one.reason
        yield ViewAnswer(_job(one, run), _of(one), note)


def _mix(run: Run) -> Iterator[ViewAnswer]:
    for one in [each for each in run.statistics.primary if each.benchmark == MIX]:
        label = run.benchmarks.metric_label(one.metric, one.benchmark)
        yield ViewAnswer(
            label[:1].upper() + label[1:], _of(one), _MEANT.get(one.metric, "") if one.valid else one.reason
        )


_MEANT = {
    "jobs_per_hour": "all jobs of a round over its duration",
    "turnaround_mean_s": "of all jobs in the mix, without waiting for their turn",
    "utilization_share": "processor time that the jobs used over the time available",
    "efficiency_share": "processors × time of the jobs when alone, over processors × time available",
    "cost_core_s": "processors × time over the number of jobs",
}


def _pairs(run: Run, metric: str) -> Iterator[tuple[Summary, Summary]]:
    """Yield each job alone, and the same in the mix."""
    found = _metric(run, JOB, metric)
    mixed = {(one.parameters["job"], one.ranks): one for one in found if one.parameters["beside"] != ALONE}
    for one in found:
        key = one.parameters["job"], one.ranks
        if one.parameters["beside"] == ALONE and key in mixed:
            yield one, mixed[key]


def _metric(run: Run, benchmark: str, metric: str) -> Sequence[Summary]:
    return [one for one in run.statistics.primary if (one.benchmark, one.metric) == (benchmark, metric)]


def _job(one: Summary, run: Run) -> str:
    (words, *_) = run.benchmarks.differences(JOB, {"job": one.parameters["job"]})
    return f"{words}, {_ranks(one.ranks)}"


def _of(one: Summary) -> str:
    if not one.valid or one.median is None:
        return "–"
    if units.is_share(one.metric):
        return units.share(one.median, one.ci_low, one.ci_high)
    return units.interval(one.median, one.ci_low, one.ci_high, one.unit)


def _ranks(count: int) -> str:
    return f"{count} rank{'s' if count != 1 else ''}"
