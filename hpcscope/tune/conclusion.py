"""The conclusion of a tuning: the winner, if any, the gain over the defaults, errors of the predictions."""

from itertools import pairwise

import numpy as np

from hpcscope import units
from hpcscope.statistics.estimate import in_percent
from hpcscope.tune.candidates import Candidate, untuned
from hpcscope.tune.judgement import chosen, seconds
from hpcscope.tune.record import Conclusion, Round, Try, Tuning

FAR_OFF = 0.3
"""Median error of the predictions above which the model misses something."""


def concluded(tuning: Tuning) -> Conclusion:
    """Return the conclusion from all rounds."""
    deciding = next(round_ for round_ in reversed(tuning.rounds) if round_.stage != "sizes")
    candidate, winner = chosen(deciding)
    mine = next(trial for trial in deciding.tries if trial.candidate == candidate)
    assert mine.measured_s is not None
    words = [_standing(deciding, candidate, winner), *_gain(deciding, mine, tuning), *_prediction_errors(tuning)]
    return Conclusion(chosen=candidate, n=mine.n, seconds=mine.measured_s, winner=winner, words=words)


def _standing(deciding: Round, candidate: Candidate, winner: bool) -> str:
    measured = [trial for trial in deciding.tries if trial.slower is not None and trial.measured_s]
    others = [trial for trial in measured if trial.candidate != candidate]
    if not others:
        return f"{candidate.label}: the only setting measured at the last size"
    if winner:
        nearest = min(others, key=seconds)
        difference = nearest.slower
        assert difference is not None
        behind = in_percent(difference)
        return f"{candidate.label} is significantly faster than all other settings; the next is {behind} slower"
    near = [trial for trial in measured if trial.kept]
    if len(near) == 1:
        next_one = units.share(min(trial.slower.value for trial in others if trial.slower))
        fastest = f"{candidate.label} was the fastest, the next was {next_one} slower"
        return f"too few launches for a significant winner; {fastest}"
    most = max(trial.slower.value for trial in near if trial.slower)
    few = all(trial.slower is None or trial.slower.low is None for trial in near)
    why = "cannot be distinguished, because there are too few launches" if few else "differ only by noise"
    return (
        f"no winner: {len(near)} of {len(measured)} settings {why} (the slowest is {units.share(max(most, 0.0))} "
        f"behind); of these, {candidate.label} is closest to the defaults"
    )


def _gain(deciding: Round, mine: Try, tuning: Tuning) -> list[str]:
    """Return the gain over the benchmark's defaults in words."""
    plain = untuned(tuning.settings.ranks)
    other = next((trial for trial in deciding.tries if trial.candidate == plain and trial.measured_s), None)
    if other is None or other is mine or other.measured_s is None or mine.measured_s is None:
        return ["these are the benchmark's defaults"] if other is mine else []
    gain = other.measured_s.value / mine.measured_s.value - 1
    if other.kept:
        return [f"the benchmark's defaults ({plain.label}) are among these settings"]
    return [f"{units.share(gain)} faster than the benchmark's defaults ({plain.label})"]


def _prediction_errors(tuning: Tuning) -> list[str]:
    """Return the errors of the predicted times and of their order in words."""
    tries = [trial for round_ in tuning.rounds for trial in round_.tries if trial.error is not None]
    errors = [trial.error or 0.0 for trial in tries]
    median, worst = float(np.median(np.abs(errors))), max(errors, key=abs)
    words = [
        f"predicted times of {units.count(len(errors), 'trial')}: median error {units.share(median)}, "
        f"largest {'+' if worst > 0 else '-'}{units.share(abs(worst))} ({_way(errors)})"
    ]
    if median > FAR_OFF:
        words.append(
            "errors this large mean that other work ran during the trials, or that the model does not fit this "
            "machine"
        )
    wrong = total = 0
    for round_ in tuning.rounds:
        if round_.stage == "sizes":
            continue
        ordered = sorted((trial for trial in round_.tries if trial.measured_s), key=lambda each: each.predicted_s)
        for one, other in pairwise(ordered):
            total += 1
            wrong += seconds(one) > seconds(other)
    if total:
        words.append(f"{wrong} of {total} pairs of successive predicted times were measured in the opposite order")
    tried = {trial.candidate for trial in tries}
    words.append(f"measured {len(tried)} of {len(tuning.predicted)} possible settings")
    return words


def _way(errors: list[float]) -> str:
    late = sum(error > 0 for error in errors)
    if late in (0, len(errors)):
        return f"all too {'long' if late else 'short'}"
    return f"{late} too long, {len(errors) - late} too short"
