"""All summaries as rows of the page's table, with sort keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scope import units
from scope.catalog.catalog import Catalog
from scope.report.figure import number, shown
from scope.report.order import case_key
from scope.report.wording import definition, is_share
from scope.statistics.summary import Summary

COLUMNS = [
    ("case", False),
    ("metric", False),
    ("median [95 % interval]", True),
    ("definition", False),
    ("5 to 95 %", True),
    ("variation", True),
    ("samples", True),
    ("launches", True),
    ("remarks", False),
]
"""Name of each column, and whether it holds numbers."""

Cell = tuple[str, float | None]
"""The text, and the number that it is sorted by, if any."""


@dataclass(frozen=True)
class Row:
    """One summary."""

    cells: list[Cell]
    valid: bool
    label: str
    request: str
    """The case as `scope run --case` reads it."""
    reason: str
    headline: bool = True
    """Whether it is under its metric's headline definition of time."""


def rows(summaries: Iterable[Summary], catalog: Catalog) -> list[Row]:
    """Return the rows in reading order."""
    ordered = sorted(summaries, key=lambda one: (*case_key(one)[:2], one.metric, not one.primary, case_key(one)))
    return [
        Row(_cells(one, catalog), one.valid, one.label, one.request, one.reason, one.primary) for one in ordered
    ]


def packed(listed: Sequence[Row], columns: Sequence[tuple[str, bool]] = COLUMNS) -> dict[str, Any]:
    """Return the rows as the page's script reads them: each text once, rows as indices of texts.

    The last text of a row is its case as `scope run --case` reads it; its first number is 1 where it is valid,
    plus 2 where it is under the headline definition.
    """
    words: dict[str, int] = {}
    lines = []
    for row in listed:
        texts = [words.setdefault(text, len(words)) for text in (*(text for text, _ in row.cells), row.request)]
        keys = [key for (_, key), (_, numeric) in zip(row.cells, columns, strict=True) if numeric]
        lines.append([int(row.valid) + 2 * int(row.headline), texts, keys])
    return {"words": list(words), "rows": lines}


def _cells(one: Summary, catalog: Catalog) -> list[Cell]:
    spread = f"{_quantity(one, one.p05)} to {_quantity(one, one.p95)}"
    variation = units.share(one.coefficient_of_variation)
    return [
        _text(one.label),
        _text(catalog.metric_label(one.metric, one.benchmark)),
        (shown(one) if one.valid else "no result", _number(one.median)),
        _text(definition(one.definition) + (" ·" if one.primary else "")),
        (spread if one.p05 is not None else "–", _number(one.p05)),
        (variation, _number(one.coefficient_of_variation)),
        (f"{one.n}", float(one.n)),
        (f"{one.launches}", float(one.launches)),
        _text(remarks(one)),
    ]


def remarks(one: Summary) -> str:
    """Return the remarks that a reader of the figure needs."""
    words = [] if one.valid else [one.reason]
    words += [one.origin] if one.origin != "measured" else []
    words += ["autocorrelated"] if one.autocorrelated else []
    words += ["mixes states of the machine"] if one.state_mixture else []
    words += ["median between two modes"] if one.between_modes else []
    words += [f"{units.share(one.invalid_share)} late"] if one.invalid_share else []
    return "; ".join(words)


def _quantity(one: Summary, value: float | None) -> str:
    return units.share(value) if is_share(one.metric) else units.quantity(value, one.unit)


def _text(text: str) -> Cell:
    return text, None


def _number(value: float | None) -> float | None:
    return None if value is None else number(value)
