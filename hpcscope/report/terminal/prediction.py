"""Predictions on the terminal: their error, the table, and the measured points."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from hpcscope import units
from hpcscope.models.prediction.best_grid import BestGrid, grid_of
from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.models.prediction.prediction import Prediction
from hpcscope.report.run.prediction_table import (
    VALIDATED,
    kind,
    predicted_columns,
    predicted_row,
    rows_by_columns,
    summary,
    validated_row,
)
from hpcscope.report.terminal.bar import bar
from hpcscope.report.terminal.console import grid
from hpcscope.report.wording import letters

BAR = 24
"""Length of the longest speedup bar, in columns."""
WORDS = ("beyond", "remarks", "")


def predicted(
    validation: Prediction,
    points: Sequence[PredictedPoint],
    size: str,
    steps: int | None = None,
    blocks: bool = True,
) -> RenderableType:
    """Return the error of such predictions, then the table with a bar for each speedup, and the sources.

    `size`: in the program's terms; `steps`: number of steps if the program reports the time per step; `blocks`:
    the screen can show block characters.
    """
    gridded = any(grid_of(point) for point in points)
    columns = predicted_columns(gridded, bool(steps))
    most = max(point.speedup.value for point in points)
    notes = list(dict.fromkeys(note for point in points for note in point.beyond))
    marks = dict(zip(notes, letters(), strict=False))
    return Group(
        Text(f"{kind(validation)}, size {size}: predicted ({validation.origin})", style="bold"),
        Text(f"validation of this prediction method on this run: {summary(validation)}"),
        Text(""),
        grid(
            columns,
            [
                [
                    *predicted_row(point, gridded, steps),
                    bar(point.speedup.value / most, BAR, blocks),
                    " ".join(sorted(marks[note] for note in point.beyond)),
                ]
                for point in points
            ],
            WORDS,
            breaks=True,
        ),
        *(Text(f"{letter}  beyond the measurements: {note}") for note, letter in marks.items()),
        Text("parameters from " + "; ".join(validation.parameters_from)),
        Text(f"formulas: {validation.source}"),
        Text(""),
    )


def recommended(best: Iterable[BestGrid], validation: Prediction) -> RenderableType:
    """Return the recommended process grid for each number of ranks."""
    return Group(*(Text(_recommended(best_grid, validation)) for best_grid in best), Text(""))


def _recommended(best: BestGrid, validation: Prediction) -> str:
    words = f"recommended: {best.ranks} ranks as {rows_by_columns(best.grid)} (rows x columns)"
    if not best.equivalent:
        return words
    others = ", ".join(map(rows_by_columns, best.equivalent))
    return f"{words}; {others} may be as fast (typical error {units.share(validation.typical_error)})"


def validated(validation: Prediction) -> RenderableType:
    """Return the table of predicted and measured times."""
    return Group(
        Text("predicted and measured times; compute and communicate show predicted / measured"),
        grid(VALIDATED, map(validated_row, validation.points), WORDS, breaks=True),
    )
