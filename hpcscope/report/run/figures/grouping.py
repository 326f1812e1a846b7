"""Grouping of summaries into figures and series."""

from collections import defaultdict
from collections.abc import Sequence

from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.catalog import Catalog
from hpcscope.plan.case import Case, transport_words
from hpcscope.report.figure import label
from hpcscope.report.order import case_key, factors, value_key, varying
from hpcscope.statistics.summary import Summary

MOST_SERIES = 6
"""Maximum number of lines in a figure; more cannot be distinguished."""
FEWEST_POINTS = 3
"""Minimum number of points in a curve."""

_NUMBERED = ("round", "root")
"""Parameters whose numbers are only names."""
_SPLIT_FIRST = ("transport", "placement")


def swept(summaries: Sequence[Case]) -> str | None:
    """Return the numeric parameter with the most values; None if it has fewer than three values."""
    taken: dict[str, set[float]] = defaultdict(set)
    for case in summaries:
        for name, value in case.parameters.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and name not in _NUMBERED:
                taken[name].add(float(value))
    most = max(taken, key=lambda key: (len(taken[key]), key.endswith("bytes")), default=None)
    return most if most is not None and len(taken[most]) >= FEWEST_POINTS else None


def panels(summaries: Sequence[Summary], variable: str) -> list[list[Summary]]:
    """Split summaries into panels that do not have too many series."""
    names = series_factors(summaries, variable)
    if len(series(summaries, names)) <= MOST_SERIES:
        return [list(summaries)]
    name = min(names, key=lambda one: (one not in _SPLIT_FIRST, len(values(summaries, one))))
    parts = [
        [summary for summary in summaries if factors(summary).get(name) == value]
        for value in values(summaries, name)
    ]
    return [panel for part in parts for panel in panels(part, variable)]


def series_factors(summaries: Sequence[Summary], variable: str | None) -> list[str]:
    """Return the factors that distinguish series: all that vary except the swept one.

    A placement that follows from the other factors is left out.
    """
    names = varying(summaries)[0]
    others = [name for name in names if name != "placement"]
    points = {tuple(factors(summary).get(name) for name in others) for summary in summaries}
    if len(points) == len(summaries):
        names = others
    return [name for name in names if name != variable]


def series(summaries: Sequence[Summary], names: Sequence[str]) -> list[list[Summary]]:
    """Group summaries by the factors `names` and their origin; each group is sorted."""
    groups: dict[tuple[object, ...], list[Summary]] = defaultdict(list)
    for summary in sorted(summaries, key=case_key):
        chosen = factors(summary)
        groups[(summary.origin, *(chosen.get(name) for name in names))].append(summary)
    return list(groups.values())


def chosen_words(case: Case, catalog: Catalog, without: Sequence[str] = ()) -> str:
    """Return a case in words without its benchmark and the factors `without`; defaults are left out."""
    kept = {name: value for name, value in case.parameters.items() if name not in without}
    words = catalog.differences(case.benchmark, kept)
    words += [transport_words(case.transport)] if case.transport != "default" else []
    words += [] if "ranks" in without else [label(catalog, case.benchmark, "ranks", case.ranks)]
    return ", ".join(words)


def spread(chosen: Sequence[Value], most: int) -> list[Value]:
    """Return at most `most` values spread evenly over the range, including the first and the last."""
    if len(chosen) <= most:
        return list(chosen)
    last = len(chosen) - 1
    return [chosen[round(index * last / (most - 1))] for index in range(most)]


def values(summaries: Sequence[Summary], name: str) -> list[Value]:
    """Return the values that a factor takes, sorted."""
    found = {factors(summary)[name] for summary in summaries if name in factors(summary)}
    return sorted(found, key=value_key)
