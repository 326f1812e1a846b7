"""Which hosts, groups of hosts and paths between groups are slow, from a sample of all pairs.

The logarithm of a pair's time is modeled as m + x_i + x_j + c [path between the groups of i and j] + e_ij, and x_i
as the host's own effect plus one for each group that it belongs to: its switch, its rail. Every effect is a median
over many pairs, which a few slow hosts cannot distort (Tukey 1977, Exploratory Data Analysis, ch. 11). The members
of a slow group are not reported individually.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import comb, exp

import numpy as np

from hpcscope.models.communication.decomposition import (
    FALSE_ALARMS,
    FEWEST,
    FEWEST_LAUNCHES,
    LEAST_SPREAD,
    ROUNDS,
    SMALLEST_EXCESS,
    THRESHOLD,
    excess_estimate,
)
from hpcscope.samples.samples import Booleans, Floats, Integers
from hpcscope.statistics.distributions import normal_quantile
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.order_statistics import group_medians

KINDS = 5
"""Hosts, switches, groups of switches, rails and pairs: these kinds share one false-alarm rate."""
FEWEST_MEMBERS = 3
"""Fewest hosts whose median can judge their group."""
FEWEST_ON_A_PATH = 2
"""Fewest pairs between two groups that must agree: a single one is a slow pair."""
FEW_PAIRS = 4
"""With up to this many pairs, every launch must show the excess; with more, all but one in six launches."""
AGREEING = 2 / 3
"""More than this fraction of a slow path's pairs must show half of its excess: all of two or three pairs."""
FEWEST_OF_A_HOST = 4
"""Fewest pairs with other hosts that are needed to call a host slow."""
LAUNCH_THRESHOLD = 5.0
"""Robust z score of a single pair in the launches: of a million pairs, some medians are far out by chance."""
CLOSE = 1e-4
"""Step at which the polish ends: a hundredth of the difference that equal hosts may have."""
MEDIAN_ERROR = 1.2533
"""Standard error of the median of normal values, relative to the standard error of their mean."""


@dataclass(frozen=True)
class Pairs:
    """Measured pairs of endpoints, which are hosts or ranks."""

    count: int
    """Number of endpoints."""
    first: Integers
    second: Integers
    """Second endpoint of each pair."""
    logs: Floats
    """Logarithm of the one-way latency; shape (launches, pairs)."""

    @cached_property
    def typical(self) -> Floats:
        """The median over the launches; shape (pairs,)."""
        middle: Floats = np.median(self.logs, axis=0)
        return middle

    @cached_property
    def rows(self) -> tuple[Integers, Integers]:
        """The numbers of each endpoint's pairs, in a row padded with a number of no pair; and the row sizes."""
        sizes = np.bincount(self.ends, minlength=self.count)
        order = np.argsort(self.ends, kind="stable")
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        rows = np.full((self.count, max(1, int(sizes.max(initial=0)))), len(self.first))
        rows[self.ends[order], np.arange(len(order)) - begins[self.ends[order]]] = order % max(1, len(self.first))
        return rows, sizes

    @cached_property
    def ends(self) -> Integers:
        """The first endpoints of all pairs, then the second endpoints."""
        return np.concatenate([self.first, self.second])


@dataclass(frozen=True)
class Found:
    """Something that is slower than its peers."""

    members: tuple[int, ...]
    """One endpoint, the two of a pair, one group, or the two ends of a path."""
    excess: Estimate
    """Relative excess of its time (0.1 is 10 %), with its interval over the launches."""
    pairs: int
    """Number of measured pairs that support it."""


@dataclass(frozen=True)
class Localisation:
    """What is slow, slowest first; all empty if the pairs are equal."""

    hosts: list[Found]
    groups: dict[str, list[Found]]
    """Slow groups by attribute: switch, rail."""
    paths: dict[str, list[Found]]
    pairs: list[Found]
    effects: Floats
    """Log excess that each endpoint adds to its pairs over the typical endpoint; NaN if it was not measured."""


def localise(pairs: Pairs, groups: Mapping[str, Integers]) -> Localisation:
    """Find what is slow; `groups` has, by attribute, the number of each endpoint's group, -1 if it has none.

    Nothing is found if there are too few launches or endpoints.
    """
    ends = _effects(pairs, pairs.typical)
    middle = float(np.nanmedian(ends)) if np.isfinite(ends).any() else 0.0
    if len(pairs.logs) < FEWEST_LAUNCHES or pairs.count < FEWEST:
        return Localisation([], {}, {}, [], ends - middle)
    launches = np.array([ends + _effects(pairs, log - _fitted(pairs, ends)) for log in pairs.logs])
    seen = np.bincount(pairs.ends, minlength=pairs.count)
    own, own_launches, slow_groups = ends, launches, {}
    for attribute, labels in groups.items():
        locations, shift, shifts = _groups(own, own_launches, labels, seen)
        slow_groups[attribute] = locations
        own, own_launches = own - shift, own_launches - shifts
    enough = seen >= FEWEST_OF_A_HOST
    hosts = _outliers(own, own_launches, enough, np.zeros_like(own), seen)
    rest = pairs.typical - _fitted(pairs, ends)
    rests = np.array([log - np.median(log - rest) for log in pairs.logs - _fitted(pairs, ends)])
    explained = np.zeros(len(rest), bool)
    slow_paths = {}
    for attribute, labels in groups.items():
        slow_paths[attribute] = _paths(pairs, labels, rest, rests, explained)
    # Only its launches support a single pair: each must exceed the scatter of launches.
    alone = np.ones(len(rest), np.int64)
    single = _outliers(
        rest, rests, ~explained, np.zeros_like(rest), alone, in_launches=LAUNCH_THRESHOLD * _spread(rests)
    )
    slow_pairs = [
        Found((int(pairs.first[location.members[0]]), int(pairs.second[location.members[0]])), location.excess, 1)
        for location in single
    ]
    return Localisation(hosts, slow_groups, slow_paths, slow_pairs, ends - middle)


def chance_of_path(hosts: int, rounds: int, one: int, other: int) -> float:
    """Return the chance that at least two pairs of this many random rounds join two groups of these sizes."""
    expected = rounds * one * other / (hosts - 1)
    return 1 - exp(-expected) * (1 + expected)


def chance_of_pair(hosts: int, rounds: int) -> float:
    """Return the chance that this many random rounds contain a given pair."""
    return float(1 - (1 - 1 / (hosts - 1)) ** rounds)


def all_pairs(hosts: int) -> int:
    """Return the number of pairs among this many hosts."""
    return comb(hosts, 2)


def _fitted(pairs: Pairs, ends: Floats) -> Floats:
    """Return the log time of each pair from the effects of its ends, which each hold half of the common time."""
    fitted: Floats = ends[pairs.first] + ends[pairs.second]
    return fitted


def _effects(pairs: Pairs, logs: Floats) -> Floats:
    """Return each endpoint's part of its pairs' log times by median polish; NaN if it has no pair."""
    effects = np.full(pairs.count, float(np.median(logs)) / 2 if logs.size else 0.0)
    # One row per endpoint with the numbers of its pairs, padded with a number whose time is NaN.
    rows, sizes = pairs.rows
    places = np.arange(pairs.count)
    low, high = np.maximum(sizes - 1, 0) // 2, sizes // 2
    high = np.minimum(high, np.maximum(sizes - 1, 0))
    for _ in range(ROUNDS):
        rest = np.append(logs - _fitted(pairs, effects), np.nan)
        # NaN is sorted after all numbers.
        ordered = np.sort(rest[rows], axis=1)
        step = (ordered[places, low] + ordered[places, high]) / 2
        # Half of the median: the other half appears at the other ends.
        effects = effects + step / 2
        if np.nanmax(np.abs(step), initial=0.0) < CLOSE:
            break
    return effects


def _groups(own: Floats, launches: Floats, labels: Integers, seen: Integers) -> tuple[list[Found], Floats, Floats]:
    """Return the slow groups, and the effect of its group on each endpoint, over all launches and in each."""
    count = int(labels.max(initial=-1)) + 1
    inside = (labels >= 0) & np.isfinite(own)
    sizes = np.bincount(labels[inside], minlength=count)
    judged = sizes >= FEWEST_MEMBERS

    def middles(values: Floats) -> Floats:
        order = np.argsort(labels[inside], kind="stable")
        found = group_medians(values[inside][order], labels[inside][order], count, np.nan)
        return np.where(judged, found, np.nan)

    none: tuple[list[Found], Floats, Floats] = [], np.zeros_like(own), np.zeros_like(launches)
    if np.count_nonzero(judged) < 2:
        return none
    whole, each = middles(own), np.array([middles(launch) for launch in launches])
    pairs = np.bincount(labels[inside], weights=seen[inside], minlength=count).astype(np.int64)
    # Of two groups the faster is the standard; of more groups, the median.
    standard = "middle" if np.count_nonzero(judged) > 2 else "fastest"
    error = _spread(own[inside] - whole[labels[inside]]) * MEDIAN_ERROR / np.sqrt(np.maximum(sizes, 1))
    locations = _outliers(whole, each, judged, error, pairs, standard)
    slow = np.zeros(count, bool)
    slow[[location.members[0] for location in locations]] = True
    base = np.nanmedian(np.where(slow, np.nan, whole)) if not slow[judged].all() else 0.0
    # Only the effects of slow groups are subtracted from their members: other groups have no effect of their own.
    shift = np.where(slow[labels] & inside, (whole - base)[labels], 0.0)
    shifts = np.where(slow[labels] & inside, (each - base)[:, labels], 0.0)
    return locations, shift, shifts


def _paths(pairs: Pairs, labels: Integers, rest: Floats, rests: Floats, explained: Booleans) -> list[Found]:
    """Return the slow paths between two groups, and mark their pairs in `explained`."""
    count = int(labels.max(initial=-1)) + 1
    if count < 3:
        return []
    one, other = labels[pairs.first], labels[pairs.second]
    joined = (one >= 0) & (other >= 0) & (one != other)
    cells = np.minimum(one, other) * count + np.maximum(one, other)
    known, numbers = np.unique(cells[joined], return_inverse=True)
    sizes = np.bincount(numbers, minlength=len(known))
    order = np.argsort(numbers, kind="stable")

    def middles(values: Floats) -> Floats:
        return group_medians(values[joined][order], numbers[order], len(known), np.nan)

    error = _spread(rest) * np.where(sizes > 2, MEDIAN_ERROR, 1.0) / np.sqrt(sizes)
    enough = sizes >= FEWEST_ON_A_PATH
    each = np.array([middles(values) for values in rests])
    # What is rare in one launch is very rare in most launches, although noise has heavier tails than normal.
    least = _spread(rests)
    locations = _outliers(middles(rest), each, enough, error, sizes, spread_of_error=True, in_launches=least)
    where = np.flatnonzero(joined)
    slow = np.zeros(len(known), bool)
    # Pairs that do not agree are not a path: one of two slow ones could be a slow pair.
    agreed = []
    for each_found in locations:
        cell = each_found.members[0]
        members = where[numbers == cell]
        if np.mean(rest[members] > np.log1p(each_found.excess.value) / 2) > AGREEING:
            slow[cell] = True
            ends = (int(known[cell] // count), int(known[cell] % count))
            agreed.append(Found(ends, each_found.excess, each_found.pairs))
    explained[where[slow[numbers]]] = True
    return agreed


def _outliers(
    values: Floats,
    launches: Floats,
    judged: Booleans,
    error: Floats,
    pairs: Integers,
    standard: str = "middle",
    spread_of_error: bool = False,
    in_launches: float = 0.0,
) -> list[Found]:
    """Return the values that stand out among their peers, and do so in the launches; slowest first.

    `in_launches` is the excess that the launches must show. `error` is the standard error of each value, if errors
    differ; `spread_of_error` says that the values of peers scatter only by this error.
    """
    candidates = np.flatnonzero(judged & np.isfinite(values))
    if not candidates.size:
        return []
    among = values[candidates]
    middle = float(np.median(among) if standard == "middle" else among.min())
    if spread_of_error:
        scale = np.maximum(error[candidates], LEAST_SPREAD / MEDIAN_ERROR)
    else:
        scale = np.hypot(LEAST_SPREAD if standard == "fastest" else _spread(among), error[candidates])
    # For paths, launches and pairs must also agree, so false alarms are rarer than the level says.
    level = FALSE_ALARMS if spread_of_error else FALSE_ALARMS / KINDS
    limit = max(THRESHOLD, -normal_quantile(level / candidates.size))
    each = launches[:, candidates] - (
        np.median(launches[:, candidates], axis=1, keepdims=True)
        if standard == "middle"
        else np.min(launches[:, candidates], axis=1, keepdims=True)
    )
    often = len(launches) - np.where(pairs[candidates] > FEW_PAIRS, len(launches) // 6, 0)
    large = (among - middle > limit * scale) & (among - middle > np.log1p(SMALLEST_EXCESS))
    chosen = np.flatnonzero(large & (np.count_nonzero(each > in_launches, axis=0) >= often))
    locations = [
        Found(
            (int(candidates[place]),),
            excess_estimate(among[place] - middle, each[:, place]),
            int(pairs[candidates[place]]),
        )
        for place in chosen.tolist()
    ]
    return sorted(locations, key=lambda location: -location.excess.value)


def _spread(values: Floats) -> float:
    """Return the robust standard deviation (MAD) about the median, at least LEAST_SPREAD."""
    known = values[np.isfinite(values)]
    return max(1.4826 * float(np.median(np.abs(known - np.median(known)))), LEAST_SPREAD)
