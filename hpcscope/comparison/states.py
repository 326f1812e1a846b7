"""Whether the machine was in another state during one of two runs, and what of a change that explains.

A state is known from the run itself where the run saw several, and across runs from the sentinel, which does the
same work in both.
"""

import numpy as np

from hpcscope.comparison.comparison import StateChange
from hpcscope.samples.samples import Integers
from hpcscope.statistics.course import Course, Measure, State
from hpcscope.statistics.figures import STATES_DIFFER
from hpcscope.statistics.summary import Summary

NO_MORE = 1.25
"""A change of no more than so many times the sentinel's logarithm may be due to the state."""


def change(a: Course, b: Course, messages_differ: bool = False) -> StateChange | None:
    """Return how the states of two runs differ; None where they do not, or where nothing is known of them.

    `messages_differ`: the runs send messages in different ways, so that the sentinel's say nothing of the machine.
    """
    if not (a.states and b.states):
        return None
    longest = [max(course.states, key=lambda state: state.share) for course in (a, b)]
    ratios = _ratios(*longest)
    sentinel = {name: ratio for name, ratio in ratios.items() if name != "ping-pong" or not messages_differ}
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


def of_launches(a: Summary, b: Summary) -> tuple[Integers, Integers]:
    """Return the state of the machine in each launch of both sides; 0 in all where states do not matter to it.

    A side that was measured in one state only was in the one of the other side in which it is closest. Sides
    without a common state are compared as they are.
    """
    mixed = [case.state_mixture and len(case.launch_states) == len(case.launch_medians) for case in (a, b)]
    launches = [
        np.array(case.launch_states) if is_mixed else np.full(len(case.launch_medians), _closest(case, other))
        for case, other, is_mixed in ((a, b, mixed[0]), (b, a, mixed[1]))
    ]
    if not any(mixed) or not set(launches[0].tolist()) & set(launches[1].tolist()):
        launches = [np.zeros_like(side) for side in launches]
    return launches[0], launches[1]


def _closest(case: Summary, other: Summary) -> int:
    """Return the state of the other side whose median is closest; 0 where it has none."""
    apart = [
        abs(np.log(case.median / median)) if median and case.median else np.inf for median in other.state_medians
    ]
    return int(np.argmin(apart)) if apart else 0


def explains(states: StateChange | None, better: str, ratio: float) -> str:
    """Say how a state of a whole run explains that B takes `ratio` times A; empty where it does not."""
    slower = ratio if better == "lower" else 1 / ratio
    sentinel = states.sentinel if states is not None else {}
    for measure, factor in sorted(sentinel.items(), key=lambda item: -abs(np.log(item[1]))):
        if abs(np.log(factor)) > np.log(STATES_DIFFER) and 0 < np.log(slower) / np.log(factor) <= NO_MORE:
            return f"the {measure} of the sentinel (a small fixed workload) took {factor:.3g} times as long in B"
    return ""
