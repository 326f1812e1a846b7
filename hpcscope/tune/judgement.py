"""The judgement of a round: how much slower each trial was than the fastest, and which trials go on."""

import numpy as np

from hpcscope.errors import ScopeError
from hpcscope.models.fitting.curve import UNKNOWN_NOISE
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.order_statistics import median_estimate
from hpcscope.statistics.summary import Summary
from hpcscope.tune.candidates import BENCHMARK, Candidate, plainness, untuned
from hpcscope.tune.record import Round, Try, Tuning

KEPT = {"screen": 3, "refine": 2}
"""How many trials of a round go on, in addition to the benchmark's defaults."""


def judged(round_: Round, tuning: Tuning, summaries: list[Summary]) -> Round:
    """Return the round with measured times and verdicts; raises ScopeError if no trial could be measured."""
    found = [(trial, _measured(trial, tuning, summaries)) for trial in round_.tries]
    valid = [case for _, case in found if case is not None and case.valid and case.median]
    if not valid:
        reason = next((case.reason for _, case in found if case is not None and case.reason), "not measured")
        raise ScopeError(f"{BENCHMARK} n={round_.tries[0].n}: no trial could be measured: {reason}")
    fastest = min(valid, key=lambda summary: summary.median or 0.0)
    at_last = {prediction.candidate: prediction.seconds for prediction in tuning.predicted}
    tries = []
    for each, one in found:
        if one is None or not one.valid or not one.median:
            update: dict[str, object] = {"kept": False, "verdict": one.reason if one else "not measured"}
        else:
            update = {
                "measured_s": Estimate(value=one.median, low=one.ci_low, high=one.ci_high),
                "expected_s": at_last[each.candidate] * one.median / each.predicted_s,
                "slower": slower(one, fastest) if round_.stage != "sizes" else None,
            }
        tries.append(each.model_copy(update=update))
    if round_.stage == "sizes":
        tries = [trial.model_copy(update={"kept": trial.measured_s is not None}) for trial in tries]
    elif tuning.size is not None and tries[0].n == tuning.size.n:
        tries = _decided(tries)
    else:
        tries = _sifted(tries, KEPT[round_.stage], untuned(tuning.settings.ranks))
    return round_.model_copy(update={"tries": tries})


def _measured(trial: Try, tuning: Tuning, summaries: list[Summary]) -> Summary | None:
    wanted = trial.candidate.settings(trial.n)
    for summary in summaries:
        mine = summary.benchmark == BENCHMARK and summary.metric == "time_s" and summary.primary
        if mine and summary.ranks == tuning.settings.ranks and wanted.items() <= summary.parameters.items():
            return summary
    return None


def slower(case: Summary, other: Summary) -> Estimate:
    """Return how much longer one took than the other, paired by launch; without bounds for too few launches."""
    mine, theirs = np.array(case.launch_medians), np.array(other.launch_medians)
    if case is other or mine.size != theirs.size or mine.size == 0:
        return Estimate(value=(case.median or 0.0) / (other.median or 1.0) - 1)
    return median_estimate(mine / theirs - 1)


def certain(difference: Estimate | None) -> bool:
    """Return whether a difference is significantly above 0."""
    return difference is not None and difference.low is not None and difference.low > 0


def _sifted(tries: list[Try], most: int, plain: Candidate) -> list[Try]:
    """Keep the candidates expected to be the fastest at the last size, and the benchmark's defaults."""
    ranked = sorted(trial.expected_s for trial in tries if trial.expected_s is not None)
    judged = []
    for trial in tries:
        if trial.expected_s is None:
            judged.append(trial)
            continue
        going_on = trial.expected_s <= ranked[:most][-1]
        kept = going_on or trial.candidate == plain
        words = "kept" if going_on else "kept for comparison" if kept else "dropped"
        if not kept and not certain(trial.slower):
            words += ", though within the noise here"
        update = {"kept": kept, "verdict": words, "behind": trial.expected_s / ranked[0] - 1}
        judged.append(trial.model_copy(update=update))
    return judged


def _decided(tries: list[Try]) -> list[Try]:
    """Keep the fastest and all within its noise; with few launches, a typical noise is assumed."""
    judged = []
    fastest = min((trial for trial in tries if trial.measured_s), key=seconds)
    for trial in tries:
        if trial.measured_s is None or trial.slower is None:
            judged.append(trial)
            continue
        known = trial.slower.low is not None
        kept = trial is fastest or not (certain(trial.slower) if known else trial.slower.value > UNKNOWN_NOISE)
        if trial is fastest:
            words = "the fastest"
        elif known:
            words = "within the noise" if kept else "significantly slower"
        else:
            words = "too few launches to tell" if kept else "slower; too few launches for significance"
        judged.append(trial.model_copy(update={"kept": kept, "verdict": words}))
    return judged


def chosen(round_: Round) -> tuple[Candidate, bool]:
    """Return the chosen candidate of the last round, and whether it is significantly faster than all others.

    Among candidates within the noise of the fastest, the one closest to the defaults is chosen.
    """
    near = [trial.candidate for trial in round_.tries if trial.kept]
    candidate = min(near, key=plainness)
    others = [trial for trial in round_.tries if trial.candidate != candidate and trial.measured_s]
    return candidate, bool(others) and all(certain(trial.slower) for trial in others)


def seconds(trial: Try) -> float:
    """Return the measured time; infinity if there is none."""
    return trial.measured_s.value if trial.measured_s else float("inf")
