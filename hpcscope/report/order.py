"""The order of cases: levels from the bottom up, then benchmarks, then parameters by value."""

from collections.abc import Iterable
from typing import Any

from hpcscope.catalog.benchmark import Value
from hpcscope.plan.case import Case
from hpcscope.statistics.summary import Summary

LEVELS = ["node", "device", "network", "mpi", "operation", "algorithm", "application", "storage"]
"""The levels of a cluster from the bottom up, then storage."""

Key = tuple[int, float, str]


def level(benchmark: str) -> str:
    """Return the level that a benchmark measures: the part of its name before the dot."""
    return benchmark.split(".")[0]


def level_rank(name: str) -> tuple[int, str]:
    """Sort levels from the bottom up, then unknown levels by name."""
    return (LEVELS.index(name) if name in LEVELS else len(LEVELS), name)


def value_key(value: Value) -> Key:
    """Sort numbers by value, then words."""
    if isinstance(value, int | float):
        return (0, float(value), "")
    return (1, 0.0, value)


def case_key(case: Case) -> tuple[tuple[int, str], str, tuple[tuple[bool, str, Key], ...]]:
    """Sort cases by level, benchmark and factors: words first, then ranks, then numbers."""
    chosen = tuple((is_number(value), name, value_key(value)) for name, value in factors(case).items())
    return (level_rank(level(case.benchmark)), case.benchmark, chosen)


def summary_key(summary: Summary) -> tuple[Any, ...]:
    """Sort results by level, benchmark, metric and definition of time, then by the factors of their cases."""
    key = case_key(summary)
    return (*key[:2], summary.metric, not summary.primary, summary.definition, *key[2:])


def factors(case: Case) -> dict[str, Value]:
    """Return all factors of a case in reading order: parameters that are usually swept come last."""
    parameters = sorted(case.parameters.items())
    words = {name: value for name, value in parameters if not is_number(value)}
    numbers = {name: value for name, value in parameters if is_number(value)}
    return {"transport": case.transport, "placement": str(case.placement), **words, "ranks": case.ranks, **numbers}


def is_number(value: object) -> bool:
    """Return whether a value is a number; a truth value is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def varying(cases: Iterable[Case]) -> tuple[list[str], dict[str, Value]]:
    """Split the factors of several cases into names of factors that vary, and factors that are the same in all."""
    rows = [factors(case) for case in cases]
    names = list(dict.fromkeys(name for row in rows for name in row))
    constant = {name: rows[0][name] for name in names if all(row.get(name) == rows[0].get(name) for row in rows)}
    return [name for name in names if name not in constant], constant
