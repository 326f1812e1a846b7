"""Published experiments compared with ours: rows of tables, and all experiments as one HTML page."""

from hpcscope import units
from hpcscope.models.published import reference
from hpcscope.models.published.overview import ComparedValue, Overview, Tally, tally
from hpcscope.models.published.reference import PrintedItem

HEADS = ("source", "value", "published", "predicted", "ours", "limit", "must be", "holds", "remark")
"""Column headings of a table of statements."""
PRINTED_HEADS = ("printed", "relations", "values", "predicted", "simulated", "measured", "experiments")
"""Column headings of the table of all printed tables and figures: relations that hold, and known values."""
NUMBERS = ("predicted", "ours", "limit")
"""The columns that hold numbers."""


def number(value: float | None, unit: str) -> str:
    """Return a value with its unit, or a dash if it is missing."""
    if unit == "B" and value is not None:
        return units.printed(value)
    return units.quantity(value, unit)


def cells(row: ComparedValue) -> list[str]:
    """Return a row of a table of statements, with the columns of `HEADS`."""
    origin = f" ({row.origin})" if row.measured and row.origin != "measured" else ""
    held = "in direction" if row.direction_only and row.holds == "yes" else row.holds
    return [
        row.where,
        row.row,
        row.says or number(row.published, row.unit),
        number(row.predicted, row.unit),
        number(row.measured, row.unit) + origin,
        number(row.limit, row.unit) if row.limit is not None else "",
        row.relation,
        held or ("–" if row.relation else ""),
        row.remark,
    ]


def printed_cells(item: PrintedItem, overview: Overview) -> list[str]:
    """Return the row of a printed table or figure, with the columns of `PRINTED_HEADS`."""
    rows = [
        row
        for outcome in overview.outcomes
        for row in outcome.rows
        if (outcome.name, row.where) in item.statements
    ]
    experiments = ", ".join(dict.fromkeys(experiment for experiment, _ in item.statements))
    numbers = (
        len(rows),
        sum(row.predicted is not None for row in rows),
        sum(row.origin == "simulated" for row in rows),
        sum(row.measured is not None and row.origin != "simulated" for row in rows),
    )
    known = tally(rows)
    parts = [
        f"{known.yes} of {known.stated} hold" if known.stated else "",
        f"{known.undecided} undecided" if known.undecided else "",
        f"{known.not_judged} not judged" if known.not_judged else "",
    ]
    return [
        f"{item.source}, {item.name}",
        "; ".join(filter(None, parts)),
        *(str(number or "") for number in numbers),
        experiments or f"none: {item.reason}",
    ]


def repeated(items: list[PrintedItem]) -> str:
    """Return one sentence on how many of the printed tables and figures an experiment repeats."""
    return (
        f"Scope repeats {sum(bool(item.statements) for item in items)} of {len(items)} printed tables and figures"
    )


def counted(tally: Tally) -> str:
    """Return one sentence on how many statements hold."""
    direction = f" ({tally.direction_only} of them only in direction)" if tally.direction_only else ""
    return (
        f"Of {tally.stated} published relations, {tally.yes} hold{direction} and {tally.no} do not hold; "
        f"{tally.undecided} remain undecided, and {tally.not_judged} cannot be judged here"
    )


def render(overview: Overview) -> str:
    """Return the page: how many statements hold in each experiment, then every value."""
    from hpcscope.report.frame import page

    outcomes = overview.outcomes
    items = reference.printed()
    return page(
        "reproductions.html",
        overview=overview,
        counted=counted(overview.tally),
        repeated=repeated(items),
        printed={"columns": PRINTED_HEADS, "rows": [printed_cells(item, overview) for item in items]},
        heads=HEADS,
        summary=[(outcome, tally(outcome.rows)) for outcome in outcomes],
        statements={outcome.name: list(map(cells, outcome.stated)) for outcome in outcomes},
        orientation={outcome.name: list(map(cells, outcome.orientation)) for outcome in outcomes},
    )
