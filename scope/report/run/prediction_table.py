"""Predictions as tables: on the terminal, and as rows for the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product
from string import ascii_lowercase

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scope import units
from scope.models.fit import Bounds, PredictedPoint, Prediction

PREDICTED = ["size", "ranks", "compute", "communicate", "total", "speed-up", "efficiency", "beyond"]
VALIDATED = ["size", "ranks", "predicted", "measured", "error", "compute", "communicate", "remarks"]


def predicted(validation: Prediction, points: Sequence[PredictedPoint]) -> RenderableType:
    """Return the table of what is predicted, and where its parameters come from."""
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
        *(Text(f"{letter}  beyond what was measured: {note}") for note, letter in letters.items()),
        Text("from " + "; ".join(validation.parameters_from)),
        Text(f"formulas: {validation.source}"),
        Text(""),
    )


def validated(validation: Prediction) -> RenderableType:
    """Return the table of what was measured beside what is predicted, and the median error."""
    return Group(
        Text("predicted beside measured"),
        _table(VALIDATED, [validated_row(point) for point in validation.points]),
        Text(summary(validation)),
    )


def kind(prediction: Prediction) -> str:
    """Name what is predicted."""
    words = [prediction.subject.benchmark, *(f"{k}={v}" for k, v in prediction.subject.parameters.items())]
    words += [prediction.subject.transport] if prediction.subject.transport != "default" else []
    return " ".join(words)


def summary(prediction: Prediction) -> str:
    """Say in a sentence how wrong the predictions are."""
    counted = [p for p in prediction.points if p.error is not None and not p.oversubscribed]
    if prediction.median_error is None:
        return "no measured point validates it" + (f": {prediction.reason}" if prediction.reason else "")
    worst = max(abs(p.error or 0.0) for p in counted)
    points = f"{len(counted)} measured point{'s' if len(counted) != 1 else ''}"
    return f"median error {units.share(prediction.median_error)}, largest {units.share(worst)}, over {points}"


def _letters() -> Iterator[str]:
    return map("".join, chain(product(ascii_lowercase), product(ascii_lowercase, repeat=2)))


def predicted_row(point: PredictedPoint) -> list[str]:
    """Return one prediction as cells, without what lies beyond the measurements."""
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
    """Return one measured point as cells."""
    remarks = ["rates are taken from it"] if point.role == "input" else []
    remarks += ["more processes than processors"] if point.oversubscribed else []
    remarks += [f"{point.rows} rows"] if point.rows else []
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


def _both(one: Bounds, other: float | None) -> str:
    return f"{units.quantity(one.value, 's')} / {units.quantity(other, 's')}"


def _time(time_s: Bounds) -> str:
    return units.interval(time_s.value, time_s.low, time_s.high, "s")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        words = name in ("beyond", "remarks")
        table.add_column(name, justify="left" if words else "right", no_wrap=not words)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
