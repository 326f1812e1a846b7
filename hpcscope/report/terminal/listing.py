"""Summaries on the terminal: one table for each benchmark and metric, readable when piped."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.report.figure import common_words, value_words
from hpcscope.report.order import factors, summary_key, varying
from hpcscope.report.validity import footnotes, mark
from hpcscope.report.wording import definition, figure_heading
from hpcscope.statistics.summary import Summary

KEYS = (
    *("benchmark", "parameters", "ranks", "transport", "placement", "metric", "unit", "better", "definition"),
    *("primary", "median", "ci_low", "ci_high", "interval_basis", "holds_for", "minimum", "mean", "maximum"),
    *("n", "launches", "origin", "valid", "reason"),
)


def rows(summaries: Iterable[Summary]) -> list[dict[str, Any]]:
    """Return the output of `scope show --json`; other programs rely on its keys."""
    return [
        {name: getattr(summary, name) for name in KEYS}
        | {"placement": str(summary.placement), "mixes_states": summary.state_mixture}
        for summary in sorted(summaries, key=summary_key)
    ]


def listing(summaries: Iterable[Summary], catalog: Catalog, verbose: bool = False) -> RenderableType:
    """Return one table for each benchmark, metric and definition of time.

    Defaults are left out. With `verbose` every row ends with its case as `scope run --case` reads it.
    """
    ordered = sorted(summaries, key=summary_key)
    groups = groupby(ordered, key=lambda case: (case.benchmark, case.metric, case.definition))
    notes = [Text(note, style="dim") for note in footnotes(ordered)]
    return Group(*(part for _, group in groups for part in _part(list(group), catalog, verbose)), *notes)


def _part(group: list[Summary], catalog: Catalog, verbose: bool) -> Iterator[RenderableType]:
    first = group[0]
    names = varying(group)[0]
    yield Text.assemble(
        (catalog[first.benchmark].title, "bold"),
        (f"  {first.benchmark}", "dim"),
        f"  {catalog.metric_label(first.metric, first.benchmark)} ({definition(first.definition)}, {first.better} "
        "is better)",
    )
    if same := common_words(group, catalog):
        yield Text("  " + same, style="dim")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="italic")
    for name in ["", *names]:
        head = catalog.parameter_label(name, first.benchmark) if name else ""
        table.add_column(head, no_wrap=True, justify="right" if _numeric(name, group) else "left")
    table.add_column(figure_heading(group), no_wrap=True)
    further = ["best", "mean"] if any(case.mean is not None for case in group) else []
    for head in further:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("launches", justify="right", no_wrap=True)
    table.add_column("")
    if verbose:
        table.add_column("case", no_wrap=True)
    for case in group:
        chosen = factors(case)
        cells = [
            value_words(catalog, case.benchmark, name, chosen[name]) if name in chosen else "" for name in names
        ]
        figure = f"{units.interval(case.median, case.ci_low, case.ci_high, case.unit)} {mark(case)}".rstrip()
        others = [case.minimum if case.better == "lower" else case.maximum, case.mean][: len(further)]
        cells += [figure, *("" if value is None else units.quantity(value, case.unit) for value in others)]
        cells += [str(case.n), str(case.launches), _remark(case), *([case.request] if verbose else [])]
        table.add_row("", *map(Text, cells))
    yield table
    yield Text("")


def _remark(summary: Summary) -> str:
    remarks = [] if summary.valid else [f"no result: {summary.reason}"]
    remarks += [summary.origin] if summary.origin != "measured" else []
    remarks += [summary.printed] if summary.printed else []
    return "; ".join(remarks)


def _numeric(name: str, group: list[Summary]) -> bool:
    return all(isinstance(factors(case).get(name), int | float) for case in group)
