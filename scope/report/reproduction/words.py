"""How the values of published experiments are written."""

from __future__ import annotations

from scope import units
from scope.models.published.overview import ComparedValue, Tally

HEADS = ("source", "value", "published", "predicted", "ours", "limit", "must be", "holds", "remark")
"""Of a table of statements."""
NUMBERS = ("predicted", "ours", "limit")
"""The columns of numbers."""
_SCALED = ("s", "B/s", "bit/s", "flop/s", "s/byte")


def number(value: float | None, unit: str) -> str:
    """Return a figure; a dash for a missing one."""
    if value is None:
        return "–"
    if unit == "B":
        return units.printed(value)
    return units.quantity(value, unit) if unit in _SCALED else units.digits(value)


def cells(row: ComparedValue) -> list[str]:
    """Return a row of a table of statements, as `HEADS` says."""
    ours = number(row.measured, row.unit) + (
        f" ({row.origin})" if row.measured and row.origin != "measured" else ""
    )
    return [
        row.where,
        row.row,
        row.says or number(row.published, row.unit),
        number(row.predicted, row.unit),
        ours,
        number(row.limit, row.unit) if row.limit is not None else "",
        row.relation,
        row.holds or ("–" if row.relation else ""),
        row.remark,
    ]


def counted(tally: Tally) -> str:
    """Return in one sentence how many statements hold."""
    return (
        f"{tally.yes} of {tally.stated} published relations hold, {tally.no} do not; {tally.undecided} undecided,"
        f" {tally.not_judged} not judged here"
    )
