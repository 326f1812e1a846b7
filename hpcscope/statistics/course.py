"""The course of a run: the states of the machine over time, and whether neighboring launches are alike.

Every visit to a case says how fast the machine was at that moment, compared with the other visits to that case.
All visits together are a series over the whole run, in which a change of frequency or a neighbor on the host
stands out although each case was seen for milliseconds only. If the cases do not show a state, because it concerns
few of them or each was visited in one state only, the sentinel does: it always does the same work.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from hpcscope.plan.case import Batch
from hpcscope.samples.records import SentinelRecord
from hpcscope.samples.samples import Booleans, CaseSamples, Floats, Integers, Samples
from hpcscope.statistics.definitions import series_of, times_under
from hpcscope.statistics.dependence import lag_one
from hpcscope.statistics.distributions import normal_cdf
from hpcscope.statistics.order_statistics import group_medians
from hpcscope.strict import Strict, Unix

FEWEST_VISITS = 3
"""Fewest visits to a case from which its typical time is known."""
VISITS_IN_A_BIN = 5, 20
"""The fewest and the most visits whose median is one moment of the course."""
SENTINELS_IN_A_BIN = 3, 5
"""The fewest and the most sentinels in a bin; their work is always the same."""
BINS = 40
"""Number of bins of a short run; a long run has more."""
FEWEST_BINS = 8
SHORTEST = 2
"""Least duration of a state in moments; anything shorter is an interruption."""
SMALLEST_STEP = 0.15
"""Least step between two states, as the logarithm of a factor: launches differ by less."""
CLEAR = 4.0
"""Least ratio of the step to the noise of the bins."""
DISTINCT = 0.5
"""Fraction of the step between two states in which there is hardly any moment; otherwise the machine drifts."""
ALIKE = 0.02
"""Significance of the dependence of launches."""
MOST = 0.85
"""Fraction of the moments of a state that are clear of the other state; the rest may belong to a change."""
SMALLEST_SHARE = 0.05
ROUNDS = 20
PENALTY = 3.0


Measure = Literal["arithmetic", "throughput", "memory", "memory bandwidth", "ping-pong"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
"""Measures of the sentinel."""


class State(Strict):
    """A speed of the machine."""

    factor: float
    """Times relative to the fastest state, for what shows the states (`shown_by`)."""
    share: float
    """Fraction of the time of the run."""
    sentinel_s: dict[Measure, float] = {}
    """The sentinel's median times in this state, for the measures that the run has."""


class Period(Strict):
    """A time during which the machine stayed in one state."""

    state: int
    """Index into the states."""
    begin_unix_s: Unix
    end_unix_s: Unix


class Moment(Strict):
    """A few successive visits to cases."""

    unix_s: float
    factor: float
    """Time of these visits relative to their typical time, or to the fastest state if they show two states."""


class Course(Strict):
    """The course of a run."""

    states: list[State]
    """The fastest first; one state if the machine did not change, none if too little was measured to tell."""
    shown_by: Measure | Literal["cases"] = "cases"
    """What shows the states: the visits to the cases, or a measure of the sentinel."""
    periods: list[Period]
    """One after another; each ends where the next begins."""
    moments: list[Moment] = []
    """The visits to the cases during the run; none if there are too few."""
    launch_correlation: float | None
    """Rank correlation of the levels of successive launches; None for too few launches."""
    launches_dependent: bool
    """Whether successive launches are alike: intervals over launches are then valid for this run's time only."""

    @property
    def changes(self) -> int:
        """Number of times that the state changed."""
        return max(len(self.periods) - 1, 0)

    def state_at(self, unix_s: float) -> int:
        """Return the state of the machine at a time; outside the run, the first or last state."""
        for period in self.periods:
            if unix_s < period.end_unix_s:
                return period.state
        return self.periods[-1].state if self.periods else 0

    def state_during(self, visit: CaseSamples | SentinelRecord) -> int:
        """Return the state of the machine in the middle of a visit to a case, or of the sentinel."""
        return self.state_at(visit.started_unix_s + visit.duration_s / 2)


@dataclass(frozen=True)
class _Levels:
    """The visits of a run in the order of time; all arrays have the shape (visits,)."""

    case: Integers
    launch: Integers
    unix_s: Floats
    log_time: Floats

    @classmethod
    def of(cls, found: list[tuple[int, int, float, float]]) -> _Levels:
        """Put visits (case, launch, time, logarithm of the duration) in order."""
        columns = list(zip(*sorted(found, key=lambda each: each[2]), strict=True)) or [(), (), (), ()]
        return cls(
            case=np.array(columns[0], dtype=np.int64),
            launch=np.array(columns[1], dtype=np.int64),
            unix_s=np.array(columns[2], dtype=np.float64),
            log_time=np.array(columns[3], dtype=np.float64),
        )


def course_of(samples: Samples) -> Course:
    """Return the course of a run: its states and the dependence of its launches.

    The cases show the states. If they show none, the states are taken from the sentinel's measure in which they
    are farthest apart.
    """
    levels = _levels(samples)
    correlation, dependent = _launch_dependence(levels)
    shown_by: Measure | Literal["cases"] = "cases"
    states, periods, moments = _states(levels, *VISITS_IN_A_BIN)
    by_cases = len(states) > 1
    for measure in MEASURES if not by_cases else ():
        seen, during, _ = _states(_sentinel_levels(samples, measure), *SENTINELS_IN_A_BIN)
        if len(seen) > len(states) or (len(seen) > 1 and seen[1].factor > states[1].factor):
            states, periods, shown_by = seen, during, measure
    course = Course(
        states=states,
        shown_by=shown_by,
        periods=periods,
        moments=moments,
        launch_correlation=correlation,
        launches_dependent=dependent,
    )
    return course.model_copy(update={"states": _with_sentinel(course, samples.sentinels)})


def seconds_of(sentinel: SentinelRecord, measure: Measure) -> float | None:
    """Return the time of a sentinel's measure on the slowest kept rank; None if it was not taken."""
    times = {
        "arithmetic": sentinel.arithmetic_s,
        "throughput": sentinel.throughput_s,
        "memory": sentinel.memory_s,
        "memory bandwidth": sentinel.bandwidth_s,
    }
    return sentinel.ping_pong_s if measure == "ping-pong" else max(times[measure], default=None)


def _with_sentinel(course: Course, sentinels: list[SentinelRecord]) -> list[State]:
    """Return the states with the sentinel's median times in each."""
    seen: dict[tuple[int, Measure], list[float]] = defaultdict(list)
    for sentinel in sentinels:
        for measure in MEASURES:
            seconds = seconds_of(sentinel, measure)
            if seconds is not None:
                seen[course.state_during(sentinel), measure].append(seconds)
    return [
        state.model_copy(
            update={
                "sentinel_s": {
                    measure: float(np.median(seen[number, measure]))
                    for measure in MEASURES
                    if (number, measure) in seen
                }
            }
        )
        for number, state in enumerate(course.states)
    ]


def _sentinel_levels(samples: Samples, measure: Measure) -> _Levels:
    """Return a measure of the sentinel as visits; its duration may depend on the ranks of a launch."""
    batches: dict[tuple[int, int], Batch] = {
        (record.launch, record.attempt): record.batch for record in samples.launches
    }
    numbers: dict[Batch | None, int] = {}
    found = [
        (
            numbers.setdefault(batches.get((sentinel.launch, sentinel.attempt)), len(numbers)),
            sentinel.launch,
            sentinel.started_unix_s + sentinel.duration_s / 2,
            float(np.log(seconds)),
        )
        for sentinel in samples.sentinels
        if (seconds := seconds_of(sentinel, measure))
    ]
    return _Levels.of(found)


def _levels(samples: Samples) -> _Levels:
    found: list[tuple[int, int, float, float]] = []
    for number, launches in enumerate(samples.by_case().values()):
        own = [
            (number, case.launch, case.started_unix_s + case.duration_s / 2, level)
            for case in launches
            if case.ok and (level := _level(case)) is not None
        ]
        if len(own) >= FEWEST_VISITS:
            found += own
    return _Levels.of(found)


def _level(case: CaseSamples) -> float | None:
    """Return the logarithm of the median time of an operation in a visit; None if it has none."""
    times = series_of("max_rank", case.times)
    seconds = times_under("max_rank", times) if times is not None else None
    if times is None or seconds is None or not times.counted.any():
        return None
    typical = float(np.median(seconds[times.counted]))
    return float(np.log(typical)) if typical > 0 else None


def _launch_dependence(levels: _Levels) -> tuple[float | None, bool]:
    """Return the rank correlation of the levels of successive launches, and whether it is significant."""
    relative = levels.log_time - group_medians(levels.log_time, levels.case)[levels.case]
    launches = np.unique(levels.launch, return_inverse=True)[1]
    found = lag_one(group_medians(relative, launches))
    return (None, False) if found is None else (found[0], normal_cdf(-found[1]) < ALIKE)


def _states(levels: _Levels, fewest: int, most: int) -> tuple[list[State], list[Period], list[Moment]]:
    """Return the states that visits show, their periods, and the moments, each of `fewest` to `most` visits."""
    count = levels.case.size
    size = min(max(count // BINS, fewest), most)
    if count < FEWEST_BINS * size:
        return [], [], []
    bins = np.minimum(np.arange(count) // size, count // size - 1)  # the rest belongs to the last one
    course = _course(levels, bins)
    noise = max(1.4826 * float(np.median(np.abs(np.diff(course)))) / 2**0.5, 1e-4)
    segment = _segments(course, PENALTY * noise**2 * float(np.log(course.size)))
    heights = group_medians(course, segment)[segment]
    slow = _slower(heights)
    begin, end = float(levels.unix_s[0]), float(levels.unix_s[-1])
    step = float(np.median(heights[slow]) - np.median(heights[~slow])) if slow.any() else 0.0
    gap = float(np.quantile(course[slow], 1 - MOST) - np.quantile(course[~slow], MOST)) if slow.any() else 0.0
    shares = [float(np.mean(~slow)), float(np.mean(slow))]
    if gap < max(SMALLEST_STEP, CLEAR * noise, DISTINCT * step) or min(shares) < SMALLEST_SHARE:
        whole = Period(state=0, begin_unix_s=begin, end_unix_s=end)
        return [State(factor=1.0, share=1.0)], [whole], _moments(levels.unix_s, bins, course)
    periods = _periods(levels.unix_s, bins, slow)
    share = sum(period.end_unix_s - period.begin_unix_s for period in periods if period.state == 1) / (end - begin)
    states = [State(factor=1.0, share=1 - share), State(factor=float(np.exp(step)), share=share)]
    return states, periods, _moments(levels.unix_s, bins, course - np.median(heights[~slow]))


def _moments(unix_s: Floats, bins: Integers, course: Floats) -> list[Moment]:
    begin = float(unix_s[0])
    after_s = group_medians(unix_s - begin, bins)
    return [
        Moment(unix_s=begin + after, factor=float(np.exp(level)))
        for after, level in zip(after_s.tolist(), course.tolist(), strict=True)
    ]


def _course(levels: _Levels, bins: Integers) -> Floats:
    """Return the level of each bin: the times without the typical time of each case.

    The sum of a term for the case and a term for the bin is fitted, by means and then by medians (Tukey 1977,
    Exploratory Data Analysis, ch. 11): means alone would follow outliers, and medians alone may take a state for
    the typical time of a case.
    """
    course = np.zeros(int(bins[-1]) + 1)
    for round_ in range(2 * ROUNDS):
        middle = _means if round_ < ROUNDS else group_medians
        cases = middle(levels.log_time - course[bins], levels.case)
        course = middle(levels.log_time - cases[levels.case], bins)
        course -= np.median(course)
    return course


def _means(values: Floats, group: Integers) -> Floats:
    sizes = np.maximum(np.bincount(group), 1)
    means: Floats = np.bincount(group, weights=values) / sizes
    return means


def _segments(values: Floats, penalty: float) -> Integers:
    """Return the segment number of each value: the exact least-squares segmentation with a cost per segment.

    Each segment, and the series, has at least `SHORTEST` values. Optimal partitioning (Jackson et al. 2005, IEEE
    Signal Processing Letters 12 (2), 105-108).
    """
    count = values.size
    sums, squares = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (values, values**2))
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    last = np.zeros(count + 1, dtype=np.int64)
    for end in range(SHORTEST, count + 1):
        begin = np.arange(end - SHORTEST + 1)
        total = sums[end] - sums[begin]
        cost = best[begin] + squares[end] - squares[begin] - total**2 / (end - begin) + penalty
        last[end] = int(np.argmin(cost))
        best[end] = cost[last[end]]
    starts = np.zeros(count, dtype=np.int64)
    end = count
    while end > 0:
        starts[last[end]] = 1
        end = int(last[end])
    numbers: Integers = np.cumsum(starts) - 1
    return numbers


def _slower(heights: Floats) -> Booleans:
    """Return which bins belong to the upper of two groups: the split with the least squares within both."""
    best: Booleans = np.zeros(heights.size, dtype=np.bool_)
    least = float("inf")
    for cut in np.unique(heights)[1:]:
        slow = heights >= cut
        inside = float(np.var(heights[slow]) * slow.sum() + np.var(heights[~slow]) * (~slow).sum())
        if inside < least:
            best, least = slow, inside
    return best


def _periods(unix_s: Floats, bins: Integers, slow: Booleans) -> list[Period]:
    state = slow.astype(np.int64)[bins]
    changes = np.flatnonzero(np.diff(state)) + 1
    starts = [float(unix_s[0]), *((unix_s[changes - 1] + unix_s[changes]) / 2).tolist()]
    ends = [*starts[1:], float(unix_s[-1])]
    kinds = state[np.concatenate([[0], changes]).astype(np.int64)].tolist()
    return [
        Period(state=kind, begin_unix_s=begin, end_unix_s=end)
        for kind, begin, end in zip(kinds, starts, ends, strict=True)
    ]
