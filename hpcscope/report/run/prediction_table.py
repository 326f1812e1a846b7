"""Rows of tables of predictions."""

from collections.abc import Mapping

from hpcscope import units
from hpcscope.catalog.benchmark import Value
from hpcscope.models.prediction.best_grid import grid_of
from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.models.prediction.prediction import Prediction
from hpcscope.report.wording import sentence
from hpcscope.statistics.estimate import Estimate, in_unit

VALIDATED = ["size", "ranks", "predicted", "measured", "error", "compute", "communicate", "remarks"]


def kind(prediction: Prediction) -> str:
    """Return the predicted benchmark with its parameters."""
    words = [prediction.subject.benchmark, *(f"{k}={v}" for k, v in prediction.subject.parameters.items())]
    words += [prediction.subject.transport] if prediction.subject.transport != "default" else []
    return " ".join(words)


def summary(prediction: Prediction) -> str:
    """Return the errors of the predictions in words: each error if there are too few for a median."""
    errors = prediction.errors
    if not errors:
        return "not validated by any measurement" + (f": {prediction.reason}" if prediction.reason else "")
    points = units.count(len(errors), "measured point")
    if prediction.median_error is None:
        each = sentence([units.change(error) for error in errors])
        return f"error{'s' if len(errors) != 1 else ''} {each}, of {points}"
    worst = max(map(abs, errors))
    return f"median error {units.share(prediction.median_error)}, largest {units.share(worst)}, over {points}"


def predicted_columns(gridded: bool, stepping: bool) -> list[str]:
    """Return the column names of the table of predictions, including the bar and the remarks."""
    grid, step = ["grid"] if gridded else [], ["per step"] if stepping else []
    return ["ranks", *grid, "compute", "communicate", "total", *step, "speedup", "efficiency", "", "beyond"]


def predicted_row(point: PredictedPoint, gridded: bool = False, steps: int | None = None) -> list[str]:
    """Return the cells of one prediction, without its bar and its remarks."""
    grid = grid_of(point)
    return [
        f"{point.ranks}",
        *([rows_by_columns(grid) if grid else "–"] if gridded else []),
        in_unit(point.compute_s, "s"),
        in_unit(point.communicate_s, "s") + (f", {_hidden(point)}" if point.hidden_s else ""),
        in_unit(point.total_s, "s"),
        *([in_unit(point.total_s.scaled(1 / steps), "s")] if steps else []),
        in_unit(point.speedup),
        units.share(point.speedup.value / point.ranks),
    ]


def validated_row(point: PredictedPoint) -> list[str]:
    """Return the cells of one measured point."""
    remarks = ["the rates come from this case"] if point.role == "input" else []
    remarks += ["more ranks than processors"] if point.oversubscribed else []
    remarks += [_hidden(point)] if point.hidden_s else []
    remarks += grid_words(point.grid)
    return [
        f"{point.size}",
        f"{point.ranks}",
        in_unit(point.total_s, "s"),
        in_unit(point.measured_total_s, "s"),
        units.change(point.error) if point.error is not None else "–",
        _both(point.compute_s, point.measured_compute_s),
        _both(point.communicate_s, point.measured_communicate_s),
        "; ".join([*remarks, *point.beyond]),
    ]


def rows_by_columns(grid: tuple[int, int]) -> str:
    """Return the rows and columns of a process grid."""
    return f"{grid[0]} x {grid[1]}"


def grid_words(grid: Mapping[str, Value]) -> list[str]:
    """Return the extents of a process grid in words, without the extents that the algorithm chooses itself."""
    extents = ((value, name.removeprefix("grid_").replace("_", " ")) for name, value in grid.items() if value)
    return [f"{value} {name.removesuffix('s') if value == 1 else name}" for value, name in extents]


def _hidden(point: PredictedPoint) -> str:
    return f"up to {units.quantity(point.hidden_s, 's')} more if no communication is hidden"


def _both(estimate: Estimate, other: float | None) -> str:
    return f"{units.quantity(estimate.value, 's')} / {units.quantity(other, 's')}"
