"""Published experiments beside ours, for people: rows of tables, and all experiments as one HTML page."""

from hpcscope import units
from hpcscope.models.published.overview import ComparedValue, Overview, Tally, tally

HEADS = ("source", "value", "published", "predicted", "ours", "limit", "must be", "holds", "remark")
"""Heads of a table of statements."""
NUMBERS = ("predicted", "ours", "limit")
"""The columns of numbers."""


def number(value: float | None, unit: str) -> str:
    """Return a value; a dash for a missing one."""
    if unit == "B" and value is not None:
        return units.printed(value)
    return units.quantity(value, unit)


def cells(row: ComparedValue) -> list[str]:
    """Return a row of a table of statements, as `HEADS` says."""
    origin = f" ({row.origin})" if row.measured and row.origin != "measured" else ""
    return [
        row.where,
        row.row,
        row.says or number(row.published, row.unit),
        number(row.predicted, row.unit),
        number(row.measured, row.unit) + origin,
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


def render(overview: Overview) -> str:
    """Return the page: how much holds, experiment by experiment, then every value."""
    from hpcscope.report.frame import page

    outcomes = overview.outcomes
    return page(
        "reproductions.html",
        overview=overview,
        counted=counted(overview.tally),
        heads=HEADS,
        summary=[(outcome, tally(outcome.rows)) for outcome in outcomes],
        statements={outcome.name: list(map(cells, outcome.stated)) for outcome in outcomes},
        orientation={outcome.name: list(map(cells, outcome.orientation)) for outcome in outcomes},
    )
