"""Every summary as a row of the page's large table, with what each column is sorted by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scope import units
from scope.report.figure import number, shown
from scope.report.run.order import case_key, factors
from scope.report.wording import definition, is_share, metric
from scope.statistics.summary import Summary

COLUMNS = [
    ("benchmark", False),
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
"""What is shown, and the number that it is sorted by, where it is one."""


@dataclass(frozen=True)
class Row:
    """One summary."""

    cells: list[Cell]
    valid: bool
    label: str
    reason: str


def rows(summaries: Iterable[Summary]) -> list[Row]:
    """Return the rows in reading order."""
    ordered = sorted(summaries, key=lambda one: (*case_key(one)[:2], one.metric, not one.primary, case_key(one)))
    return [Row(_cells(one), one.valid, one.label, one.reason) for one in ordered]


def packed(listed: Sequence[Row], columns: Sequence[tuple[str, bool]] = COLUMNS) -> dict[str, Any]:
    """Return the rows as the page's script reads them: each word once, in rows the numbers of the words."""
    words: dict[str, int] = {}
    lines = []
    for row in listed:
        texts = [words.setdefault(text, len(words)) for text, _ in row.cells]
        keys = [key for (_, key), (_, numeric) in zip(row.cells, columns, strict=True) if numeric]
        lines.append([int(row.valid), texts, keys])
    return {"words": list(words), "rows": lines}


def _cells(one: Summary) -> list[Cell]:
    spread = f"{_quantity(one, one.p05)} to {_quantity(one, one.p95)}"
    variation = units.share(one.coefficient_of_variation)
    return [
        _text(one.benchmark),
        _text(case(one)),
        _text(metric(one.metric)),
        (shown(one) if one.valid else "no result", _number(one.median)),
        _text(definition(one.definition) + (" ·" if one.primary else "")),
        (spread if one.p05 is not None else "–", _number(one.p05)),
        (variation, _number(one.coefficient_of_variation)),
        (f"{one.n}", float(one.n)),
        (f"{one.launches}", float(one.launches)),
        _text(remarks(one)),
    ]


def case(one: Summary) -> str:
    """Write what was chosen for a case, the usual left out."""
    usual = {"transport": "default"}
    words = [
        f"{name}={units.parameter(name, value)}" if name != "ranks" else f"{value} rank{'' if value == 1 else 's'}"
        for name, value in factors(one).items()
        if usual.get(name) != value and name != "placement"
    ]
    return ", ".join(words)


def remarks(one: Summary) -> str:
    """Say what a reader of the figure must know."""
    words = [] if one.valid else [one.reason]
    words += [one.origin] if one.origin != "measured" else []
    words += ["interval from samples"] if one.valid and one.interval_basis == "samples" else []
    words += ["autocorrelated"] if one.autocorrelated else []
    words += [f"{units.share(one.invalid_share)} late"] if one.invalid_share else []
    return "; ".join(words)


def _quantity(one: Summary, value: float | None) -> str:
    return units.share(value) if is_share(one.metric) else units.quantity(value, one.unit)


def _text(text: str) -> Cell:
    return text, None


def _number(value: float | None) -> float | None:
    return None if value is None else number(value)
