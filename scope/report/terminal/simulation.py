"""A simulated run on the terminal: first how wrong such figures are, then the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product
from string import ascii_lowercase

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scope import units
from scope.simulation.record import Beside, ErrorOf, Simulation
from scope.statistics.summary import Summary


def described(record: Simulation) -> str:
    """Return what was simulated, in a line."""
    changes = f" with {' '.join(record.changes)}" if record.changes else ""
    algorithms = f"collective algorithms chosen as by {record.collectives}"
    return f"{record.of}{changes}, simulated by {record.simulator}, {algorithms}"


def validated(record: Simulation, every: bool = False) -> RenderableType:
    """Return the error of the simulation, of all cases and of each benchmark; `every`: of each case."""
    whole = record.error_of()
    head = Text(described(record), style="bold")
    if whole is None:
        return Group(head, Text(record.accuracy))
    table = _table("benchmark", "cases", "up to ranks", "median error", "lowest", "highest")
    for name in dict.fromkeys(one.benchmark for one in record.validation):
        own = record.error_of(name)
        assert own is not None
        given = " (input)" if name in record.inputs else ""
        table.add_row(f"{name}{given}", *_error_words(own))
    table.add_row("all" if not record.inputs else "all others", *_error_words(whole))
    parts: list[RenderableType] = [head, Text(record.accuracy), table]
    if every:
        parts += [Text(""), _cases(record.validation)]
    return Group(*parts, *(Text(f"note: {note}") for note in record.notes), Text(""))


def programs(record: Simulation) -> RenderableType:
    """Return the times of the user's own program, if there are any."""
    if not record.programs:
        return Text("")
    table = _table("program", "ranks", "simulated time")
    for one in record.programs:
        table.add_row(" ".join(one.command), str(one.ranks), units.quantity(one.time_s, "s"))
    note = "The error of these times is not known: Scope did not measure the program."
    return Group(table, Text(note), Text(""))


def simulated(
    record: Simulation, summaries: Sequence[Summary], unchanged: Sequence[Summary], cost: float | None = None
) -> RenderableType:
    """Return the figures that were not measured, each with what lies outside of the validation; maybe nothing.

    `cost`: of what was changed, in any currency, divided by the percent gained.
    """
    measured = {(one.label, one.metric) for one in record.validation} if not record.changes else set()
    new = [one for one in summaries if (one.label, one.metric) not in measured]
    if not new:
        return Text("")
    before = {one.key: one for one in unchanged}
    notes = list(dict.fromkeys(filter(None, map(record.beyond, new))))
    letters = dict(zip(notes, _letters(), strict=False))
    priced = ["cost of a percent"] if cost is not None and record.changes else []
    changed = ["unchanged", "change", *priced] if record.changes else []
    columns = ["case", "simulated", *changed, "median error", "beyond"]
    table = _table(*columns)
    for one in new:
        own = record.error_of(one.benchmark)
        old = before.get(one.key)
        gain = [units.quantity(old.median, old.unit), _ratio(one, old)] if old else ["", ""]
        gain += [_cost_of_a_percent(one, old, cost)] if cost is not None else []
        table.add_row(
            one.label,
            units.quantity(one.median, one.unit),
            *(gain if record.changes else []),
            f"±{units.percent(own.median.value)}" if own else "unknown",
            letters.get(record.beyond(one), ""),
        )
    title = f"simulated with {' '.join(record.changes)}" if record.changes else "simulated, not measured"
    lines = [Text(f"{letter}  beyond the validation: {note}") for note, letter in letters.items()]
    return Group(Text(title, style="bold"), table, *lines, Text(""))


def _cases(validation: Sequence[Beside]) -> Table:
    table = _table("case", "measured", "simulated", "error")
    for one in validation:
        ends = one.measured
        measured = units.interval(ends.value, ends.low, ends.high, one.unit)
        table.add_row(one.label, measured, units.quantity(one.simulated, one.unit), units.change(one.error))
    return table


def _error_words(error: ErrorOf) -> list[str]:
    return [
        str(error.cases),
        str(error.most_ranks),
        units.percent(error.median.value),
        units.change(error.smallest),
        units.change(error.largest),
    ]


def _ratio(one: Summary, old: Summary) -> str:
    return units.change(one.median / old.median - 1) if one.median and old.median else ""


def _cost_of_a_percent(one: Summary, old: Summary | None, cost: float) -> str:
    """Return the cost over the percent by which more is done in the same time; `no gain` where it is not more."""
    if old is None or not one.median or not old.median:
        return ""
    gained = (old.median / one.median if one.better == "lower" else one.median / old.median) - 1
    return units.digits(cost / (100 * gained)) if gained > 0 else "no gain"


def _letters() -> Iterator[str]:
    return map("".join, chain(product(ascii_lowercase), product(ascii_lowercase, repeat=2)))


def _table(first: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="left" if name == "beyond" else "right", no_wrap=True)
    return table
