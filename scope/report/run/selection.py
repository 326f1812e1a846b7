"""Choosing summaries by benchmark and factor, as people type it: `mpi.*`, `mode=standard`, `message_bytes=1Ki`."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from scope.errors import UsageError
from scope.report.run.order import factors
from scope.samples.records import Value
from scope.statistics.summary import Summary

_SUFFIXES = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def select(summaries: Sequence[Summary], patterns: Sequence[str]) -> list[Summary]:
    """Keep what fits any benchmark pattern and every `key=value`.

    A pattern without `=` is a shell pattern for the benchmark's name (a bare layer such as `mpi` means all of it).
    UsageError when a pattern fits nothing: it is a slip of the pen far more often than a question.
    """
    globs = [pattern for pattern in patterns if "=" not in pattern]
    filters = [_split(pattern) for pattern in patterns if "=" in pattern]
    chosen = [summary for summary in summaries if not globs or any(_names(summary, glob) for glob in globs)]
    for glob in globs:
        if not any(_names(summary, glob) for summary in summaries):
            allowed = ", ".join(sorted({summary.benchmark for summary in summaries})) or "none in this run"
            raise UsageError(f"PATTERN = {glob}: no benchmark of this run has that name; allowed: {allowed}")
    for key, value in filters:
        chosen = _filter(chosen, key, value)
    return chosen


def _filter(summaries: list[Summary], key: str, wanted: str) -> list[Summary]:
    known = [(summary, _described(summary)) for summary in summaries]
    fitting = [summary for summary, row in known if key in row and _equals(row[key], wanted)]
    if not fitting:
        keys = sorted({name for _, row in known for name in row})
        if key not in keys:
            raise UsageError(f"{key}={wanted}: nothing selected has the key {key}; allowed: {', '.join(keys)}")
        values = sorted({str(row[key]) for _, row in known if key in row})
        shown = ", ".join(values[:12]) + (", ..." if len(values) > 12 else "")
        raise UsageError(f"{key}={wanted}: nothing selected has that value; allowed: {shown}")
    return fitting


def _described(summary: Summary) -> dict[str, Value]:
    return factors(summary) | {
        "metric": summary.metric,
        "definition": summary.definition,
        "origin": summary.origin,
        "valid": summary.valid,
    }


def _names(summary: Summary, glob: str) -> bool:
    return fnmatchcase(summary.benchmark, glob) or summary.benchmark.startswith(glob + ".")


def _equals(value: Value, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted.lower() == str(value).lower()
    if isinstance(value, int | float):
        number = _number(wanted)
        return number is not None and number == value
    return fnmatchcase(value, wanted)


def _number(text: str) -> float | None:
    digits, factor = (text[:-2], _SUFFIXES[text[-2:]]) if text[-2:] in _SUFFIXES else (text, 1)
    try:
        return float(digits) * factor
    except ValueError:
        return None


def _split(pattern: str) -> tuple[str, str]:
    key, value = pattern.split("=", 1)
    if not key or not value:
        raise UsageError(f"PATTERN = {pattern}: a filter is key=value, for example mode=standard")
    return key.strip(), value.strip()
