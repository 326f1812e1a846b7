"""What each kind of reader wants first: users turnaround, analysts scaling, managers throughput and cost.

The three views of Melas 2000, section 6.1.1. Only measured values are shown; an empty view says what is missing.
"""

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
"""Maximum number of programs in a view."""


@dataclass(frozen=True)
class ViewAnswer:
    """One value of a view."""

    name: str
    figure: str
    note: str = ""
    mixes_states: bool = False


@dataclass(frozen=True)
class View:
    """The values that one kind of reader wants first."""

    reader: str
    asks: str
    answers: list[ViewAnswer]
    lacks: str = ""
    """What was not measured; empty if nothing is missing."""


def views(run: Run) -> list[View]:
    """Return the views for users, analysts and managers; empty for a run that measured no programs."""
    chosen = _chosen(run)
    if run.record.mix:
        return [
            View("For users", "turnaround time", list(_jobs(run))),
            View("For analysts", "how the jobs slow each other down", list(_slowdowns(run))),
            View("For managers", "throughput, utilization, efficiency, cost", list(_mix(run))),
        ]
    if not chosen:
        return []
    scaled = [speedup for speedup in chosen if speedup.sequential_baseline]
    lacks = "" if scaled else "No program was measured on one rank and on several."
    return [
        View("For users", "time to solution", [_time(speedup, run) for speedup in chosen]),
        View("For analysts", "speedup, scalability", [_scaling(speedup, run) for speedup in scaled], lacks),
        View(
            "For managers", "efficiency and cost of a result", [_cost(speedup, run) for speedup in scaled], lacks
        ),
    ]


def _chosen(run: Run) -> list[Speedup]:
    """Return one speedup of each program, applications first: the most ranks, then the largest problem."""
    best: dict[str, Speedup] = {}
    for speedup in run.models.speedups:
        name = speedup.subject.benchmark
        if _fair(speedup) and (name not in best or _weight(speedup, run) > _weight(best[name], run)):
            best[name] = speedup
    order = sorted(
        best.values(),
        key=lambda speedup: (level(speedup.subject.benchmark) != "application", -_last(speedup).ranks),
    )
    return order[:_MOST]


def _weight(speedup: Speedup, run: Run) -> tuple[bool, int, int, bool]:
    usual = speedup.subject.transport == "default" and not speedup.subject.placement.one_per_host
    problem = run.benchmarks.of_role(speedup.subject.benchmark, speedup.subject.parameters, "problem", "method")
    defaults = run.benchmarks.defaults(speedup.subject.benchmark)
    plain = all(defaults.get(name) == value for name, value in problem.items())
    return usual, _last(speedup).ranks, speedup.size, plain


def _fair(speedup: Speedup) -> list[SpeedupPoint]:
    """Return the points without oversubscription."""
    return [point for point in speedup.points if not point.oversubscribed]


def _last(speedup: Speedup) -> SpeedupPoint:
    return _fair(speedup)[-1]


def _name(speedup: Speedup, run: Run) -> str:
    return run.benchmarks.described(speedup.subject.benchmark, speedup.subject.parameters)


def _time(speedup: Speedup, run: Run) -> ViewAnswer:
    fastest = min(_fair(speedup), key=lambda point: point.time_s.value)
    slower = f", the fastest of all counts up to {_last(speedup).ranks}" if len(_fair(speedup)) > 1 else ""
    return ViewAnswer(
        _name(speedup, run),
        in_unit(fastest.time_s, "s"),
        f"on {units.count(fastest.ranks, 'rank')}{slower}",
        fastest.time_s.mixes_states,
    )


def _scaling(one: Speedup, run: Run) -> ViewAnswer:
    last, law = _last(one), one.amdahl
    words = [f"on {units.count(last.ranks, 'rank')}"]
    if law is not None:
        words.append(f"{in_percent(law.serial_share)} serial")
        words += [f"no gain beyond {law.critical_ranks.value:.0f} ranks"] if law.critical_ranks else []
    figure = in_unit(last.speedup)
    return ViewAnswer(_name(one, run), figure, "; ".join(words), bool(last.speedup and last.speedup.mixes_states))


def _cost(speedup: Speedup, run: Run) -> ViewAnswer:
    last, first = _last(speedup), speedup.points[0]
    note = f"on {units.count(last.ranks, 'rank')}"
    last_cost, first_cost = (units.quantity(point.cost_core_s.value, "s") for point in (last, first))
    note += f"; one result costs {last_cost} of core time ({first_cost} on one rank)"
    states = bool(last.efficiency and last.efficiency.mixes_states)
    return ViewAnswer(_name(speedup, run), in_percent(last.efficiency), note, states)


def _jobs(run: Run) -> Iterator[ViewAnswer]:
    for alone, mixed in _pairs(run, "turnaround_s"):
        note = f"alone; {_of(mixed)} in the mix" if mixed.valid else f"alone; in the mix: {mixed.reason}"
        yield ViewAnswer(_job(alone, run), _of(alone), note if alone.valid else alone.reason)


def _slowdowns(run: Run) -> Iterator[ViewAnswer]:
    for case in _metric(run, JOB, "slowdown"):
        note = "times as long in the mix as alone" if case.valid else case.reason
        yield ViewAnswer(_job(case, run), _of(case), note)


def _mix(run: Run) -> Iterator[ViewAnswer]:
    for case in [summary for summary in run.statistics.primary if summary.benchmark == MIX]:
        label = run.benchmarks.metric_label(case.metric, case.benchmark)
        yield ViewAnswer(
            label[:1].upper() + label[1:], _of(case), _MEANT.get(case.metric, "") if case.valid else case.reason
        )


_MEANT = {
    "jobs_per_hour": "number of jobs in a round / duration of the round",
    "turnaround_mean_s": "mean of all jobs in the mix, without waiting for slots",
    "utilization_share": "CPU time that the jobs used / CPU time available",
    "efficiency_share": "core-seconds that the jobs take alone / core-seconds available in the mix",
    "cost_core_s": "core-seconds / number of jobs",
}


def _pairs(run: Run, metric: str) -> Iterator[tuple[Summary, Summary]]:
    """Yield the result of each job alone, and of the same job in the mix."""
    cases = _metric(run, JOB, metric)
    mixed = {(case.parameters["job"], case.ranks): case for case in cases if case.parameters["beside"] != ALONE}
    for summary in cases:
        key = summary.parameters["job"], summary.ranks
        if summary.parameters["beside"] == ALONE and key in mixed:
            yield summary, mixed[key]


def _metric(run: Run, benchmark: str, metric: str) -> Sequence[Summary]:
    return [case for case in run.statistics.primary if (case.benchmark, case.metric) == (benchmark, metric)]


def _job(case: Summary, run: Run) -> str:
    (words, *_) = run.benchmarks.differences(JOB, {"job": case.parameters["job"]})
    return f"{words}, {units.count(case.ranks, 'rank')}"


def _of(case: Summary) -> str:
    if not case.valid or case.median is None:
        return "–"
    if units.is_share(case.metric):
        return units.share(case.median, case.ci_low, case.ci_high)
    return units.interval(case.median, case.ci_low, case.ci_high, case.unit)
