"""Whether the machine was in another state during one of two runs, and which changes that explains.

A state is known from a run itself if the run met several, and across runs from the sentinel, which does the same
work in both.
"""

import numpy as np

from hpcscope.comparison.comparison import StateChange
from hpcscope.samples.samples import Integers
from hpcscope.statistics.course import Course
from hpcscope.statistics.figures import STATES_DIFFER
from hpcscope.statistics.summary import Summary

NO_MORE = 1.25
"""A change may be due to the state if its logarithm is at most this multiple of the sentinel's."""


def change(a: Course, b: Course, messages_differ: bool = False) -> StateChange | None:
    """Return how the states of two runs differ; None if they do not, or if nothing is known about them.

    `messages_differ`: the runs send messages in different ways: the sentinel's say nothing about the machine.
    """
    if not (a.states and b.states):
        return None
    in_a, in_b = (max(course.states, key=lambda state: state.share).sentinel_s for course in (a, b))
    sentinel = {
        measure: in_b[measure] / seconds
        for measure, seconds in in_a.items()
        if measure in in_b and (measure != "ping-pong" or not messages_differ)
    }
    differ = any(abs(np.log(ratio)) > np.log(STATES_DIFFER) for ratio in sentinel.values())
    if len(a.states) == len(b.states) == 1 and not differ:
        return None
    return StateChange(a=a.states, b=b.states, sentinel=sentinel)


def of_launches(a: Summary, b: Summary) -> tuple[Integers, Integers]:
    """Return the state of the machine in each launch of both sides; all 0 if states do not matter to the case.

    A side that was measured in one state only is assigned to the other side's state with the closest median. Sides
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
    """Return the state of the other side whose median is closest; 0 if it has no states."""
    apart = [
        abs(np.log(case.median / median)) if median and case.median else np.inf for median in other.state_medians
    ]
    return int(np.argmin(apart)) if apart else 0


def explains(states: StateChange | None, better: str, ratio: float) -> str:
    """Return how a state of a whole run explains that B takes `ratio` times A; empty if it does not."""
    slower = ratio if better == "lower" else 1 / ratio
    sentinel = states.sentinel if states is not None else {}
    for measure, factor in sorted(sentinel.items(), key=lambda item: -abs(np.log(item[1]))):
        if abs(np.log(factor)) > np.log(STATES_DIFFER) and 0 < np.log(slower) / np.log(factor) <= NO_MORE:
            return f"in B, the sentinel (a small fixed workload; here {measure}) took {factor:.3g} times as long"
    return ""
