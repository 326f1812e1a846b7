"""The gain of a changed platform: how much more is done in the same time, and the cost of one percent of it."""

from collections.abc import Iterable, Sequence

from hpcscope.catalog.catalog import Catalog
from hpcscope.statistics.summary import Summary

SOLVING = ("algorithm", "application")
"""Levels whose benchmarks solve a problem, on the number of ranks that solves it fastest."""


def gained(case: Summary, old: Summary | None) -> float | None:
    """Return how much more a case does in the same time than before (0.1 is 10 %); None if one is missing."""
    if old is None or not case.median or not old.median:
        return None
    return (old.median / case.median if case.better == "lower" else case.median / old.median) - 1


def gains(
    changed: Sequence[Summary], unchanged: Sequence[Summary], catalog: Catalog, only_larger: bool = False
) -> dict[str, list[float]]:
    """Return the gains of each benchmark, as fractions: one value for each of its cases on both platforms.

    A benchmark that solves a problem has one value for each problem: each platform solves it on its fastest number
    of ranks, so more hosts may also gain something. `only_larger`: the changed platform has more hosts and the
    same links, so the results on the unchanged platform apply to both.
    """
    before = _fastest(unchanged, catalog)
    after = _fastest([*changed, *unchanged] if only_larger else changed, catalog)
    found: dict[str, list[float]] = {}
    for what, case in after.items():
        if (gain := gained(case, before.get(what))) is not None:
            found.setdefault(case.benchmark, []).append(gain)
    return found


def cost_of_a_percent(cost: float | None, gain: float | None) -> float | None:
    """Return the cost of each percent gained; None if nothing is gained or the cost is unknown."""
    return None if cost is None or gain is None or gain <= 0 else cost / (100 * gain)


def _fastest(summaries: Iterable[Summary], catalog: Catalog) -> dict[object, Summary]:
    """Return the fastest case of each problem, and every case of benchmarks that do not solve a problem."""
    cases: dict[object, Summary] = {}
    for summary in summaries:
        what = _problem(summary) if catalog[summary.benchmark].level in SOLVING else summary.key
        if what not in cases or (gained(summary, cases[what]) or 0.0) > 0:
            cases[what] = summary
    return cases


def _problem(case: Summary) -> tuple[object, ...]:
    parameters = tuple(sorted((name, str(value)) for name, value in case.parameters.items()))
    return case.benchmark, parameters, case.transport
