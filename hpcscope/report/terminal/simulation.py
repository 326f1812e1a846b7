"""A simulated run on the terminal: first the error of such values, then the values."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from hpcscope.report.figure import Table
from hpcscope.report.run import simulation_tables as tables
from hpcscope.report.terminal.console import grid
from hpcscope.simulation.record import Simulation
from hpcscope.statistics.summary import Summary


def validated(record: Simulation, every: bool = False) -> RenderableType:
    """Return the error of the simulation over all cases and per benchmark; with `every`, also per case."""
    head = Text(tables.described(record), style="bold")
    table = tables.errors(record)
    if not table.rows:
        return Group(head, Text(record.accuracy))
    formulas = record.accuracy_of_formulas
    parts: list[RenderableType] = [head, Text(record.accuracy)]
    parts += [Text(f"closed formulas: {formulas}")] if formulas else []
    parts += [_table(table)]
    if every:
        parts += [Text(""), _table(tables.cases(record))]
    return Group(*parts, *(Text(f"note: {note}") for note in record.notes), Text(""))


def programs(record: Simulation) -> RenderableType:
    """Return the times of the user's own program, if there are any."""
    if not record.programs:
        return Text("")
    return Group(_table(tables.programs(record)), Text(tables.ERROR_OF_PROGRAMS), Text(""))


def offers(record: Simulation) -> RenderableType:
    """Return the offers side by side, in the order of their cost per percent gained."""
    return Group(
        Text(tables.OFFERS, style="bold"), _table(tables.offers(record)), Text(tables.SMALL_GAINS), Text("")
    )


def simulated(
    record: Simulation,
    summaries: Sequence[Summary],
    unchanged: Sequence[Summary],
    of_change: Mapping[str, list[float]],
) -> RenderableType:
    """Return the values that were not measured, each with what lies beyond the validation; possibly empty."""
    found = tables.new(record, summaries, unchanged)
    if found is None:
        return Text("")
    gains = tables.gains(record, of_change)
    gained: list[RenderableType] = (
        [Text(tables.GAINS, style="bold"), _table(gains), Text("")] if gains.rows else []
    )
    return Group(
        Text(found.title, style="bold"), _table(found.table), *map(Text, found.reasons), Text(""), *gained
    )


def _table(table: Table) -> Grid:
    return grid(table.columns, table.rows, words=(table.columns[0], "beyond"))
