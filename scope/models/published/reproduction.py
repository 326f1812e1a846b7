"""Published figures beside those of a run: ratios and speed-ups are comparable, seconds are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from scope.catalog.benchmark import Value
from scope.errors import UsageError
from scope.models.measurements import Measurements
from scope.models.prediction.costs.steps import Problem
from scope.models.prediction.costs.strassen import ROUNDS
from scope.models.prediction.measured_costs import NotMeasuredError
from scope.models.prediction.points import PredictedPoint
from scope.models.prediction.prediction import Predictor, all_costs, problem_of
from scope.models.published.reference import Column, Reference, Single
from scope.models.scaling.speedup import Speedup
from scope.statistics.summary import Summary
from scope.strict import Strict

MOST_RANKS = 64
"""Largest number of processes considered for the predicted critical count."""


Holds = Literal["yes", "no", "undecided", ""]
"""Whether a published relation holds here; empty where none is stated, or nothing was measured."""


class Row(Strict):
    """One figure: as published, as predicted for this machine, and as measured here."""

    row: str
    published: float | None
    predicted: float | None
    measured: float | None
    unit: str
    limit: float | None
    """The bound of the figure: of a speed-up the number of processes, which it exceeds only thanks to caches."""
    origin: Literal["measured", "emulated", "simulated", "published"]
    """Of our figure: the measured one, else the predicted one; `published` without either."""
    size: int
    """The size that was used here."""
    ranks: int
    remark: str
    line: str = ""
    """Of a published table: the line in which the figure stands, and its column; empty outside of any."""
    column: str = ""
    where: str = ""
    """Figure, table or section of the source, where the experiment has several."""
    says: str = ""
    """What the source prints, in its own kind; empty where the published figure says it."""
    relation: str = ""
    """What must hold of our figure; empty where it is for orientation only."""
    holds: Holds = ""


@dataclass(frozen=True)
class Known:
    """The results of a run, looked up at the points of a published experiment."""

    measurements: Measurements
    speedups: list[Speedup]
    sizes: Mapping[int, int]
    """The counterpart of each published size."""
    _predictors: dict[str, Predictor] = field(default_factory=dict)

    def here(self, size: int) -> int:
        """Return the counterpart of a published size."""
        return self.sizes.get(size, size)

    def summary(
        self, benchmark: str, parameters: Mapping[str, Value], size: int, ranks: int, metric: str = "time_s"
    ) -> Summary | None:
        """Return the measurement at a published point; on one process parallel parameters have no effect."""
        catalog = self.measurements.catalog
        if benchmark not in catalog:
            return None
        without = catalog.of_role(benchmark, parameters, "parallel") if ranks == 1 else {}
        wanted = {name: value for name, value in parameters.items() if name not in without}
        return next(
            (
                s
                for s in self.measurements.headlines
                if (s.benchmark, s.metric, s.ranks, s.transport) == (benchmark, metric, ranks, "default")
                and self.measurements.size(s) == self.here(size)
                and wanted.items() <= s.parameters.items()
            ),
            None,
        )

    def median(
        self, benchmark: str, parameters: Mapping[str, Value], size: int, ranks: int, metric: str = "time_s"
    ) -> float | None:
        """Return its median."""
        found = self.summary(benchmark, parameters, size, ranks, metric)
        return found.median if found else None

    def predicted(
        self, benchmark: str, parameters: Mapping[str, Value], size: int, ranks: int
    ) -> PredictedPoint | None:
        """Return the prediction from the measured costs; None where the run lacks a parameter."""
        catalog = self.measurements.catalog
        one = self.summary(benchmark, parameters, size, 1)
        costs = all_costs(catalog).get(benchmark)
        if one is None or costs is None:
            return None
        if benchmark not in self._predictors:
            self._predictors[benchmark] = Predictor(costs, self.measurements)
        given = problem_of(one, catalog).parameters | dict(parameters)
        problem = Problem(self.here(size), ranks, given)
        if costs.refuses(problem):
            return None
        try:
            return self._predictors[benchmark].point(problem)
        except (NotMeasuredError, UsageError):
            return None

    def over(self, ranks: int) -> bool:
        """Return whether this number of processes was oversubscribed."""
        return any(batch[0] == ranks for batch in self.measurements.oversubscribed)

    @property
    def counts(self) -> list[int]:
        """The numbers of processes that algorithms were run on."""
        catalog = self.measurements.catalog
        return sorted(
            {
                s.ranks
                for s in self.measurements.summaries
                if s.ranks > 1 and catalog[s.benchmark].level == "algorithm"
            }
        )


def rows(reference: Reference, known: Known) -> list[Row]:
    """Return the published figures in order, each with ours, then our speed-ups on our own process counts."""
    found = [*_table(reference, known), *(_single(one, known) for one in reference.figure)]
    if reference.case or reference.figure:
        found += _own(reference, known)
    return found


def _table(reference: Reference, known: Known) -> Iterator[Row]:
    columns = {column.key: column for column in reference.column}
    cases = {(int(case["size"]), int(case["ranks"])): case for case in reference.case}
    for size, ranks in cases:
        for column in reference.column:
            published = _published(column, cases, size, ranks)
            ours = [_value(column, columns, way, size, ranks) for way in (_predicted(known), _measured(known))]
            words = f"{column.words}, N = {size}, {ranks} process{'es' if ranks > 1 else ''}"
            unit = "s" if column.benchmark else "1"
            limit = float(ranks) if column.speedup_of else None
            yield _row(words, published, ours[0], ours[1], unit, limit, known, size, ranks)


Time = Callable[[str, Mapping[str, Value], int, int], float | None]


def _measured(known: Known) -> Time:
    return lambda benchmark, parameters, size, ranks: known.median(benchmark, parameters, size, ranks)


def _predicted(known: Known) -> Time:
    def time_s(benchmark: str, parameters: Mapping[str, Value], size: int, ranks: int) -> float | None:
        point = known.predicted(benchmark, parameters, size, ranks)
        return point.total_s.value if point else None

    return time_s


def _published(
    column: Column, cases: Mapping[tuple[int, int], Mapping[str, float]], size: int, ranks: int
) -> float | None:
    case = cases[size, ranks]
    if column.key in case:
        return case[column.key]
    if column.over is not None:
        return _quotient(case.get(column.over[0]), case.get(column.over[1]))
    one = cases.get((size, 1), {})
    return _quotient(one.get(column.speedup_of or ""), case.get(column.speedup_of or ""))


def _value(column: Column, columns: Mapping[str, Column], time: Time, size: int, ranks: int) -> float | None:
    def of(key: str, count: int) -> float | None:
        return time(columns[key].benchmark, columns[key].parameters, size, count)

    if column.over is not None:
        return _quotient(of(column.over[0], ranks), of(column.over[1], ranks))
    if column.speedup_of is not None:
        return _quotient(of(column.speedup_of, 1), of(column.speedup_of, ranks))
    return of(column.key, ranks)


def _single(one: Single, known: Known) -> Row:
    limit = float(one.ranks) if "speedup" in one.quantity else None
    unit = "s" if one.quantity in ("time", "exchange") else "1"
    size = one.size or max(one.sizes)
    predicted, measured = _single_values(one, known)
    return _row(one.words, one.published, predicted, measured, unit, limit, known, size, one.ranks)


def _single_values(one: Single, known: Known) -> tuple[float | None, float | None]:
    name, given, size, ranks = one.benchmark, one.parameters, one.size, one.ranks
    if one.quantity == "time":
        return _predicted(known)(name, given, size, ranks), known.median(name, given, size, ranks)
    if one.quantity == "exchange":
        return None, known.median(name, given, size, ranks, "exchange_s")
    if one.quantity == "exchange_ratio":
        times = [known.median(name, each, size, ranks, "exchange_s") for each in (given, one.over)]
        return _rounds(one), _quotient(*times)
    if one.quantity == "critical_count":
        return _predicted_critical(one, known), _fitted_critical(one, known)
    if one.quantity in ("least_speedup", "largest_speedup"):
        choose = min if one.quantity == "least_speedup" else max
        both = [_speedups(one, known, each) for each in one.sizes]
        predicted = [p for p, _ in both if p is not None]
        measured = [m for _, m in both if m is not None]
        return choose(predicted, default=None), choose(measured, default=None)
    return _speedups(one, known, size)


def _speedups(one: Single, known: Known, size: int) -> tuple[float | None, float | None]:
    metric = "compute_s" if one.quantity == "compute_speedup" else "time_s"
    points = [known.predicted(one.benchmark, one.parameters, size, ranks) for ranks in (1, one.ranks)]
    times = [known.median(one.benchmark, one.parameters, size, ranks, metric) for ranks in (1, one.ranks)]
    if metric == "compute_s":
        predicted = [point.compute_s.value if point else None for point in points]
    else:
        predicted = [point.total_s.value if point else None for point in points]
    return _quotient(*predicted), _quotient(*times)


def _rounds(one: Single) -> float | None:
    """Return the ratio of the successive messages in the two orders of Strassen's second session."""
    return _quotient(*(ROUNDS.get(str(each.get("schedule"))) for each in (one.parameters, one.over)))


def _predicted_critical(one: Single, known: Known) -> float | None:
    """Return the number of processes with the shortest predicted time."""
    times = [
        (point.total_s.value, ranks)
        for ranks in range(1, MOST_RANKS + 1)
        if (point := known.predicted(one.benchmark, one.parameters, one.size, ranks)) is not None
    ]
    return float(min(times)[1]) if len(times) == MOST_RANKS else None


def _fitted_critical(one: Single, known: Known) -> float | None:
    for speedup in known.speedups:
        same = speedup.subject.benchmark == one.benchmark and speedup.size == known.here(one.size)
        if same and one.parameters.items() <= speedup.subject.parameters.items() and speedup.amdahl:
            critical = speedup.amdahl.critical_ranks
            return critical.value if critical else None
    return None


def _own(reference: Reference, known: Known) -> Iterator[Row]:
    """Yield the measured speed-ups on all numbers of processes that were run, published or not."""
    kinds = {(c.benchmark, tuple(sorted(c.parameters.items()))): c.words for c in reference.column if c.benchmark}
    singles = {
        (one.benchmark, tuple(sorted(one.parameters.items()))): one.benchmark.partition(".")[2]
        for one in reference.figure
    }
    sizes = sorted(
        {int(case["size"]) for case in reference.case} | {s for f in reference.figure for s in _sizes(f)}
    )
    for (benchmark, given), words in {**singles, **kinds}.items():
        for size in sizes:
            for ranks in known.counts:
                one = Single(
                    words=words,
                    quantity="speedup",
                    benchmark=benchmark,
                    parameters=dict(given),
                    size=size,
                    ranks=ranks,
                    published=0.0,
                )
                predicted, measured = _speedups(one, known, size)
                if measured is not None:
                    chosen = "".join(f", {k}={v}" for k, v in given if k == "schedule")
                    name = f"{words}{chosen}, speed-up here, size {known.here(size)} on {ranks} processes"
                    yield _row(name, None, predicted, measured, "1", float(ranks), known, size, ranks)


def _sizes(one: Single) -> list[int]:
    return one.sizes or [one.size]


def _quotient(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _row(
    words: str,
    published: float | None,
    predicted: float | None,
    measured: float | None,
    unit: str,
    limit: float | None,
    known: Known,
    size: int,
    ranks: int,
) -> Row:
    remarks = [f"size {known.here(size)} here"] if known.here(size) != size else []
    if measured is None:
        remarks.append("not measured here")
    elif known.over(ranks):
        remarks.append("more processes than processors")
    return Row(
        row=words,
        published=published,
        predicted=predicted,
        measured=measured,
        unit=unit,
        limit=limit,
        origin="measured" if measured is not None else "simulated" if predicted is not None else "published",
        size=known.here(size),
        ranks=ranks,
        remark="; ".join(remarks),
    )
