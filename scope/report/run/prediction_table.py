"""Tables of predictions for the terminal, and their rows for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from string import ascii_lowercase

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scope import units
from scope.catalog.benchmark import Value
from scope.models.prediction.points import PredictedPoint
from scope.models.prediction.prediction import Prediction
from scope.statistics.estimate import Estimate

PREDICTED = ["size", "ranks", "compute", "communicate", "total", "speed-up", "efficiency", "beyond"]
VALIDATED = ["size", "ranks", "predicted", "measured", "error", "compute", "communicate", "remarks"]


def predicted(validation: Prediction, points: Sequence[PredictedPoint]) -> RenderableType:
    """Return the table of predictions with the sources of their parameters."""
    notes = list(dict.fromkeys(note for point in points for note in point.beyond))
    letters = dict(zip(notes, _letters(), strict=False))
    return Group(
        Text(f"{kind(validation)}: predicted ({validation.origin})"),
        _table(
            PREDICTED,
            [
                [*predicted_row(point), " ".join(sorted(letters[note] for note in point.beyond))]
                for point in points
            ],
        ),
        *(Text(f"{letter}  beyond the measurements: {note}") for note, letter in letters.items()),
        Text("parameters from " + "; ".join(validation.parameters_from)),
        Text(f"formulas: {validation.source}"),
        Text(""),
    )


def validated(validation: Prediction) -> RenderableType:
    """Return the table of predicted and measured times with the median error."""
    return Group(
        Text("predicted and measured"),
        _table(VALIDATED, [validated_row(point) for point in validation.points]),
        Text(summary(validation)),
    )


def kind(prediction: Prediction) -> str:
    """Return the predicted benchmark with its parameters."""
    words = [prediction.subject.benchmark, *(f"{k}={v}" for k, v in prediction.subject.parameters.items())]
    words += [prediction.subject.transport] if prediction.subject.transport != "default" else []
    return " ".join(words)


def summary(prediction: Prediction) -> str:
    """Return the errors of the predictions in words."""
    counted = [p for p in prediction.points if p.error is not None and not p.oversubscribed]
    if prediction.median_error is None:
        return "not validated by any measurement" + (f": {prediction.reason}" if prediction.reason else "")
    worst = max(abs(p.error or 0.0) for p in counted)
    points = f"{len(counted)} measured point{'s' if len(counted) != 1 else ''}"
    return f"median error {units.share(prediction.median_error)}, largest {units.share(worst)}, over {points}"


def _letters() -> Iterator[str]:
    return map("".join, chain(product(ascii_lowercase), product(ascii_lowercase, repeat=2)))


def predicted_row(point: PredictedPoint) -> list[str]:
    """Return the cells of one prediction, without its remarks."""
    return [
        f"{point.size}",
        f"{point.ranks}",
        _time(point.compute_s),
        _time(point.communicate_s),
        _time(point.total_s),
        units.interval(point.speedup.value, point.speedup.low, point.speedup.high, ""),
        units.share(point.speedup.value / point.ranks),
    ]


def validated_row(point: PredictedPoint) -> list[str]:
    """Return the cells of one measured point."""
    remarks = ["source of the rates"] if point.role == "input" else []
    remarks += ["more processes than processors"] if point.oversubscribed else []
    remarks += grid_words(point.grid)
    return [
        f"{point.size}",
        f"{point.ranks}",
        _time(point.total_s),
        _time(point.measured_total_s) if point.measured_total_s else "–",
        f"{point.error:+.1%}" if point.error is not None else "–",
        _both(point.compute_s, point.measured_compute_s),
        _both(point.communicate_s, point.measured_communicate_s),
        "; ".join([*remarks, *point.beyond]),
    ]


def grid_words(grid: Mapping[str, Value]) -> list[str]:
    """Return the extents of a process grid in words; extents that the algorithm chooses itself are left out."""
    return [f"{value} {name.removeprefix('grid_').replace('_', ' ')}" for name, value in grid.items() if value]


def _both(one: Estimate, other: float | None) -> str:
    return f"{units.quantity(one.value, 's')} / {units.quantity(other, 's')}"


def _time(time_s: Estimate) -> str:
    return units.interval(time_s.value, time_s.low, time_s.high, "s")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        words = name in ("beyond", "remarks")
        table.add_column(name, justify="left" if words else "right", no_wrap=not words)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
