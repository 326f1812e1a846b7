"""Which summaries belong into one figure, and which of them are one series."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from scope.report.figure import label
from scope.report.run.order import case_key, factors, value_key, varying
from scope.samples.records import Value
from scope.statistics.summary import Case, Summary

MOST_SERIES = 6
"""More lines than this in one figure cannot be told apart."""
FEWEST_POINTS = 3
"""Fewer make no curve."""

_NUMBERED = ("round", "root")
"""Numbers that are names: nothing grows with them."""
_SPLIT_FIRST = ("transport", "placement")


def swept(summaries: Sequence[Summary]) -> str | None:
    """Return the numeric parameter that takes the most values, at least three; None when there is none."""
    taken: dict[str, set[float]] = defaultdict(set)
    for one in summaries:
        for name, value in one.parameters.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and name not in _NUMBERED:
                taken[name].add(float(value))
    most = max(taken, key=lambda key: (len(taken[key]), key.endswith("bytes")), default=None)
    return most if most is not None and len(taken[most]) >= FEWEST_POINTS else None


def panels(summaries: Sequence[Summary], variable: str) -> list[list[Summary]]:
    """Split until no panel has more series than can be told apart."""
    names = series_factors(summaries, variable)
    if len(series(summaries, names)) <= MOST_SERIES:
        return [list(summaries)]
    name = min(names, key=lambda one: (one not in _SPLIT_FIRST, len(values(summaries, one))))
    parts = [[one for one in summaries if factors(one).get(name) == value] for value in values(summaries, name)]
    return [panel for part in parts for panel in panels(part, variable)]


def series_factors(summaries: Sequence[Summary], variable: str | None) -> list[str]:
    """Return the factors that tell series apart: all that vary except what is swept.

    Where the placement follows from the other factors, as with more ranks than cores, it tells nothing.
    """
    names = varying(summaries)[0]
    others = [name for name in names if name != "placement"]
    points = {tuple(factors(one).get(name) for name in others) for one in summaries}
    if len(points) == len(summaries):
        names = others
    return [name for name in names if name != variable]


def series(summaries: Sequence[Summary], names: Sequence[str]) -> list[list[Summary]]:
    """Group summaries that agree in the factors `names` and in their origin; each group is sorted."""
    groups: dict[tuple[object, ...], list[Summary]] = defaultdict(list)
    for one in sorted(summaries, key=case_key):
        chosen = factors(one)
        groups[(one.origin, *(chosen.get(name) for name in names))].append(one)
    return list(groups.values())


def chosen_words(case: Case, but: Sequence[str]) -> str:
    """Name a case by what was chosen for it, without the factors `but`, and without what is usual."""
    usual = {"transport": "default", "rows": 0, "placement": case.placement}
    chosen = {name: value for name, value in factors(case).items() if usual.get(name) != value and name not in but}
    return ", ".join(label(name, value) for name, value in chosen.items())


def spread(chosen: Sequence[Value], most: int) -> list[Value]:
    """Choose at most `most` values, evenly over the whole range, first and last among them."""
    if len(chosen) <= most:
        return list(chosen)
    last = len(chosen) - 1
    return [chosen[round(index * last / (most - 1))] for index in range(most)]


def values(summaries: Sequence[Summary], name: str) -> list[Value]:
    """Return the values that a factor takes, sorted."""
    found = {factors(one)[name] for one in summaries if name in factors(one)}
    return sorted(found, key=value_key)
