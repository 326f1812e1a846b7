"""Summaries on the terminal: one table for each benchmark and metric, readable when piped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scope import units
from scope.catalog.benchmark import Value
from scope.catalog.catalog import Catalog
from scope.report.order import case_key, factors, varying
from scope.report.wording import MIXED_NOTE, definition, marked
from scope.statistics.summary import Summary


def rows(summaries: Iterable[Summary]) -> list[dict[str, Any]]:
    """Return the output of `scope show --json`; other programs rely on these keys."""
    return [
        {
            "benchmark": one.benchmark,
            "parameters": one.parameters,
            "ranks": one.ranks,
            "transport": one.transport,
            "placement": str(one.placement),
            "metric": one.metric,
            "unit": one.unit,
            "better": one.better,
            "definition": one.definition,
            "primary": one.primary,
            "median": one.median,
            "ci_low": one.ci_low,
            "ci_high": one.ci_high,
            "interval_basis": one.interval_basis,
            "n": one.n,
            "launches": one.launches,
            "origin": one.origin,
            "mixes_states": one.state_mixture,
            "valid": one.valid,
            "reason": one.reason,
        }
        for one in sorted(summaries, key=_order)
    ]


def listing(summaries: Iterable[Summary], catalog: Catalog) -> RenderableType:
    """Return one table for each benchmark, metric and definition of time."""
    ordered = sorted(summaries, key=_order)
    groups = groupby(ordered, key=lambda one: (one.benchmark, one.metric, one.definition))
    note = [Text(MIXED_NOTE, style="dim")] if any(one.state_mixture for one in ordered) else []
    return Group(*(part for _, group in groups for part in _part(list(group), catalog)), *note)


def _order(summary: Summary) -> tuple[Any, ...]:
    key = case_key(summary)
    return (*key[:2], summary.metric, not summary.primary, summary.definition, *key[2:])


def _part(group: list[Summary], catalog: Catalog) -> Iterator[RenderableType]:
    first = group[0]
    names, constant = varying(group)
    yield Text.assemble(
        (first.benchmark, "bold"),
        f"  {catalog.metric_label(first.metric, first.benchmark)} ({definition(first.definition)}, {first.better} "
        "is better)",
    )
    yield Text("  " + " ".join(f"{name}={_shown(name, value)}" for name, value in constant.items()), style="dim")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="italic")
    for name in ["", *names]:
        table.add_column(name, no_wrap=True, justify="right" if _numeric(name, group) else "left")
    table.add_column("median [95 % interval]", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("launches", justify="right", no_wrap=True)
    table.add_column("")
    for one in group:
        chosen = factors(one)
        cells = [_shown(name, chosen[name]) if name in chosen else "" for name in names]
        figure = marked(units.interval(one.median, one.ci_low, one.ci_high, one.unit), one.state_mixture)
        table.add_row("", *map(Text, cells), figure, str(one.n), str(one.launches), Text(_remark(one)))
    yield table
    yield Text("")


def _remark(summary: Summary) -> str:
    remarks = [] if summary.valid else [f"no result: {summary.reason}"]
    remarks += [summary.origin] if summary.origin != "measured" else []
    remarks += ["interval from samples"] if summary.interval_basis == "samples" and summary.launches > 1 else []
    return "; ".join(remarks)


def _numeric(name: str, group: list[Summary]) -> bool:
    return all(isinstance(factors(one).get(name), int | float) for one in group)


def _shown(name: str, value: Value) -> str:
    return units.parameter(name, value)
