"""Selection of summaries by benchmark and factor: `mpi.*`, `mode=standard`, `message_bytes=1Ki`."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from hpcscope import units
from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.pattern import matches, matches_any
from hpcscope.errors import UsageError
from hpcscope.report.order import factors
from hpcscope.statistics.summary import Summary


def select(summaries: Sequence[Summary], patterns: Sequence[str]) -> list[Summary]:
    """Return the summaries that match any benchmark pattern and every `key=value`.

    Raises UsageError for a pattern that matches nothing, which is usually a typo.
    """
    names = [pattern for pattern in patterns if "=" not in pattern]
    filters = [_split(pattern) for pattern in patterns if "=" in pattern]
    chosen = [summary for summary in summaries if matches_any(summary.benchmark, names)]
    for name in names:
        if not any(matches(summary.benchmark, name) for summary in summaries):
            allowed = ", ".join(sorted({summary.benchmark for summary in summaries})) or "none in this run"
            raise UsageError(f"PATTERN = {name}: matches no benchmark of this run; allowed: {allowed}")
    for key, value in filters:
        chosen = _filter(chosen, key, value)
    return chosen


def _filter(summaries: list[Summary], key: str, wanted: str) -> list[Summary]:
    known = [(summary, _described(summary)) for summary in summaries]
    fitting = [summary for summary, row in known if key in row and _equals(row[key], wanted)]
    if not fitting:
        keys = sorted({name for _, row in known for name in row})
        if key not in keys:
            raise UsageError(f"{key}={wanted}: unknown key; allowed: {', '.join(keys)}")
        values = sorted({str(row[key]) for _, row in known if key in row})
        shown = ", ".join(values[:12]) + (", ..." if len(values) > 12 else "")
        raise UsageError(f"{key}={wanted}: no result has this value; allowed: {shown}")
    return fitting


def _described(summary: Summary) -> dict[str, Value]:
    return factors(summary) | {
        "metric": summary.metric,
        "definition": summary.definition,
        "origin": summary.origin,
        "valid": summary.valid,
    }


def _equals(value: Value, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted.lower() == str(value).lower()
    if isinstance(value, int | float):
        return units.parsed(wanted) == value
    return fnmatchcase(value, wanted)


def _split(pattern: str) -> tuple[str, str]:
    key, value = pattern.split("=", 1)
    if not key or not value:
        raise UsageError(f"PATTERN = {pattern}: a filter is key=value, for example mode=standard")
    return key.strip(), value.strip()
