"""Predicted times of an algorithm on more processes, validated by measured points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scope.catalog.catalog import Catalog
from scope.engine.results import Run
from scope.errors import UsageError
from scope.models.prediction.costs.steps import Problem
from scope.models.prediction.measured_costs import NotMeasuredError
from scope.models.prediction.points import PredictedPoint
from scope.models.prediction.prediction import Prediction, Predictor, all_costs, error_of


@dataclass(frozen=True)
class PredictOptions:
    """Options of `scope predict`."""

    algorithm: str
    """A benchmark by its short or its whole name."""
    n: int
    """Order of the matrix or grid, or elements to sort."""
    ranks: Sequence[int] = tuple(range(1, 17))
    grid_rows: int = 0
    """Rows of the process grid; 0: as square as the number of processes allows."""
    transport: str = "default"
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Further parameters of the benchmark."""


@dataclass(frozen=True)
class Predicted:
    """Predictions, and how wrong such predictions were where they were measured."""

    validation: Prediction
    points: list[PredictedPoint]


def predict(run: Path, options: PredictOptions) -> Predicted:
    """Predict an algorithm on some numbers of processes from the measurements of a run.

    Raises UsageError where nothing measured can validate the prediction, or where no number of processes fits.
    """
    known = Run(run)
    benchmark = _benchmark(options.algorithm, known.benchmarks)
    if options.n < 1:
        raise UsageError(f"--n {options.n}: must be at least 1")
    validation = _validation(known, benchmark, options.parameters, options.transport)
    rows = {"grid_rows": options.grid_rows} if options.grid_rows else {}
    parameters = validation.subject.parameters | rows
    most = max(point.ranks for point in validation.points if point.error is not None)
    wanted = [Problem(options.n, count, parameters) for count in options.ranks]
    error = error_of(known.models.predictions)
    points = [
        error.widened(_marked(point, most), validation.points)
        for point in _points(known, benchmark, options.transport, wanted)
    ]
    if not points:
        counts = ",".join(map(str, options.ranks))
        raise UsageError(f"--ranks {counts}: {options.algorithm} cannot run on any of these")
    return Predicted(validation, points)


def _benchmark(algorithm: str, catalog: Catalog) -> str:
    """Return the name of a benchmark that has a cost model."""
    known = {costs.name: costs.benchmark for costs in all_costs(catalog).values()}
    if algorithm in known.values():
        return algorithm
    if algorithm not in known:
        raise UsageError(f"--algorithm {algorithm}: must be one of {', '.join(sorted(known))}")
    return known[algorithm]


def _validation(known: Run, benchmark: str, given: Mapping[str, str], transport: str) -> Prediction:
    """Return the requested validation; of several that fit, the one nearest to the defaults."""
    mine = [
        one
        for one in known.models.predictions
        if one.subject.benchmark == benchmark and one.subject.transport == transport
    ]
    fitting = [one for one in mine if all(str(one.subject.parameters.get(k)) == v for k, v in given.items())]
    validated = [one for one in fitting if one.median_error is not None]
    if not validated:
        words = " ".join([benchmark, *(f"{key}={value}" for key, value in given.items())])
        reason = next((f" ({one.reason})" for one in fitting if one.reason), "")
        raise UsageError(
            f"{known.path}: no measured point to validate {words} against{reason}: "
            f"run `scope run mpi.latency {benchmark}` first, on one process and on several"
        )
    declared = known.benchmarks.get(benchmark)
    defaults = {one.name: one.default for one in declared.parameters} if declared else {}
    return max(validated, key=lambda one: sum(defaults.get(k) == v for k, v in one.subject.parameters.items()))


def _points(known: Run, benchmark: str, transport: str, wanted: Iterable[Problem]) -> list[PredictedPoint]:
    """Predict each problem, leaving out numbers of processes that the algorithm cannot use."""
    costs = all_costs(known.benchmarks)[benchmark]
    predictor = Predictor(costs, known.measurements, transport)
    try:
        return [predictor.point(problem) for problem in wanted if not costs.refuses(problem)]
    except NotMeasuredError as error:
        raise UsageError(f"{known.path}: {error}") from error


def _marked(point: PredictedPoint, most: int) -> PredictedPoint:
    """Mark a prediction for more processes than any that was measured."""
    if point.ranks <= most:
        return point
    return point.model_copy(update={"beyond": [f"more than the {most} ranks that were validated", *point.beyond]})
