"""What the tries of a round say: how much slower each was than the fastest, and which go on."""

from __future__ import annotations

import numpy as np

from scope.errors import ScopeError
from scope.models.fit import Bounds
from scope.models.fitting.curve import UNKNOWN_NOISE
from scope.statistics.figures import LAUNCHES_FOR_INTERVAL
from scope.statistics.order_statistics import median_interval
from scope.statistics.summary import Summary
from scope.tune.candidates import BENCHMARK, Candidate, plainness, untuned
from scope.tune.record import Round, Try, Tuning

KEPT = {"screen": 3, "refine": 2}
"""How many of a round go on, beside what the benchmark does by itself."""


def judged(round_: Round, tuning: Tuning, summaries: list[Summary]) -> Round:
    """Put what was measured beside what was predicted, and say who goes on.

    Raises ScopeError where no try could be measured.
    """
    found = [(each, _measured(each, tuning, summaries)) for each in round_.tries]
    valid = [one for _, one in found if one is not None and one.valid and one.median]
    if not valid:
        reason = next((one.reason for _, one in found if one is not None and one.reason), "not measured")
        raise ScopeError(f"LINPACK of {round_.tries[0].n} equations: no try could be measured: {reason}")
    fastest = min(valid, key=lambda one: one.median or 0.0)
    at_last = {each.candidate: each.seconds for each in tuning.predicted}
    tries = []
    for each, one in found:
        if one is None or not one.valid or not one.median:
            update: dict[str, object] = {"kept": False, "verdict": one.reason if one else "not measured"}
        else:
            update = {
                "measured_s": Bounds(value=one.median, low=one.ci_low, high=one.ci_high),
                "expected_s": at_last[each.candidate] * one.median / each.predicted_s,
                "slower": slower(one, fastest) if round_.stage != "sizes" else None,
            }
        tries.append(each.model_copy(update=update))
    if round_.stage == "sizes":
        tries = [each.model_copy(update={"kept": each.measured_s is not None}) for each in tries]
    elif tuning.size is not None and tries[0].n == tuning.size.n:
        tries = _decided(tries)
    else:
        tries = _sifted(tries, KEPT[round_.stage], untuned(tuning.settings.ranks))
    return round_.model_copy(update={"tries": tries})


def _measured(each: Try, tuning: Tuning, summaries: list[Summary]) -> Summary | None:
    wanted = each.candidate.settings(each.n)
    for one in summaries:
        mine = one.benchmark == BENCHMARK and one.metric == "time_s" and one.primary
        if mine and one.ranks == tuning.settings.ranks and wanted.items() <= one.parameters.items():
            return one
    return None


def slower(one: Summary, other: Summary) -> Bounds:
    """Return how much longer the one took than the other, launch by launch; no bounds from too few launches."""
    mine, theirs = np.array(one.launch_medians), np.array(other.launch_medians)
    if one is other or mine.size != theirs.size or mine.size == 0:
        return Bounds(value=(one.median or 0.0) / (other.median or 1.0) - 1)
    ratios = mine / theirs - 1
    interval = median_interval(ratios) if ratios.size >= LAUNCHES_FOR_INTERVAL else None
    value = float(np.median(ratios))
    return Bounds(value=value, low=interval.low, high=interval.high) if interval else Bounds(value=value)


def certain(difference: Bounds | None) -> bool:
    """Say whether a difference is certainly above none."""
    return difference is not None and difference.low is not None and difference.low > 0


def _sifted(tries: list[Try], most: int, plain: Candidate) -> list[Try]:
    """Keep those expected to be the fastest at the last size, and what the benchmark does by itself."""
    ranked = sorted(each.expected_s for each in tries if each.expected_s is not None)
    judged = []
    for each in tries:
        if each.expected_s is None:
            judged.append(each)
            continue
        going_on = each.expected_s <= ranked[:most][-1]
        kept = going_on or each.candidate == plain
        words = "kept" if going_on else "kept to compare with" if kept else "dropped"
        if not kept and not certain(each.slower):
            words += ", though within the noise here"
        update = {"kept": kept, "verdict": words, "behind": each.expected_s / ranked[0] - 1}
        judged.append(each.model_copy(update=update))
    return judged


def _decided(tries: list[Try]) -> list[Try]:
    """Keep the fastest and all that lie within the noise of it; of few launches what is usual counts as noise."""
    judged = []
    fastest = min((each for each in tries if each.measured_s), key=seconds)
    for each in tries:
        if each.measured_s is None or each.slower is None:
            judged.append(each)
            continue
        known = each.slower.low is not None
        kept = each is fastest or not (certain(each.slower) if known else each.slower.value > UNKNOWN_NOISE)
        if each is fastest:
            words = "the fastest"
        elif known:
            words = "within the noise" if kept else "certainly slower"
        else:
            words = "too few launches to tell" if kept else "slower; too few launches to be certain"
        judged.append(each.model_copy(update={"kept": kept, "verdict": words}))
    return judged


def chosen(round_: Round) -> tuple[Candidate, bool]:
    """Return the candidate of the last round that is chosen, and whether it certainly won.

    Of several within the noise of the fastest it is the plainest.
    """
    near = [each.candidate for each in round_.tries if each.kept]
    candidate = min(near, key=plainness)
    others = [each for each in round_.tries if each.candidate != candidate and each.measured_s]
    return candidate, bool(others) and all(certain(each.slower) for each in others)


def seconds(each: Try) -> float:
    """Return the measured time; infinite where there is none."""
    return each.measured_s.value if each.measured_s else float("inf")
