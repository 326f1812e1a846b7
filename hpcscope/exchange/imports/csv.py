"""Comma-separated values written by `scope export csv`: a line for each metric of a case.

The file has the number of launches but not the median of each, so all launches count as one.
"""

import csv
from collections.abc import Sequence
from typing import Any

from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.declared import declared as of_scope
from hpcscope.exchange.imports.exported import ExportReader
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.plan.placement import Placement

_FACTS = ("run", "hosts", "origin", "benchmark", "label", "ranks", "transport", "placement")
_FIRST, _LAST = "metric", "samples"
"""First and last column of the values; parameters come before the first."""
_WORDS = {"metric", "unit", "better", "definition", "interval_basis"}
_WHOLE = {"launches", "n"}


class _Reader(ExportReader):
    TITLE = "Scope"
    DIFFERS = ("all launches are treated as one, because the file lacks their medians",)

    _head: Sequence[str] = ()

    @classmethod
    def claims(cls, lines: Sequence[TextLine]) -> bool:
        """Return whether the lines contain a header."""
        return any(_is_head(_cells(line)) for line in lines)

    def _takes(self, line: TextLine) -> bool:
        cells = _cells(line)
        if _is_head(cells):
            self._head = cells
            return True
        if not self._head or len(cells) != len(self._head) or not line.ended:
            return False
        held = _held(self._head, cells)
        return held is not None and self._summary(held, line.number, cells[0], cells[1].split())


def _cells(line: TextLine) -> list[str]:
    try:
        return next(csv.reader([line.text], strict=True), [])
    except csv.Error:
        return []


def _is_head(cells: Sequence[str]) -> bool:
    first = ["label" if name == "case" else name for name in cells[: len(_FACTS)]]  # its earlier name
    return tuple(first) == _FACTS and _FIRST in cells and _LAST in cells


def _held(head: Sequence[str], cells: Sequence[str]) -> dict[str, Any] | None:
    """Return the keys of a summary that a line holds; None if a cell does not match its column."""
    # A parameter can have the name of a value column, so the position decides.
    first = len(head) - 1 - list(reversed(head)).index(_FIRST)
    facts = dict(zip(head[: len(_FACTS)], cells, strict=False))
    given = dict(zip(head[len(_FACTS) : first], cells[len(_FACTS) : first], strict=True))
    figures = dict(zip(head[first:], cells[first:], strict=True))
    figures["n"] = figures.pop(_LAST)
    try:
        return {
            **{name: facts[name] for name in ("origin", "benchmark", "transport")},
            "ranks": int(facts["ranks"]),
            "placement": str(Placement.parse(facts["placement"])),
            "parameters": _parameters(facts["benchmark"], given),
            **{name: _value(name, text) for name, text in figures.items()},
        }
    except ValueError:
        return None


def _parameters(benchmark: str, given: dict[str, str]) -> dict[str, Value]:
    """Return the parameters that have a value, as numbers if declared so or, if undeclared, made of digits."""
    declared = of_scope().get(benchmark)
    parameters: dict[str, Value] = {}
    for name, text in given.items():
        if not text or (declared is not None and name not in declared.parameter):
            continue
        whole = declared.parameter[name].type == "integer" if declared is not None else text.isdigit()
        parameters[name] = int(text) if whole else text
    return parameters


def _value(name: str, text: str) -> str | float | int | None:
    if name in _WORDS:
        return text
    if not text:
        return None
    return int(text) if name in _WHOLE else float(text)
