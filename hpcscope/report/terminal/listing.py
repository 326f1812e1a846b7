"""Summaries on the terminal: one table for each benchmark and metric, readable also when piped."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.report.figure import common_words, title_words, value_words
from hpcscope.report.order import case_key, factors, summary_key, varying
from hpcscope.report.validity import footnotes, mark
from hpcscope.report.wording import definition, figure_heading
from hpcscope.statistics.summary import Summary

KEYS = (
    *("benchmark", "parameters", "ranks", "transport", "placement", "metric", "unit", "better", "definition"),
    *("primary", "median", "ci_low", "ci_high", "interval_basis", "holds_for", "minimum", "mean", "maximum"),
    *("n", "launches", "origin", "valid", "reason"),
)

MOST_COLUMNS = 1000


def rows(summaries: Iterable[Summary]) -> list[dict[str, Any]]:
    """Return the data for `scope show --json`; other programs rely on its keys."""
    return [
        {name: getattr(summary, name) for name in KEYS}
        | {"placement": str(summary.placement), "mixes_states": summary.state_mixture}
        for summary in sorted(summaries, key=summary_key)
    ]


def listing(summaries: Iterable[Summary], catalog: Catalog, verbose: bool = False) -> RenderableType:
    """Return one table for each benchmark, metric and definition of time, with metrics in declared order.

    Defaults are left out. With `verbose` every row ends with its case as `scope run --case` reads it.
    """

    def declared(case: Summary) -> tuple[Any, ...]:
        names = list(catalog[case.benchmark].metric)
        return *case_key(case)[:2], names.index(case.metric) if case.metric in names else len(names)

    ordered = sorted(sorted(summaries, key=summary_key), key=declared)
    groups = groupby(ordered, key=lambda case: (case.benchmark, case.metric, case.definition))
    notes = [Text(note, style="dim") for note in footnotes(ordered)]
    return Group(*(part for _, group in groups for part in _part(list(group), catalog, verbose)), *notes)


def _part(group: list[Summary], catalog: Catalog, verbose: bool) -> Iterator[RenderableType]:
    first = group[0]
    yield Text.assemble(
        (catalog[first.benchmark].title, "bold"),
        (f"  {first.benchmark}", "dim"),
        f"  {catalog.metric_label(first.metric, first.benchmark)} ({definition(first.definition)}, {first.better} "
        "is better)",
    )
    if same := common_words(group, catalog):
        yield Text("  " + same, style="dim")
    means = {
        "best": lambda case: _shown(case.minimum if case.better == "lower" else case.maximum, case),
        "mean": lambda case: _shown(case.mean, case),
    }
    counts = {"n": lambda case: str(case.n), "launches": lambda case: str(case.launches)}
    choices = [means | counts] if any(case.mean is not None for case in group) else []
    yield _AsThereIsRoom([_table(group, catalog, verbose, columns) for columns in (*choices, counts, {}, None)])
    yield Text("")


@dataclass(frozen=True)
class _AsThereIsRoom:
    """The first table that fits on the screen, else the last, which breaks words so that no value is cut."""

    tables: list[Table]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [Measurement.get(console, options.update(max_width=MOST_COLUMNS), table) for table in self.tables]
        fitting = (
            each for each, need in zip(self.tables, widths, strict=True) if need.maximum <= options.max_width
        )
        yield next(fitting, self.tables[-1])


def _shown(value: float | None, case: Summary) -> str:
    return "" if value is None else units.quantity(value, case.unit)


def _table(
    group: list[Summary], catalog: Catalog, verbose: bool, further: dict[str, Callable[[Summary], str]] | None
) -> Table:
    """Return a table with `further` columns; if that is None, one column holds all factors."""
    names, benchmark = varying(group)[0], group[0].benchmark
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="italic")
    for name in ["", *([] if further is None else names)]:
        head = catalog.parameter_label(name, benchmark) if name else ""
        number = all(isinstance(factors(case).get(name), int | float) for case in group)
        table.add_column(head, no_wrap=number or bool(further), justify="right" if number else "left")
    if further is None:
        table.add_column("case")
    table.add_column(figure_heading(group), no_wrap=True)
    for head in further or ():
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    if verbose:
        table.add_column("case", no_wrap=True)
    for case in group:
        chosen = factors(case)
        cells = [
            value_words(catalog, case.benchmark, name, chosen[name]) if name in chosen else "" for name in names
        ]
        cells = [", ".join(title_words(catalog, [case], names))] if further is None else cells
        figure = f"{units.interval(case.median, case.ci_low, case.ci_high, case.unit)} {mark(case)}".rstrip()
        cells += [figure, *(text(case) for text in (further or {}).values()), _remark(case)]
        cells += [case.request] if verbose else []
        table.add_row("", *map(Text, cells))
    return table


def _remark(summary: Summary) -> str:
    remarks = [] if summary.valid else [f"no result: {summary.reason}"]
    remarks += [summary.origin] if summary.origin != "measured" else []
    remarks += [summary.printed] if summary.printed else []
    return "; ".join(remarks)
