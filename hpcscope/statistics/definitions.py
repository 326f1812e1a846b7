"""What "the time" of a case means: one array of times per definition, from the same raw samples.

Each repetition gives one time per operation, in seconds:

half_round_trip  elapsed time on rank 0 / 2 (Melas 2000, eq. 6.7)
local            elapsed time on the rank that took longest
global           last exit of any rank minus the first entry of any rank, on the synchronized clock (Hunold &
                 Carpen-Amarie 2016, IEEE TPDS 27 (12), 3617-3630, sec. 4). Ranks leave the wait for an agreed
                 start some 50 ns after it, which is not part of the operation
max_rank         largest elapsed time of any rank, with ranks synchronized before each repetition
mean_rank        mean elapsed time over the ranks, synchronized in the same way
streaming        largest elapsed time of any rank over a loop of operations back to back
barrier_loop     the same over a loop of operations that are each followed by a barrier (Melas 2000, sec. 6.5.4)
"""

from collections.abc import Callable

import numpy as np

from hpcscope.catalog.benchmark import Definition
from hpcscope.samples.samples import Floats, Times

Rule = Callable[[Times], Floats | None]


def _half_round_trip(times: Times) -> Floats | None:
    rows = np.flatnonzero(times.ranks_kept == 0)
    return times.elapsed_s[rows[0]] / 2 if rows.size else None


def _longest(times: Times) -> Floats | None:
    if times.extremes is not None:
        return times.extremes.maximum_s
    return times.elapsed_s.max(axis=0) if times.elapsed_s.size else None


def _mean(times: Times) -> Floats | None:
    if times.extremes is not None:
        return times.extremes.mean_s
    return times.elapsed_s.mean(axis=0) if times.elapsed_s.size else None


def _last_exit_since_first_entry(times: Times) -> Floats | None:
    if times.synchronization == "none" and times.elapsed_s.shape[0] == 1 and times.extremes is None:
        own: Floats = times.elapsed_s[0]  # one process: its start is the common one
        return own
    if times.entry_s is None or not times.entry_s.size or times.synchronization == "none":
        return None
    if times.extremes is not None:
        return times.extremes.latest_exit_s - times.extremes.first_entry_s
    exits: Floats = (times.entry_s + times.elapsed_s).max(axis=0)
    first: Floats = times.entry_s.min(axis=0)
    return exits - first


_RULES: dict[Definition, tuple[str, Rule]] = {
    "half_round_trip": ("isolated", _half_round_trip),
    "local": ("isolated", _longest),
    "global": ("isolated", _last_exit_since_first_entry),
    "max_rank": ("isolated", _longest),
    "mean_rank": ("isolated", _mean),
    "streaming": ("streaming", _longest),
    "barrier_loop": ("barrier_loop", _longest),
}

_POINT_TO_POINT: tuple[Definition, ...] = ("half_round_trip", "local", "streaming")
_TOGETHER: tuple[Definition, ...] = ("global", "max_rank", "mean_rank", "streaming", "barrier_loop")


def comparable(headline: Definition, ranks: int) -> tuple[Definition, ...]:
    """Return the definitions worth reporting with a headline definition, the headline definition first.

    Times of one pair are not mixed with times of all ranks together, and what one rank does alone has no second
    definition.
    """
    if headline == "half_round_trip" or (headline == "local" and ranks == 1):
        return (headline,)
    family = _POINT_TO_POINT if headline == "local" else _TOGETHER
    others = tuple(d for d in family if d not in (headline, "half_round_trip") and (ranks > 1 or d != "mean_rank"))
    return (headline, *others)


def series_of(definition: Definition, series: list[Times]) -> Times | None:
    """Return the series that a definition is derived from; None if it was not taken."""
    cadence = _RULES[definition][0]
    return next((times for times in series if times.cadence == cadence), None)


def times_under(definition: Definition, times: Times) -> Floats | None:
    """Return seconds per operation for every repetition, shape (repetitions,), including warm-up and invalid ones.

    None if the series lacks what the definition needs (entry times, or rank 0).
    """
    found = _RULES[definition][1](times)
    return None if found is None else found / times.operations


def grain(definition: Definition, times: Times, clock_step_s: float) -> float:
    """Return the largest step between possible times under a definition, in s per operation."""
    hops = 2 if definition == "half_round_trip" else 1
    fewest = int(times.operations.min()) if times.repetitions else 1
    return clock_step_s / fewest / hops


def observed(name: str, series: list[Times]) -> tuple[Times, Floats] | None:
    """Return the series that observed `name`, and per repetition its largest value over all ranks."""
    for times in series:
        largest = times.largest_observed(name)
        if largest is not None:
            return times, largest
    return None
