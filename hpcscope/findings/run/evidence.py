"""How findings compare two results of a run, and cite them."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hpcscope import units
from hpcscope.findings.finding import Evidence
from hpcscope.plan.case import Key
from hpcscope.statistics.ratio import chance, of_launches, ratio
from hpcscope.statistics.summary import Summary

SIGNIFICANCE = 1 / 924
"""Significance of one comparison: as often two sets of six equal launches do not overlap, in this order."""


Item = TypeVar("Item")


def largest_of_each(
    items: Iterable[Item], key: Callable[[Item], object], weight: Callable[[Item], Any]
) -> list[Item]:
    """Return the item of most weight for each key, the first of equal ones, in the order of the keys."""
    largest: dict[object, Item] = {}
    for item in items:
        known = largest.setdefault(key(item), item)
        if weight(item) > weight(known):
            largest[key(item)] = item
    return list(largest.values())


def but_for(case: Summary, *names: str) -> tuple[object, ...]:
    """Return what cases of a metric have in common that differ in these parameters, or in ranks or placement."""
    facts = {**case.parameters, "ranks": case.ranks, "transport": case.transport, "placement": str(case.placement)}
    kept = sorted((name, str(value)) for name, value in facts.items() if name not in names)
    return case.benchmark, case.metric, case.origin, tuple(kept)


def how_compared(case: Summary, other: Summary) -> Evidence:
    """Return whether two cases were compared launch by launch, as evidence."""
    launches = ratio(case.per_launch, other.per_launch).paired_launches if case.median and other.median else 0
    return Evidence(what="compared in", value=f"{launches} common launches" if launches else "different launches")


def one_of_each_case(summaries: Iterable[Summary]) -> list[Summary]:
    """Return the first summary of each case."""
    cases: dict[Key, Summary] = {}
    for summary in summaries:
        cases.setdefault(summary.key, summary)
    return list(cases.values())


def excess_of(case: Summary, other: Summary) -> float:
    """Return how much longer one takes than the other: 0.1 is 10 %. Launch by launch where they share launches."""
    return ratio(case.per_launch, other.per_launch).value - 1 if case.median and other.median else 0.0


def certainly_longer(case: Summary, other: Summary, at_least: float = 0.0) -> bool:
    """Return whether one certainly takes longer than the other, and by at least a share of its time.

    With equal times this happens once in a thousand comparisons: in common launches by the paired test of their
    ratios, in different ones because their intervals are disjoint.
    """
    if not case.median or not other.median:
        return False
    found = ratio(case.per_launch, other.per_launch)
    if found.paired_launches:
        longer = chance(of_launches(case.per_launch, other.per_launch)) < SIGNIFICANCE
    else:
        longer = case.ci_low is not None and other.ci_high is not None and case.ci_low > other.ci_high
    return longer and found.value - 1 > at_least


def written(summary: Summary) -> str:
    """Write a summary's median for people, with its unit."""
    return units.quantity(summary.median, summary.unit)
