"""The tables of a campaign, shared by the terminal and the report."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hpcscope import units
from hpcscope.grouping import grouped
from hpcscope.plan.case import transport_words
from hpcscope.programs.campaign.analysis import Analysis
from hpcscope.programs.campaign.clusters import Clusters
from hpcscope.programs.campaign.configurations import Configuration, Spread
from hpcscope.programs.campaign.effects import FactorEffect
from hpcscope.programs.campaign.features import NAMES
from hpcscope.programs.campaign.folder import Head
from hpcscope.programs.campaign.placement import LayoutComparison
from hpcscope.programs.campaign.scaling import Law, Term, curve
from hpcscope.programs.campaign.soak import Endurance
from hpcscope.programs.campaign.study import Point, Value
from hpcscope.programs.campaign.trend import Trend
from hpcscope.report.figure import Figure, Mark, Plot, Table, count_axis, log_axis, modeled, with_intervals
from hpcscope.statistics.estimate import Estimate, in_percent, in_unit

UNITS = {"communications": "", "compute_imbalance": ""}
"""Units of the features whose names do not end in a unit."""
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
"""The features in the table of runs, with their column headings."""
MOST_DISTURBANCES = 20
OVERSUBSCRIBED = "oversubscribed"
STEPS = 60
SLOTS = {"wall_s": 7, "elapsed_s": 7, "compute_s": 0, "mpi_s": 1}
"""Style slot of each kind of time."""


@dataclass(frozen=True)
class TimeBar:
    """A bar of a chart: its parts in percent of the longest bar."""

    name: str
    shown: str
    compute: float
    mpi: float
    low: float
    """Lower end of the interval for the whole time, in percent like the parts; `high` is its upper end."""
    high: float


@dataclass(frozen=True)
class TableSection:
    """One table with its title, caption and charts."""

    key: str
    title: str
    caption: str
    table: Table
    bars: list[TimeBar] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    """Ratios on one logarithmic axis, on which ratio 1 is at `unity` percent."""
    unity: float = 0.0
    charts: list[Figure] = field(default_factory=list)


def sections(head: Head, analysis: Analysis) -> list[TableSection]:
    """Return the tables of a campaign, placement or soak in reading order."""
    varying = _varying([configuration.point for configuration in analysis.configurations])
    made: list[TableSection | None] = [
        _endurance(analysis.endurance) if analysis.endurance else None,
        _comparisons(analysis.comparisons),
        _effects(analysis.effects) if analysis.effects else None,
        _runs(analysis.configurations, varying),
        _speedups(analysis, head),
        _laws(analysis, head),
        _overheads(analysis, varying),
        _disturbances(analysis, varying),
        *(_groups(analysis.clusters) if analysis.clusters else []),
    ]
    return [section for section in made if section is not None and section.table.rows]


def lead(head: Head, analysis: Analysis) -> str:
    """Return one sentence that summarizes which runs were made."""
    if not analysis.runs:
        return "No run has ended yet."
    points = len(analysis.configurations)
    bad = analysis.runs - analysis.well
    text = f"{units.count(analysis.runs, 'run')} of {units.count(points, 'point')}"
    text += f", {bad} of them without a valid result" if bad else ", all with valid results"
    only = head.study.transport[0] if len(head.study.transport) == 1 else "default"
    text += f"; messages over {transport_words(only)}" if only != "default" else ""
    text += "" if head.status == "finished" else "; not finished yet"
    return f"{text}."


def _effects(effects: Sequence[FactorEffect]) -> TableSection:
    table = Table.of(
        {
            "factor": _head(effect.factor),
            "value": _instead(effect),
            "time [95 %]": _change(effect),
            "pairs of points": str(effect.pairs),
            "remark": OVERSUBSCRIBED if effect.oversubscribed else "",
        }
        for effect in effects
    )
    marks, unity = _ratios(effects)
    return TableSection(
        "effects",
        "Effect of each factor",
        "An effect is the time at a value of the factor / the time at its first value, with all other factors "
        "equal (geometric mean over all such pairs of points). Intervals are bootstrapped over the runs and "
        "need at least four runs per point.",
        table.without_empty(),
        marks=marks,
        unity=unity,
    )


def _ratios(effects: Sequence[FactorEffect]) -> tuple[list[Mark], float]:
    """Return the ratios as percentages of one logarithmic axis, and the position of ratio 1 on that axis."""
    ends = [math.log(bound) for effect in effects for bound in effect.ratio.bounds]
    low, high = min(0.0, *ends), max(0.0, *ends)
    span = (high - low) or 1.0

    def place(ratio: float) -> float:
        return round(2 + 96 * (math.log(ratio) - low) / span, 2)

    marks = [
        Mark(
            f"{_head(effect.factor)} {_instead(effect)}",
            _change(effect),
            *map(place, effect.ratio.bounds),
        )
        for effect in effects
    ]
    return marks, place(1.0)


def _instead(effect: FactorEffect) -> str:
    value, first = (units.parameter(effect.factor, value) for value in (effect.value, effect.first))
    return f"{value} instead of {first}"


def _change(effect: FactorEffect) -> str:
    """Return an effect in words: `1.86 times as fast [1.5, 1.9]`."""
    ratio = effect.ratio
    if ratio.low is not None and ratio.high is not None and not effect.certain:
        return f"no significant change, {units.share(ratio.value - 1, ratio.low - 1, ratio.high - 1)}"
    if ratio.value <= 1:
        return f"{in_unit(ratio.as_rate(1))} times as fast"
    return f"{in_unit(ratio)} times as long"


def answers(analysis: Analysis) -> list[str]:
    """Return the answers to the questions behind a study, in sentences: the fastest point, and the speedup."""
    found = []
    if best := analysis.fastest:
        varying = _varying([configuration.point for configuration in analysis.configurations])
        rivals = f"; points that cannot be distinguished from it: {best.rivals}" if best.rivals else ""
        found.append(f"Fastest point: {_words(best.point, varying)}, {in_unit(best.time_s, 's')}{rivals}.")
    found += [
        f"Speedup: {_ranks(effect.value)} instead of {_ranks(effect.first)}, {_change(effect)}"
        f"{', oversubscribed' if effect.oversubscribed else ''}."
        for effect in analysis.effects
        if effect.factor == "ranks"
    ]
    return found


def _ranks(count: Value) -> str:
    return f"{count} rank{'' if count == 1 else 's'}"


def _runs(configurations: Sequence[Configuration], varying: Sequence[str]) -> TableSection:
    names = [
        name
        for name in HEADS
        if any(
            name in configuration.features and configuration.features[name].maximum > 0
            for configuration in configurations
        )
    ]
    time = "wall_s" if any("wall_s" in configuration.features for configuration in configurations) else "elapsed_s"
    oversubscribed = any(configuration.oversubscribed for configuration in configurations)
    columns = [
        *map(_head, varying),
        "runs",
        "failed",
        "time [95 %]",
        "CV",
        "sanitized",
        "CV",
        *(HEADS[name] for name in names),
        *(["remark"] if oversubscribed else []),
    ]
    rows = []
    for configuration in configurations:
        spread = configuration.features.get(time)
        rows.append(
            [
                *_chosen(configuration.point, varying),
                str(configuration.runs),
                str(configuration.failed) if configuration.failed else "",
                in_unit(_estimate(spread), "s") if spread else "–",
                units.share(spread.variation) if spread else "",
                units.quantity(spread.sanitized_mean, "s") if spread else "",
                units.share(spread.sanitized_variation) if spread else "",
                *(_median(configuration.features.get(name), name) for name in names),
                *([OVERSUBSCRIBED if configuration.oversubscribed else ""] if oversubscribed else []),
            ]
        )
    what = "from MPI_Init to MPI_Finalize, per rank" if time == "wall_s" else "of the whole command"
    return TableSection(
        "runs",
        "Runs",
        f"Medians over the runs of each point, for the time {what}. The 95 % CI of the median is"
        " from order statistics; with fewer than six runs, it is the range of the runs. Sanitized values are "
        "the mean and the coefficient of variation (CV) of the times up to the 99th percentile.",
        Table(columns, rows),
        _bars(configurations, varying),
    )


def _bars(configurations: Sequence[Configuration], varying: Sequence[str]) -> list[TimeBar]:
    known = [configuration for configuration in configurations if "compute_s" in configuration.features]
    walls = [_estimate(configuration.features["wall_s"]).bounds for configuration in known]
    longest = max((high for _, _, high in walls), default=0.0)
    if not longest:
        return []
    return [
        TimeBar(
            _words(configuration.point, varying),
            f"{units.quantity(compute, 's')} + {units.quantity(mpi, 's')}",
            100 * compute / longest,
            100 * mpi / longest,
            100 * low / longest,
            100 * high / longest,
        )
        for configuration, (low, _, high) in zip(known, walls, strict=True)
        for compute, mpi in [(configuration.features["compute_s"].median, configuration.features["mpi_s"].median)]
    ]


def _overheads(analysis: Analysis, varying: Sequence[str]) -> TableSection:
    columns = [*map(_head, varying), "wall (a)", "CPU (b)", "(a) - (b)", "(a) / (b)", "in the kernel", "in MPI"]
    rows = [
        [
            *_chosen(overhead.point, varying),
            in_unit(overhead.wall_s, "s"),
            in_unit(overhead.cpu_s, "s"),
            in_unit(overhead.difference_s, "s"),
            in_unit(overhead.ratio),
            units.quantity(overhead.system_s.value, "s"),
            units.quantity(overhead.mpi_s.value if overhead.mpi_s else None, "s"),
        ]
        for overhead in analysis.overheads
    ]
    return TableSection(
        "overhead",
        "Wall-clock and CPU time",
        "Times per rank. (a) - (b) is the time off the processor, in which the rank waits for messages,"
        " the disk, or the scheduler. A polling MPI library uses CPU time while it waits; see 'in MPI'.",
        Table(columns, rows),
    )


def _speedups(analysis: Analysis, head: Head) -> TableSection:
    laws = [(speedup, speedup.law) for speedup in analysis.speedups]
    return TableSection(
        "amdahl",
        "Amdahl's law with communication",
        "T(p) = T_ser + T_par / p + alpha (p - 1), fitted to the medians. Intervals are bootstrapped over runs."
        " Oversubscribed points are excluded.",
        Table.of(
            {
                "runs": _held(speedup.held, head),
                "serial fraction P": in_percent(law.serial_share if law else None),
                "critical number of ranks": in_unit(law.critical_ranks if law else None),
                "error": units.share(law.relative_error if law else None),
                "remark": law.reason if law else speedup.reason,
            }
            for speedup, law in laws
        ),
    )


def _laws(analysis: Analysis, head: Head) -> TableSection:
    rows = []
    for law in analysis.laws:
        letter = "p" if law.variable == "ranks" else "n"
        over = "ranks p" if law.variable == "ranks" else f"n = {law.variable}"
        alone = law.inverse_alone_s
        rows.append(
            [
                NAMES.get(law.feature, law.feature),
                over,
                _held(law.held, head),
                " + ".join(_term(term) for term in law.terms),
                _error(law),
                units.share(law.chosen_share),
                f"{in_unit(alone, 's')} / {letter}, error {units.share(law.inverse_alone_error)}" if alone else "",
            ]
        )
    return TableSection(
        "scaling",
        "Scaling of times",
        "Of the laws without a negative coefficient, the law with the lowest BIC is shown. Intervals are "
        "bootstrapped. Support is the fraction of bootstrap draws that selected the same terms. The last column "
        "is the law a0 / p, which is perfect scaling over p ranks, with its error.",
        Table(["time", "over", "runs", "law", "error", "support", "a0 / p"], rows),
        charts=list(_charts(analysis.laws, head)),
    )


def _term(term: Term) -> str:
    seconds = in_unit(term.seconds, "s")
    if term.name == "1":
        return seconds
    return f"{seconds} / {term.name[2:]}" if term.name.startswith("1/") else f"{seconds} {term.name}"


def _error(law: Law) -> str:
    if len(law.points) <= len(law.terms):
        return "–"
    return units.share(law.relative_error) + (f": {law.reason}" if law.reason else "")


def _groups(clusters: Clusters) -> Iterator[TableSection]:
    count = len(clusters.groups)
    per = f" and divided by {clusters.per}" if clusters.per else ""
    heads = [f"group {number} of {count}" for number in range(1, count + 1)]
    rows = [
        ["runs", *(str(group.runs) for group in clusters.groups)],
        ["points", *(str(group.points) for group in clusters.groups)],
    ]
    rows += [
        [NAMES[name], *(_quantity(group.mean[name], group.deviation[name], name) for group in clusters.groups)]
        for name in clusters.features
    ]
    for factor in clusters.groups[0].chosen:
        rows.append([_head(factor), *(", ".join(group.chosen[factor]) for group in clusters.groups)])
    best = max(clusters.silhouettes.values(), default=0.0)
    chance = f"a single broad group would look as clearly divided in {units.share(clusters.p_value)} of all cases"
    what = "points (the medians of their runs)" if clusters.of_points else "runs"
    if count > 1:
        verdict = f"The {what} form {count} groups; {chance}"
    elif clusters.silhouettes:
        verdict = f"The {what} form one group; {chance}"
    else:
        verdict = f"There are too few distinct {what} to form several groups"
    yield TableSection(
        "groups",
        "Groups of runs",
        f"{verdict}; mean silhouette {units.digits(best)}. {_second_opinion(clusters)} Centroids are"
        f" means per rank{per}, in the units of the features, with the standard deviation within the group.",
        Table(["", *heads], rows),
    )
    if count > 1:
        yield TableSection(
            "apart",
            "What distinguishes the groups",
            "For a measured feature, the fraction is the part of its variance that lies between the groups. For a "
            "chosen parameter, it is Cramer's V, which is 1 if the parameter alone determines the group.",
            Table(
                ["", "kind", "fraction"],
                [
                    [NAMES[separation.name], "measured", units.share(separation.share)]
                    for separation in clusters.features_apart
                ]
                + [
                    [_head(separation.name), "chosen", units.digits(separation.share)]
                    for separation in clusters.factors_apart
                ],
            ),
        )


def _second_opinion(clusters: Clusters) -> str:
    if not clusters.dense_groups:
        return "HDBSCAN finds no dense group."
    return (
        f"HDBSCAN finds {units.count(clusters.dense_groups, 'dense group')} and "
        f"{units.count(clusters.dense_outliers, 'outlier')}; the adjusted Rand index between them and these "
        f"groups is {units.digits(clusters.agreement)}."
    )


def _comparisons(layouts: Sequence[LayoutComparison]) -> TableSection:
    columns = ["fixed", "packed", "spread", "time packed", "time spread", "slowdown of packed"]
    columns += ["due to computation", "due to MPI", "off the processor", "total computation"]
    rows = [
        [
            layout.fixed,
            layout.packed.words,
            layout.spread.words,
            in_unit(layout.packed.wall_s, "s"),
            in_unit(layout.spread.wall_s, "s"),
            *map(in_percent, (layout.slowdown, layout.by_computation, layout.by_communication)),
            *map(in_percent, (layout.off_processor, layout.inflation)),
        ]
        for layout in layouts
    ]
    return TableSection(
        "placement",
        "Packed against spread",
        "Means over ranks and runs, relative to the spread placement; computation and MPI add up to the slowdown."
        " If computation takes longer although no rank waits for a core, ranks contend for memory and caches. The "
        "column 'off the processor' is the additional fraction of time in which ranks waited for a core."
        " Intervals are bootstrapped and need at least four runs.",
        Table(columns, rows),
    )


def verdicts(analysis: Analysis) -> list[str]:
    """Return one sentence for each comparison of placements."""
    return [_verdict(comparison) for comparison in analysis.comparisons] + analysis.not_compared


def _verdict(layout: LayoutComparison) -> str:
    longer = layout.slowdown.value >= 0
    change = f"take {_size(layout.slowdown)} {'longer' if longer else 'less'} than {layout.spread.words}"
    if layout.slowdown.low is None:
        return f"{layout.packed.words} {change}: too few runs to be sure."
    if not layout.certain:
        both = f"{layout.packed.words} and {layout.spread.words}"
        return f"{both} do not differ significantly: {in_percent(layout.slowdown)}."
    part = layout.by_computation if layout.mostly == "computation" else layout.by_communication
    return f"{layout.packed.words} {change}; most of the difference is {layout.mostly}, {in_percent(part)}."


def _size(change: Estimate) -> str:
    """Format the absolute value of a change."""
    if change.value >= 0 or change.low is None or change.high is None:
        return units.share(abs(change.value), change.low, change.high)
    return units.share(-change.value, -change.high, -change.low)


def _endurance(endurance: Endurance) -> TableSection:
    rows = [
        ["runs", str(endurance.runs), ""],
        ["failed", str(endurance.failed), ""],
        ["with wrong results", str(endurance.wrong), ""],
        ["timed out", str(endurance.timeouts), ""],
        ["fraction without a valid result", in_percent(endurance.failure_share), "exact 95 % CI"],
        ["from the first run to the last", units.quantity(endurance.span_s, "s"), ""],
    ]
    if endurance.elapsed_s:
        rows.append(
            [
                "time of the command",
                in_unit(_estimate(endurance.elapsed_s), "s"),
                f"CV {units.share(endurance.elapsed_s.variation)}",
            ]
        )
    rows += [_trend(trend) for trend in (endurance.drift, endurance.memory) if trend is not None]
    if endurance.growth:
        growth = endurance.growth
        rate = in_unit(growth.bytes_per_s, "B/s")
        rows.append(["memory growth of a rank within a run", rate, f"second half of each of {growth.runs} runs"])
        worst = units.quantity(growth.worst_bytes_per_s.value, "B/s")
        rows.append([f"fastest memory growth, on rank {growth.worst_rank}", worst, ""])
    rows += [
        [reason or "no reason", f"{count} times", "reason why runs have no valid result"]
        for reason, count in endurance.reasons.items()
    ]
    return TableSection(
        "endurance",
        "Endurance",
        "Slopes are medians over all pairs of runs (Theil and Sen); the 95 % CI takes the correlation of"
        " successive runs into account.",
        Table(["", "", "remark"], rows),
    )


def _trend(trend: Trend) -> list[str]:
    span, change = trend.shown
    certain = "certain" if trend.certain else "may be zero"
    return [
        f"{trend.what}, change {span}",
        in_unit(change, trend.unit),
        f"{certain}; typical {units.quantity(trend.typical, trend.unit)}",
    ]


def _disturbances(analysis: Analysis, varying: Sequence[str]) -> TableSection:
    rows = [
        [str(run.number), *_chosen(run.point, varying), run.status, run.reason]
        for run in analysis.disturbances[:MOST_DISTURBANCES]
    ]
    left = len(analysis.disturbances) - len(rows)
    return TableSection(
        "failed",
        "Runs without a valid result",
        f"{left} more runs are in runs.jsonl." if left > 0 else "No other table includes these runs.",
        Table(["run", *map(_head, varying), "status", "reason"], rows),
    )


def _varying(points: Sequence[Point]) -> list[str]:
    names = dict.fromkeys(name for point in points for name in point.factors)
    varying = [name for name in names if len({repr(point.factors.get(name)) for point in points}) > 1]
    return varying or ["ranks"]


def _chosen(point: Point, names: Sequence[str]) -> list[str]:
    return [units.parameter(name, point.factors[name]) for name in names]


def _held(point: Point, head: Head) -> str:
    study = head.study
    several = {name for name in study.parameters if len(study.values_of(name)) > 1}
    several |= {name for name in ("ranks", "placement", "transport") if len(getattr(study, name)) > 1}
    return _words(point, [name for name, value in point.factors.items() if name in several and value]) or "all"


def _words(point: Point, names: Sequence[str]) -> str:
    """Return factors of a point in words: `ranks 4, placement spread`."""
    return ", ".join(f"{_head(name)} {value}" for name, value in zip(names, _chosen(point, names), strict=True))


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


def _estimate(spread: Spread) -> Estimate:
    return Estimate(value=spread.median, low=spread.low, high=spread.high)


def _charts(laws: Sequence[Law], head: Head) -> Iterator[Figure]:
    """Yield a figure for each factor and each combination of the other factors."""
    groups = grouped(laws, lambda law: (law.variable, law.held.key))
    for number, group in enumerate(groups.values()):
        points = [(law, point) for law in group for point in law.points]
        times = [bound for _, point in points for bound in point.measured_s.bounds]
        across = group[0].variable
        yield Figure(
            key=f"scaling-{number}",
            title=_held(group[0].held, head),
            caption="Medians with intervals, and the fitted laws.",
            traces=[trace for law in group for trace in _traces(law, NAMES[law.feature])],
            layout={
                "xaxis": count_axis(across, [point.x for _, point in points]),
                "yaxis": log_axis("time", times, "s"),
            },
            table=Table(
                ["time", across, "measured [95 %]"],
                [[NAMES[law.feature], f"{point.x:g}", in_unit(point.measured_s, "s")] for law, point in points],
            ),
            origins=["emulated" if head.lab else "measured"],
        )


def _traces(law: Law, name: str) -> Iterator[Plot]:
    slot = SLOTS[law.feature]
    points = [(point.x, point.measured_s) for point in law.points]
    yield with_intervals(((x, time, f"{name}: {in_unit(time, 's')} at {x:g}") for x, time in points), name, slot)
    if not law.reason:
        fine = np.geomspace(points[0][0], points[-1][0], STEPS)
        fitted = [seconds if seconds > 0 else None for seconds in curve(law, fine).tolist()]
        yield modeled(fine.tolist(), fitted, slot)
