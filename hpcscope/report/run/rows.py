"""All summaries as rows of the report's table, with sort keys."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.grouping import grouped
from hpcscope.report.figure import number, shown
from hpcscope.report.order import case_key
from hpcscope.report.wording import definition, figure_heading
from hpcscope.statistics.summary import Summary

FIGURE = "figure"
COLUMNS = [
    ("case", False),
    ("metric", False),
    (FIGURE, True),
    ("definition", False),
    ("5 to 95 %", True),
    ("CV", True),
    ("n / launches", True),
    ("remarks", False),
]
"""Name of each column, and whether it holds numbers; `headings` replaces FIGURE by the kind of values."""


Cell = tuple[str, float | None]
"""The text, and the number to sort by, if any."""


@dataclass(frozen=True)
class CaseRow:
    """One summary, or several summaries of one case, as a row."""

    cells: list[Cell]
    valid: bool
    label: str
    request: str
    """The case as `scope run --case` reads it; empty where `scope run` cannot measure it."""
    reason: str
    headline: bool = True
    """Whether it uses its metric's headline definition of time."""


def headings(summaries: Sequence[Summary]) -> list[tuple[str, bool]]:
    """Return the columns for these summaries."""
    return [(figure_heading(summaries) if name == FIGURE else name, numeric) for name, numeric in COLUMNS]


def rows(summaries: Iterable[Summary], catalog: Catalog) -> list[CaseRow]:
    """Return the rows in reading order."""
    ordered = sorted(
        summaries, key=lambda case: (*case_key(case)[:2], case.metric, not case.primary, case_key(case))
    )
    return [
        CaseRow(_cells(case, catalog), case.valid, case.label, _request(case, catalog), case.reason, case.primary)
        for case in ordered
    ]


def by_case(summaries: Iterable[Summary], catalog: Catalog) -> list[CaseRow]:
    """Return a row per case with its metrics under their headline definitions, then rows for other definitions.

    The sort key of a row is its first metric, which is the time if there is one.
    """
    every = list(summaries)
    cases = grouped((case for case in every if case.primary), lambda case: case.key)
    ordered = sorted(cases.values(), key=lambda alike: case_key(alike[0]))
    joined = [_joined(sorted(alike, key=lambda case: case.unit != "s"), catalog) for alike in ordered]
    return joined + rows([case for case in every if not case.primary], catalog)


def _joined(alike: Sequence[Summary], catalog: Catalog) -> CaseRow:
    """Return several values of one case as one row, with a line per value in each cell; equal lines are merged."""
    first, cells = alike[0], [_cells(case, catalog) for case in alike]
    together: list[Cell] = []
    for column in zip(*cells, strict=True):
        texts = [text for text, _ in column]
        together.append((texts[0] if len(set(texts)) == 1 else "\n".join(texts), column[0][1]))
    together[-1] = "; ".join(dict.fromkeys(filter(None, map(remarks, alike)))), None
    reason = next((case.reason for case in alike if not case.valid), "")
    return CaseRow(together, all(case.valid for case in alike), first.label, _request(first, catalog), reason)


def _request(case: Summary, catalog: Catalog) -> str:
    return case.request if catalog[case.benchmark].native else ""


def packed(listed: Sequence[CaseRow], columns: Sequence[tuple[str, bool]] = COLUMNS) -> dict[str, Any]:
    """Return the rows in the form that the report's script reads: each text once, and rows as indices of texts.

    The last text of a row is its case as `scope run --case` reads it. Its first number is 1 if the row is valid,
    plus 2 if it uses the headline definition.
    """
    words: dict[str, int] = {}
    lines = []
    for row in listed:
        texts = [words.setdefault(text, len(words)) for text in (*(text for text, _ in row.cells), row.request)]
        keys = [key for (_, key), (_, numeric) in zip(row.cells, columns, strict=True) if numeric]
        lines.append([int(row.valid) + 2 * int(row.headline), texts, keys])
    return {"words": list(words), "rows": lines}


def _cells(case: Summary, catalog: Catalog) -> list[Cell]:
    return [
        (case.label, None),
        (catalog.metric_label(case.metric, case.benchmark), None),
        (shown(case) if case.valid else "no result", _number(case.median)),
        (definition(case.definition), None),
        (_range(case), _number(case.p05)),
        (units.share(case.coefficient_of_variation), _number(case.coefficient_of_variation)),
        (f"{case.n} / {case.launches}", float(case.n)),
        (remarks(case), None),
    ]


def remarks(case: Summary) -> str:
    """Return the remarks that a reader of the value needs."""
    words = [] if case.valid else [case.reason]
    words += [case.origin] if case.origin != "measured" else []
    words += ["mixes states"] if case.state_mixture else []
    words += ["median between two modes"] if case.between_modes else []
    words += [f"{units.share(case.invalid_share)} late"] if case.invalid_share else []
    return "; ".join(words)


def _range(case: Summary) -> str:
    """Return the range of the middle 90 % of the samples: `1.97 to 2.70 GB/s`."""
    if case.p05 is None or case.p95 is None:
        return "–"
    if units.is_share(case.metric):
        return f"{units.share(case.p05)} to {units.share(case.p95)}"
    factor, name = units.scale(case.unit, max(abs(case.p05), abs(case.p95)))
    return f"{units.digits(case.p05 / factor)} to {units.digits(case.p95 / factor)} {name}".rstrip()


def _number(value: float | None) -> float | None:
    return None if value is None else number(value)
