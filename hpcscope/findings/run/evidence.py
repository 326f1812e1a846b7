"""How findings compare two results of a run and cite them."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hpcscope import units
from hpcscope.findings.finding import Evidence
from hpcscope.plan.case import Key
from hpcscope.statistics.ratio import chance, of_launches, ratio
from hpcscope.statistics.summary import Summary

SIGNIFICANCE = 1 / 924
"""Significance level, 1/C(12,6): probability that equal sets of six launches are separated in this order."""


Item = TypeVar("Item")


def largest_of_each(
    items: Iterable[Item], key: Callable[[Item], object], weight: Callable[[Item], Any]
) -> list[Item]:
    """Return the item of largest weight for each key, the first of equal ones, in the order of the keys."""
    largest: dict[object, Item] = {}
    for item in items:
        known = largest.setdefault(key(item), item)
        if weight(item) > weight(known):
            largest[key(item)] = item
    return list(largest.values())


def but_for(case: Summary, *names: str) -> tuple[object, ...]:
    """Return what is common to cases of a metric that differ only in these parameters, ranks or placement."""
    facts = {**case.parameters, "ranks": case.ranks, "transport": case.transport, "placement": str(case.placement)}
    kept = sorted((name, str(value)) for name, value in facts.items() if name not in names)
    return case.benchmark, case.metric, case.origin, tuple(kept)


def how_compared(case: Summary, other: Summary) -> Evidence:
    """Return evidence that says whether two cases were compared launch by launch."""
    launches = ratio(case.per_launch, other.per_launch).paired_launches if case.median and other.median else 0
    return Evidence(what="compared in", value=f"{launches} common launches" if launches else "different launches")


def same_place(left: Summary, right: Summary) -> bool:
    """Return whether two results have the same number of ranks, transport, placement and origin."""
    return (left.batch, left.origin) == (right.batch, right.origin)


def one_of_each_case(summaries: Iterable[Summary]) -> list[Summary]:
    """Return the first summary of each case."""
    cases: dict[Key, Summary] = {}
    for summary in summaries:
        cases.setdefault(summary.key, summary)
    return list(cases.values())


def excess_of(case: Summary, other: Summary) -> float:
    """Return how much longer one takes than the other (0.1 is 10 %), launch by launch if they share launches."""
    return ratio(case.per_launch, other.per_launch).value - 1 if case.median and other.median else 0.0


def certainly_longer(case: Summary, other: Summary, at_least: float = 0.0) -> bool:
    """Return whether one case takes significantly longer than another, by more than `at_least` of its time.

    With equal times this happens once in a thousand comparisons. Common launches are compared by the paired test
    of their ratios, different launches by whether their intervals are disjoint.
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
    """Return a summary's median as text, with its unit."""
    return units.quantity(summary.median, summary.unit)
