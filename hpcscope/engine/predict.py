"""Predicted times of an algorithm on more processes, validated by measured points."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.catalog import Catalog, extent
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.models.prediction.best_grid import ROWS, BestGrid, best_grids, every_rows
from hpcscope.models.prediction.costs.steps import Problem
from hpcscope.models.prediction.measured_costs import NotMeasuredError
from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.models.prediction.prediction import Prediction, Predictor, all_costs, error_of
from hpcscope.settings.simulation import PredictionSettings
from hpcscope.units import whole


@dataclass(frozen=True)
class PredictOptions(PredictionSettings):
    """Everything that `scope predict` takes."""

    algorithm: str = ""
    """A benchmark by its short or its whole name."""
    n: str = ""
    """Order of the matrix or grid, or elements to sort, possibly with Ki, Mi or Gi; or a choice such as T42."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Further parameters of the benchmark."""


@dataclass(frozen=True)
class Predicted:
    """Predictions, and how wrong such predictions were where they were measured."""

    validation: Prediction
    size: str
    """The size in the benchmark's notation: `1680`, `T42`."""
    points: list[PredictedPoint]
    best_grids: list[BestGrid]
    """Best grids for each number of ranks, if all grids were predicted."""
    steps: int | None
    """The steps of a program that reports the time per step; None for others."""


def predict(run: Path, options: PredictOptions) -> Predicted:
    """Predict an algorithm on some numbers of processes from the measurements of a run.

    Raises UsageError if no measured point can validate the prediction, or if no number of processes fits.
    """
    known = Run(run)
    benchmark = _benchmark(options.algorithm, known.benchmarks)
    size = size_of(options.n, benchmark, known.benchmarks)
    _refuse_grids(options, benchmark, known.benchmarks)
    validation = _validation(known, benchmark, options.parameters, options.transport)
    parameters = validation.subject.parameters
    most = max(point.ranks for point in validation.points if point.error is not None)
    wanted = [
        Problem(size, count, parameters | grid) for count in options.ranks for grid in _grids(options, count)
    ]
    error = error_of(known.models.predictions)
    points = [
        error.widened(_marked(point, most), validation.points)
        for point in _points(known, benchmark, options.transport, wanted)
    ]
    if not points:
        counts = ",".join(map(str, options.ranks))
        reason = all_costs(known.benchmarks)[benchmark].refuses(wanted[0])
        raise UsageError(f"--ranks {counts}: {options.algorithm} cannot run on any of these: {reason}")
    if options.grids:
        points.sort(key=lambda point: (options.ranks.index(point.ranks), point.total_s.value))
    best = best_grids(points, validation.typical_error) if options.grids else []
    return Predicted(validation, options.n, points, best, _steps(benchmark, parameters, known.benchmarks))


def size_of(text: str, benchmark: str, catalog: Catalog) -> int:
    """Return the size as a number; UsageError for a size that the benchmark does not have."""
    declared = catalog.get(benchmark)
    sizes = [parameter for parameter in declared.parameters if parameter.role == "size"] if declared else []
    choices = next((parameter.choices for parameter in sizes if parameter.choices), [])
    if choices:
        number = extent(text) if text in choices else None
        if number is None:
            raise UsageError(f"--n {text}: must be one of {', '.join(choices)}")
        return number
    try:
        number = whole(text)
    except ValueError:
        raise UsageError(f"--n {text}: must be an integer, possibly with Ki, Mi or Gi") from None
    if number < 1:
        raise UsageError(f"--n {text}: must be at least 1")
    return number


def _refuse_grids(options: PredictOptions, benchmark: str, catalog: Catalog) -> None:
    """Raise UsageError if the grids cannot be compared."""
    if options.grids and options.grid_rows:
        raise UsageError(f"--grid-rows {options.grid_rows}: not valid with --grids, which predicts all grids")
    if options.grids and (
        benchmark not in catalog or ROWS not in catalog.grid(benchmark, catalog.defaults(benchmark))
    ):
        raise UsageError(f"--grids: {options.algorithm} has no process grid to choose")


def _grids(options: PredictOptions, ranks: int) -> list[dict[str, Value]]:
    """Return the parameters of the process grids to predict."""
    if options.grids:
        return [{ROWS: rows} for rows in every_rows(ranks)]
    return [{ROWS: options.grid_rows}] if options.grid_rows else [{}]


def _steps(benchmark: str, parameters: Mapping[str, Value], catalog: Catalog) -> int | None:
    declared = catalog.get(benchmark)
    stepping = declared is not None and any(metric.quantity == "time_per_step" for metric in declared.metrics)
    return int(parameters["steps"]) if stepping and "steps" in parameters else None


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
        prediction
        for prediction in known.models.predictions
        if prediction.subject.benchmark == benchmark and prediction.subject.transport == transport
    ]
    fitting = [
        prediction
        for prediction in mine
        if all(str(prediction.subject.parameters.get(k)) == v for k, v in given.items())
    ]
    validated = [prediction for prediction in fitting if prediction.errors]
    if not validated:
        words = " ".join([benchmark, *(f"{key}={value}" for key, value in given.items())])
        reason = next((f" ({prediction.reason})" for prediction in fitting if prediction.reason), "")
        raise UsageError(
            f"{known.path}: no measured point to validate {words} against{reason}: run `scope run --case "
            f"'mpi.latency ranks=2 message_bytes=0,1Ki,64Ki' --case '{words} ranks=1,2'` first"
        )
    declared = known.benchmarks.get(benchmark)
    defaults = {parameter.name: parameter.default for parameter in declared.parameters} if declared else {}
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
