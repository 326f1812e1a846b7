"""Whether the machine was in another state during one of two runs, and what of a change that explains.

A state is known from the run itself where the run saw several, and across runs from the sentinel, which does the
same work in both.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from hpcscope import units
from hpcscope.comparison.comparison import StateChange
from hpcscope.statistics.course import Course, Measure, State
from hpcscope.statistics.figures import STATES_DIFFER
from hpcscope.statistics.summary import Summary

NO_MORE = 1.25
"""A change of no more than so many times the sentinel's logarithm may be that of the state."""


def change(a: Course, b: Course) -> StateChange | None:
    """Return how the states of two runs differ; None where they do not, or where nothing is known of them."""
    if not (a.states and b.states):
        return None
    longest = [max(course.states, key=lambda state: state.share) for course in (a, b)]
    sentinel = _ratios(*longest)
    differ = any(abs(np.log(ratio)) > np.log(STATES_DIFFER) for ratio in sentinel.values())
    if len(a.states) == len(b.states) == 1 and not differ:
        return None
    return StateChange(a=a.states, b=b.states, sentinel=sentinel)


def _ratios(a: State, b: State) -> dict[Measure, float]:
    return {
        measure: b.sentinel_s[measure] / seconds
        for measure, seconds in a.sentinel_s.items()
        if measure in b.sentinel_s
    }


def within_equal_states(a: Summary, b: Summary) -> list[float]:
    """Return the ratios of B to A in equal states, the fastest first; empty where neither side mixes states.

    A side that was measured in one state only is held against the state of the other side in which it is closest.
    """
    of_a, of_b = _medians(a), _medians(b)
    if len(of_a) == len(of_b):
        return [one / other for one, other in zip(of_b, of_a, strict=True)] if len(of_a) > 1 else []
    ratios = [one / other for one, other in product(of_b, of_a)]
    return [min(ratios, key=lambda ratio: abs(np.log(ratio)))]


def _medians(summary: Summary) -> list[float]:
    """Return the median of each state where the figures mix states, else the median."""
    if summary.state_mixture:
        return [median for median in summary.state_medians if median]
    return [summary.median] if summary.median else []


def explains(states: StateChange | None, a: Summary, b: Summary, ratio: float, negligible: float) -> str:
    """Say how the states explain that B takes `ratio` times A; empty where they do not.

    `negligible`: the relative change that counts as none in equal states.
    """
    if states is None:
        return ""
    equal = within_equal_states(a, b)
    if equal:
        if max(abs(np.log(one)) for one in equal) > np.log1p(negligible):
            return ""
        return "in equal states " + " and ".join(units.change(one - 1) for one in equal)
    slower = ratio if a.better == "lower" else 1 / ratio
    for measure, factor in sorted(states.sentinel.items(), key=lambda each: -abs(np.log(each[1]))):
        if abs(np.log(factor)) > np.log(STATES_DIFFER) and 0 < np.log(slower) / np.log(factor) <= NO_MORE:
            return f"the sentinel's {measure} took {factor:.3g} times as long in B"
    return ""
