"""A campaign as tables: the terminal prints them and the page shows them, made once for both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scope import units
from scope.campaign.allocation import Comparison
from scope.campaign.analysis import Analysis
from scope.campaign.clusters import Clusters
from scope.campaign.configurations import Configuration, Spread
from scope.campaign.endurance import Endurance
from scope.campaign.features import NAMES
from scope.campaign.folder import Head
from scope.campaign.scaling import Law, Term
from scope.campaign.study import Point, Value
from scope.campaign.trend import Trend
from scope.models.fit import Bounds
from scope.report.campaign.charts import Chart, charts
from scope.report.figure import Table

UNITS = {"communications": "", "compute_imbalance": ""}
"""Of features whose names do not end in their unit."""
HEADS = {
    "compute_s": "computation",
    "mpi_s": "MPI",
    "send_s": "send",
    "receive_s": "receive",
    "exchange_s": "exchange",
    "collective_s": "collective",
    "communications": "communications",
    "sent_bytes": "sent",
}
"""The features of the table of runs, with the heads of their columns."""
MOST_DISTURBANCES = 20
CROWDED = "more processes than processors"


@dataclass(frozen=True)
class Bar:
    """A row of a picture: parts of a length, in percent of the longest."""

    name: str
    shown: str
    compute: float
    mpi: float


@dataclass(frozen=True)
class Section:
    """One table with what to see in it."""

    key: str
    title: str
    caption: str
    table: Table
    bars: list[Bar] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)


def sections(head: Head, analysis: Analysis) -> list[Section]:
    """Return what a campaign, placement or soak shows, in reading order."""
    varying = _varying([each.point for each in analysis.configurations])
    made: list[Section | None] = [
        _endurance(analysis.endurance) if analysis.endurance else None,
        _comparisons(analysis.comparisons) if analysis.comparisons else None,
        _runs(analysis.configurations, varying),
        _overheads(analysis, varying),
        _speedups(analysis, head),
        _laws(analysis, head),
        *(_groups(analysis.clusters) if analysis.clusters else []),
        _disturbances(analysis, varying),
    ]
    return [section for section in made if section is not None and section.table.rows]


def lead(head: Head, analysis: Analysis) -> str:
    """Say in a sentence what was done."""
    if not analysis.runs:
        return "No run has ended yet."
    points = len(analysis.configurations)
    bad = analysis.runs - analysis.well
    text = f"{analysis.runs} run{'s' if analysis.runs != 1 else ''} of {points} point{'s' if points != 1 else ''}"
    text += f", {bad} of them did not end well" if bad else ", all of which ended well"
    text += "" if head.status == "finished" else "; more are to come"
    return f"{text}."


def _runs(found: Sequence[Configuration], varying: Sequence[str]) -> Section:
    names = [
        name for name in HEADS if any(name in each.features and each.features[name].maximum > 0 for each in found)
    ]
    time = "wall_s" if any("wall_s" in each.features for each in found) else "elapsed_s"
    crowd = any(each.crowded for each in found)
    columns = [
        *map(_head, varying),
        "runs",
        "failed",
        "time [95 %]",
        "CV",
        "sanitised",
        "CV",
        *(HEADS[name] for name in names),
        *(["remark"] if crowd else []),
    ]
    rows = []
    for each in found:
        spread = each.features.get(time)
        rows.append(
            [
                *_chosen(each.point, varying),
                str(each.runs),
                str(each.failed) if each.failed else "",
                units.interval(spread.median, spread.low, spread.high, "s") if spread else "–",
                _share(spread.variation) if spread else "",
                units.quantity(spread.sanitised_mean, "s") if spread else "",
                _share(spread.sanitised_variation) if spread else "",
                *(_median(each.features.get(name), name) for name in names),
                *([CROWDED if each.crowded else ""] if crowd else []),
            ]
        )
    what = "from MPI_Init to MPI_Finalize, per process" if time == "wall_s" else "of the whole command"
    return Section(
        "runs",
        "Runs",
        f"Medians over the runs of each point; the time is that {what}. The interval is the median's, from order"
        " statistics: of fewer than six runs it is their range. Sanitised is the mean of what lies below the 99th"
        " percentile, beside its own coefficient of variation (CV).",
        Table(columns, rows),
        _bars(found, varying),
    )


def _bars(found: Sequence[Configuration], varying: Sequence[str]) -> list[Bar]:
    known = [each for each in found if "compute_s" in each.features]
    longest = max((each.features["wall_s"].median for each in known), default=0.0)
    if not longest:
        return []
    return [
        Bar(
            ", ".join(
                f"{_head(name)} {value}" for name, value in zip(varying, _chosen(each.point, varying), strict=True)
            ),
            f"{units.quantity(compute, 's')} + {units.quantity(mpi, 's')}",
            100 * compute / longest,
            100 * mpi / longest,
        )
        for each in known
        for compute, mpi in [(each.features["compute_s"].median, each.features["mpi_s"].median)]
    ]


def _overheads(analysis: Analysis, varying: Sequence[str]) -> Section:
    columns = [*map(_head, varying), "wall (a)", "CPU (b)", "(a) - (b)", "(a) / (b)", "in the kernel", "in MPI"]
    rows = [
        [
            *_chosen(each.point, varying),
            _time(each.wall_s),
            _time(each.cpu_s),
            _time(each.difference_s),
            units.interval(each.ratio.value, each.ratio.low, each.ratio.high, ""),
            units.quantity(each.system_s.value, "s"),
            units.quantity(each.mpi_s.value if each.mpi_s else None, "s"),
        ]
        for each in analysis.overheads
    ]
    return Section(
        "overhead",
        "Wall-clock and processor's time",
        "As GAMMA's Table 1, per process. (a) - (b) is what a process spent without a processor: waiting for"
        " messages, for the disk, for its turn. An MPI library that polls is busy while it waits: then the last"
        " column tells more.",
        Table(columns, rows),
    )


def _speedups(analysis: Analysis, head: Head) -> Section:
    rows = []
    for each in analysis.speedups:
        law = each.law
        rows.append(
            [
                _held(each.held, head),
                _part(law.serial_share) if law else "–",
                units.interval(law.critical_ranks.value, law.critical_ranks.low, law.critical_ranks.high, "")
                if law and law.critical_ranks
                else "–",
                units.share(law.relative_error) if law and law.relative_error is not None else "–",
                law.reason if law else each.reason,
            ]
        )
    return Section(
        "amdahl",
        "Amdahl's law with communication",
        "T(p) = T_ser + T_par / p + alpha (p - 1), fitted to the medians; intervals by bootstrap over the runs."
        " Counts with more processes than processors take no part.",
        Table(["of", "serial share P", "critical count", "error", "remark"], rows),
    )


def _laws(analysis: Analysis, head: Head) -> Section:
    rows = []
    for law in analysis.laws:
        letter = "p" if law.variable == "ranks" else "n"
        over = "processes p" if law.variable == "ranks" else f"n = {law.variable}"
        alone = law.inverse_alone_s
        rows.append(
            [
                NAMES.get(law.feature, law.feature),
                over,
                _held(law.held, head),
                " + ".join(_term(term) for term in law.terms),
                _error(law),
                units.share(law.chosen_share),
                f"{_time(alone)} / {letter}, error {units.share(law.inverse_alone_error)}" if alone else "",
            ]
        )
    return Section(
        "scaling",
        "How times grow",
        "The terms with the lowest BIC and no negative coefficient; intervals by bootstrap over the runs, `sure`"
        " is the share of draws that chose the same terms. The last column is a0 / p alone, as NetFinity fits"
        " computation.",
        Table(["time", "over", "of", "law", "error", "sure", "a0 / p"], rows),
        charts=charts(analysis.laws, lambda law: _held(law.held, head), NAMES),
    )


def _term(term: Term) -> str:
    seconds = _time(term.seconds)
    if term.name == "1":
        return seconds
    return f"{seconds} / {term.name[2:]}" if term.name.startswith("1/") else f"{seconds} {term.name}"


def _error(law: Law) -> str:
    if len(law.points) <= len(law.terms):
        return "–"
    return units.share(law.relative_error) + (f": {law.reason}" if law.reason else "")


def _groups(found: Clusters) -> Iterator[Section]:
    count = len(found.groups)
    per = f" and divided by {found.per}" if found.per else ""
    heads = [f"group {number} of {count}" for number in range(1, count + 1)]
    rows = [
        ["runs", *(str(group.runs) for group in found.groups)],
        ["points", *(str(group.points) for group in found.groups)],
    ]
    rows += [
        [NAMES[name], *(_quantity(group.mean[name], group.deviation[name], name) for group in found.groups)]
        for name in found.features
    ]
    for factor in found.groups[0].chosen:
        rows.append([_head(factor), *(", ".join(group.chosen[factor]) for group in found.groups)])
    best = max(found.silhouettes.values(), default=0.0)
    chance = f"of one broad group look as divided as these in {units.share(found.p_value)} of all cases"
    what = "points (the medians of their runs)" if found.of_points else "runs"
    if count > 1:
        verdict = f"Divided were {what}; those {chance}"
    elif found.silhouettes:
        verdict = f"The {what} are one group: those {chance}"
    else:
        verdict = "One group: there are too few different ones to divide"
    yield Section(
        "groups",
        "Groups of runs",
        f"{verdict}; mean silhouette {units.digits(best)}. {_second_opinion(found)} Centroids in their own units,"
        f" means per process{per}, with the standard deviation within the group.",
        Table(["", *heads], rows),
    )
    if count > 1:
        yield Section(
            "apart",
            "What sets the groups apart",
            "Of a feature: the share of its variance that lies between the groups. Of what was chosen: Cramer's V,"
            " 1 where it alone decides the group.",
            Table(
                ["", "kind", "share"],
                [[NAMES[each.name], "measured", units.share(each.share)] for each in found.features_apart]
                + [[_head(each.name), "chosen", units.digits(each.share)] for each in found.factors_apart],
            ),
        )


def _second_opinion(found: Clusters) -> str:
    if not found.dense_groups:
        return "HDBSCAN sees no dense group."
    return (
        f"HDBSCAN sees {found.dense_groups} dense group{'s' if found.dense_groups > 1 else ''} and"
        f" {found.dense_outliers} outside; both divisions agree to {units.digits(found.agreement)} (adjusted Rand"
        " index)."
    )


def _comparisons(found: Sequence[Comparison]) -> Section:
    columns = ["fixed", "packed", "spread", "time packed", "time spread", "packed over spread, less one"]
    columns += ["of it computation", "of it MPI", "without a processor", "all computation together"]
    rows = [
        [
            each.fixed,
            each.packed.words,
            each.spread.words,
            _time(each.packed.wall_s),
            _time(each.spread.wall_s),
            *map(_part, (each.slowdown, each.by_computation, each.by_communication)),
            *map(_part, (each.off_processor, each.inflation)),
        ]
        for each in found
    ]
    return Section(
        "placement",
        "Packed against spread",
        "Means over ranks and runs, as shares of the spread time; computation and MPI add up to the whole."
        " Computation that takes longer while its ranks have their processors is contention for memory and caches."
        " `Without a processor`: how much more of the time ranks waited for one. Intervals by bootstrap, from four"
        " runs on.",
        Table(columns, rows),
    )


def verdicts(analysis: Analysis) -> list[str]:
    """Say in a sentence each what the comparisons of placements show."""
    return [_verdict(each) for each in analysis.comparisons] + analysis.not_compared


def _verdict(each: Comparison) -> str:
    longer = each.slowdown.value >= 0
    change = f"take {_size(each.slowdown)} {'longer' if longer else 'less'} than {each.spread.words}"
    if each.slowdown.low is None:
        return f"{each.packed.words} {change}: too few runs to be sure."
    if not each.certain:
        return f"{each.packed.words} and {each.spread.words} cannot be told apart: {_part(each.slowdown)}."
    part = each.by_computation if each.mostly == "computation" else each.by_communication
    return f"{each.packed.words} {change}; most of it is {each.mostly}, {_part(part)}."


def _size(change: Bounds) -> str:
    """Write a change without its sign."""
    if change.value >= 0 or change.low is None or change.high is None:
        return units.share(abs(change.value), change.low, change.high)
    return units.share(-change.value, -change.high, -change.low)


def _endurance(found: Endurance) -> Section:
    rows = [
        ["runs", str(found.runs), ""],
        ["ended with an error", str(found.failed), ""],
        ["gave wrong results", str(found.wrong), ""],
        ["did not end in time", str(found.timeouts), ""],
        ["share that did not end well", _part(found.failure_share), "exact 95 % interval"],
        ["from the first to the last", units.quantity(found.span_s, "s"), ""],
    ]
    if found.elapsed_s:
        rows.append(
            ["time of a command", _spread(found.elapsed_s, "s"), f"CV {_share(found.elapsed_s.variation)}"]
        )
    rows += [_trend(each) for each in (found.drift, found.memory) if each is not None]
    if found.growth:
        growth = found.growth
        rate = units.interval(growth.bytes_per_s.value, growth.bytes_per_s.low, growth.bytes_per_s.high, "B/s")
        rows.append(["growth of a process within a run", rate, f"its second half, {growth.runs} runs"])
        worst = units.quantity(growth.worst_bytes_per_s.value, "B/s")
        rows.append([f"of rank {growth.worst_rank}, which grows most", worst, ""])
    rows += [
        [reason or "no reason", f"{count} times", "why runs did not end well"]
        for reason, count in found.reasons.items()
    ]
    return Section(
        "endurance",
        "Endurance",
        "Slopes are medians over all pairs of runs (Theil and Sen) with a 95 % interval that heeds how much runs"
        " resemble the one before.",
        Table(["", "", "remark"], rows),
    )


def _trend(each: Trend) -> list[str]:
    slope = units.interval(each.per_hour, each.low, each.high, each.unit)
    certain = "certain" if each.certain else "may be none"
    return [
        f"{each.what}, change per hour",
        slope,
        f"{certain}; typical {units.quantity(each.typical, each.unit)}",
    ]


def _disturbances(analysis: Analysis, varying: Sequence[str]) -> Section:
    rows = [
        [str(each.number), *_chosen(each.point, varying), each.status, each.reason]
        for each in analysis.disturbances[:MOST_DISTURBANCES]
    ]
    left = len(analysis.disturbances) - len(rows)
    return Section(
        "failed",
        "Runs that did not end well",
        f"{left} more are in runs.jsonl." if left > 0 else "They are in no other table.",
        Table(["run", *map(_head, varying), "how", "why"], rows),
    )


def _varying(points: Sequence[Point]) -> list[str]:
    names = dict.fromkeys(name for point in points for name in point.factors)
    found = [name for name in names if len({repr(point.factors.get(name)) for point in points}) > 1]
    return found or ["ranks"]


def _chosen(point: Point, names: Sequence[str]) -> list[str]:
    return [_value(name, point.factors[name]) for name in names]


def _held(point: Point, head: Head) -> str:
    study = head.study
    several = {name for name, values in study.parameters.items() if len(values) > 1}
    several |= {name for name in ("ranks", "placement", "transport") if len(getattr(study, name)) > 1}
    words = [
        f"{_head(name)} {_value(name, value)}"
        for name, value in point.factors.items()
        if name in several and value
    ]
    return ", ".join(words) or "all"


def _value(name: str, value: Value) -> str:
    return units.parameter(name, value)


def _head(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ")


def _unit(name: str) -> str:
    if name in UNITS:
        return UNITS[name]
    return "B/s" if name.endswith("bytes_per_s") else "B" if name.endswith("bytes") else "s"


def _median(spread: Spread | None, name: str) -> str:
    return units.quantity(spread.median if spread else None, _unit(name))


def _quantity(mean: float, deviation: float, name: str) -> str:
    if _unit(name):
        return f"{units.quantity(mean, _unit(name))} ± {units.quantity(deviation, _unit(name))}"
    return f"{units.digits(mean)} ± {units.digits(deviation)}"


def _spread(spread: Spread, unit: str) -> str:
    return units.interval(spread.median, spread.low, spread.high, unit)


def _time(bounds: Bounds) -> str:
    return units.interval(bounds.value, bounds.low, bounds.high, "s")


def _share(value: float | None) -> str:
    return units.share(value) if value is not None else "–"


def _part(bounds: Bounds) -> str:
    return units.share(bounds.value, bounds.low, bounds.high)
