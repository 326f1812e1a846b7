"""Predictions of algorithms, and their errors.

The phase formulas are evaluated with the results of the lower levels: messages, halo exchanges and collectives
take their measured times, and computation takes the time of one rank for a block of that size. No run of the
predicted program on several ranks is an input: each such run is a test.
"""

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

import hpcscope.models.prediction.costs
from hpcscope.catalog.benchmark import Phase, Value
from hpcscope.catalog.catalog import PROGRAM_LEVELS, Catalog
from hpcscope.errors import UsageError
from hpcscope.grouping import grouped
from hpcscope.models.measurements import Measurements
from hpcscope.models.prediction.contention import Contention
from hpcscope.models.prediction.costs.declared import Declared
from hpcscope.models.prediction.costs.steps import Costs, LocalWork, Messages, NeighborExchange, Problem
from hpcscope.models.prediction.measured_costs import MeasuredCosts, NotMeasuredError
from hpcscope.models.prediction.model_error import ModelError
from hpcscope.models.prediction.one_process import RAN, OneProcess
from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.models.scaling.speedup import totals
from hpcscope.plan.case import Case
from hpcscope.samples.samples import Floats
from hpcscope.statistics.bootstrap import DRAWS, estimate
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict

FEWEST_FOR_MEDIAN = 3
COMMUNICATION: tuple[Phase, ...] = ("distribute", "exchange", "collect")


class Prediction(Strict):
    """An algorithm's phase formulas with the measured lower levels, compared with all measured cases."""

    subject: Case
    """The case without size and grid; its `ranks` is the largest number of ranks."""
    origin: Literal["simulated"] = "simulated"
    """Origin of the prediction; the times it is compared with were measured, if only in an emulated cluster."""
    source: str
    parameters_from: list[str]
    """The measurements with which the formulas are evaluated."""
    points: list[PredictedPoint]
    median_error: float | None
    """Median absolute error of the validated points without oversubscription; None if there are fewer than
    three such points."""
    reason: str = ""
    """Why nothing could be predicted or validated."""

    @property
    def errors(self) -> list[float]:
        """The errors that count: predicted over measured total, minus 1."""
        return [point.error for point in self.points if point.is_counted and point.error is not None]

    @property
    def typical_error(self) -> float:
        """The median error; the largest error if there are fewer than three."""
        return self.median_error or max(map(abs, self.errors))


def all_costs(catalog: Catalog) -> dict[str, Costs]:
    """Return the costs of every program by its benchmark: from files, and as declared by benchmarks themselves."""
    declared: dict[str, Costs] = {
        benchmark.name: Declared(benchmark)
        for benchmark in catalog
        if benchmark.level in PROGRAM_LEVELS and benchmark.costs
    }
    return declared | _costs_with_a_file()


@cache
def _costs_with_a_file() -> dict[str, Costs]:
    """Return the costs that need more than expressions, by walking the package."""
    modules = [
        importlib.import_module(f"hpcscope.models.prediction.costs.{info.name}")
        for info in pkgutil.iter_modules(hpcscope.models.prediction.costs.__path__)
    ]
    found: list[Costs] = [module.COSTS for module in modules if hasattr(module, "COSTS")]
    return {costs.benchmark: costs for costs in found}


@dataclass(frozen=True)
class Seconds:
    """The results of the formulas, each of the shape (1 + draws,)."""

    phases_s: dict[Phase, Floats]
    hidden_s: Floats
    """Messages that overlap with the computation, as long as it lasts."""
    names: tuple[str, ...]
    """The sources of the values."""
    beyond: tuple[str, ...]

    @property
    def compute_s(self) -> Floats:
        """Return the time of computation."""
        return self.phases_s["compute"]

    @property
    def communicate_s(self) -> Floats:
        """The visible part of communication."""
        shown = sum((self.phases_s[phase] for phase in COMMUNICATION), np.zeros(1 + DRAWS))
        return np.asarray(shown + np.maximum(self.hidden_s - self.compute_s, 0.0), dtype=np.float64)

    @property
    def total_s(self) -> Floats:
        """Return the total time."""
        return np.asarray(self.phases_s["initialize"] + self.compute_s + self.communicate_s, dtype=np.float64)


class Predictor:
    """One program over one transport, with the parameters that a run measured."""

    def __init__(self, costs: Costs, measurements: Measurements, transport: str = "default") -> None:
        self._costs = costs
        self._catalog = measurements.catalog
        self._below = MeasuredCosts(measurements, transport)
        self._one = OneProcess(costs, measurements)
        self._contention = Contention(measurements)

    def seconds(self, problem: Problem, outside: bool | None = None) -> Seconds:
        """Evaluate the formulas; raises NotMeasuredError if the run lacks a parameter.

        `outside`: whether messages go between hosts. By default they do if such a path was measured, and either
        the ranks outnumber the processors of one host or no two ranks of the run shared a host.
        """
        if outside is None:
            outside = self._below.between_hosts(problem.ranks)
        problem = replace(problem, counts=self._one.counts(problem))
        phases: dict[Phase, Floats] = defaultdict(lambda: np.zeros(1 + DRAWS))
        hidden = np.zeros(1 + DRAWS)
        names: list[str] = []
        beyond: list[str] = []
        for step in self._costs.steps(problem):
            if isinstance(step, LocalWork):
                time_s, far = self._one.time(step, problem)
                if step.phase == "compute":
                    touched, busy = self._costs.touched_bytes(step.like), self._below.on_a_host(problem.ranks)
                    time_s = self._contention.longer(time_s, busy, touched, step.passes)
                name = f"{self._costs.benchmark} on one rank"
            elif step.count <= 0:
                continue
            elif isinstance(step, Messages):
                time_s, name, far = self._below.messages(step, outside)
            elif isinstance(step, NeighborExchange):
                time_s, name, far = self._below.neighbor_exchange(step, outside)
            else:
                time_s, name, far = self._below.collective(step, outside, problem.ranks)
            if isinstance(step, Messages) and step.hidden:
                hidden = hidden + time_s
            else:
                phases[step.phase] = phases[step.phase] + time_s
            names.append(name)
            beyond.append(far)
        return Seconds(phases, hidden, _once(names), _once(beyond))

    def point(self, problem: Problem, outside: bool | None = None) -> PredictedPoint:
        """Return the prediction of one case; raises NotMeasuredError or UsageError if it is impossible."""
        if reason := self._costs.refuses(problem):
            raise UsageError(f"{self._costs.benchmark}: {reason}")
        seconds = self.seconds(problem, outside)
        grid = self._catalog.grid(self._costs.benchmark, problem.parameters)
        alone = replace(problem, ranks=1, parameters=problem.parameters | dict.fromkeys(grid, 0))
        one = self.seconds(alone, outside=False)
        if problem.ranks == 1:
            return self._alone(problem, seconds, grid)
        return PredictedPoint(
            size=problem.size,
            ranks=problem.ranks,
            grid=grid,
            compute_s=estimate(seconds.compute_s),
            communicate_s=estimate(seconds.communicate_s),
            hidden_s=float(np.minimum(seconds.hidden_s, seconds.compute_s)[0]),
            total_s=estimate(seconds.total_s),
            speedup=estimate(one.total_s / seconds.total_s),
            role="predicted",
            beyond=[
                *_once([self._below.beyond_a_host(problem.ranks) if outside is None else ""]),
                *seconds.beyond,
            ],
        )

    def _alone(self, problem: Problem, seconds: Seconds, grid: dict[str, Value]) -> PredictedPoint:
        """Return the point for one rank: no communication, no speedup, and the measured time if there is one."""
        total = self._one.total(problem)
        return PredictedPoint(
            size=problem.size,
            ranks=1,
            grid=grid,
            compute_s=estimate(seconds.compute_s) if total else Estimate(value=float(seconds.compute_s[0])),
            communicate_s=Estimate.exact(0.0),
            total_s=total or Estimate(value=float(seconds.total_s[0])),
            speedup=Estimate.exact(1.0),
            role="predicted",
            beyond=[*seconds.beyond],
        )


def predictions(measurements: Measurements) -> list[Prediction]:
    """Predict every program at every measured point, and compare prediction and measurement."""
    costs = all_costs(measurements.catalog)
    cases = (case for case in totals(measurements) if case.benchmark in costs and case.origin in RAN)
    groups = grouped(cases, lambda case: (case.benchmark, *_given(case, measurements), case.transport))
    several = [groups[key] for key in sorted(groups, key=str) if any(s.ranks > 1 for s in groups[key])]
    found = [_prediction(group, costs[group[0].benchmark], measurements) for group in several]
    error = error_of(found)
    return [
        prediction.model_copy(
            update={"points": [error.widened(point, prediction.points) for point in prediction.points]}
        )
        for prediction in found
    ]


def error_of(held: Iterable[Prediction]) -> ModelError:
    """Return the error of the formulas, from all predictions of a run that have a measurement."""
    return ModelError(point for prediction in held for point in prediction.points)


def _given(case: Summary, measurements: Measurements) -> tuple[tuple[str, object], ...]:
    left_out = _varying(case, measurements)
    return tuple(sorted((k, v) for k, v in case.parameters.items() if k not in left_out))


def _varying(case: Case, measurements: Measurements) -> set[str]:
    """Return the parameters over which a prediction is made: the size and the extents of the grid."""
    catalog = measurements.catalog
    sizes = catalog.of_role(case.benchmark, case.parameters, "size")
    return {*sizes, *catalog.grid(case.benchmark, case.parameters)}


def _prediction(group: list[Summary], costs: Costs, measurements: Measurements) -> Prediction:
    first = group[0]
    predictor = Predictor(costs, measurements, first.transport)
    points: list[PredictedPoint] = []
    names: list[str] = []
    reasons: list[str] = []
    for case in sorted(group, key=lambda s: (measurements.size(s), s.ranks)):
        problem = problem_of(case, measurements.catalog)
        outside = len(set(measurements.hosts(case))) > 1
        try:
            point = predictor.point(problem, outside)
            names += predictor.seconds(problem, outside).names
        except (NotMeasuredError, UsageError) as error:
            reasons.append(str(error))
            continue
        points.append(_beside(point, case, measurements))
    errors = [abs(p.error) for p in points if p.is_counted and p.error is not None]
    return Prediction(
        subject=first.without(
            measurements.catalog, *_varying(first, measurements), ranks=max(s.ranks for s in group)
        ),
        source=costs.source,
        parameters_from=list(_once(names)),
        points=points,
        median_error=float(np.median(errors)) if len(errors) >= FEWEST_FOR_MEDIAN else None,
        reason="; ".join(_once(reasons)),
    )


def problem_of(case: Case, catalog: Catalog) -> Problem:
    """Return the problem of a measured case."""
    sizes = catalog.of_role(case.benchmark, case.parameters, "size")
    parameters = {name: value for name, value in case.parameters.items() if name not in sizes}
    return Problem(catalog.size(case.benchmark, case.parameters) or 0, case.ranks, parameters)


def _beside(point: PredictedPoint, total: Summary, measurements: Measurements) -> PredictedPoint:
    """Compare measured times with predicted ones."""
    phases = {
        s.metric: s.median
        for s in measurements.summaries
        if s.metric in ("compute_s", "communicate_s") and s.samples_key == total.samples_key
    }
    is_input = total.ranks == 1
    return point.model_copy(
        update={
            "role": "input" if is_input else "validated",
            "measured_compute_s": phases.get("compute_s"),
            "measured_communicate_s": None if is_input else phases.get("communicate_s"),
            "measured_total_s": total.estimate,
            "error": None if is_input else point.total_s.value / total.estimate.value - 1,
            "oversubscribed": measurements.is_oversubscribed(total),
        }
    )


def _once(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if word))
