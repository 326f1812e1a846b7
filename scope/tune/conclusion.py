"""What a tuning comes to: who won, or that nobody did, what was gained, and how wrong the predictions were."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from scope import units
from scope.tune.candidates import Candidate, untuned
from scope.tune.judgement import chosen, seconds
from scope.tune.record import Conclusion, Round, Try, Tuning

FAR_OFF = 0.3
"""Median error of the predictions above which something else must be at work."""


def concluded(tuning: Tuning) -> Conclusion:
    """Say what the rounds come to."""
    deciding = next(each for each in reversed(tuning.rounds) if each.stage != "sizes")
    candidate, winner = chosen(deciding)
    mine = next(each for each in deciding.tries if each.candidate == candidate)
    assert mine.measured_s is not None
    words = [_standing(deciding, candidate, winner), *_gain(deciding, mine, tuning), *_honesty(tuning)]
    return Conclusion(chosen=candidate, n=mine.n, seconds=mine.measured_s, winner=winner, words=words)


def _standing(deciding: Round, candidate: Candidate, winner: bool) -> str:
    measured = [each for each in deciding.tries if each.slower is not None and each.measured_s]
    others = [each for each in measured if each.candidate != candidate]
    if not others:
        return f"{candidate.label}: the only one that was tried at the last size"
    if winner:
        nearest = min(others, key=seconds)
        difference = nearest.slower
        assert difference is not None
        behind = units.share(difference.value, difference.low, difference.high)
        return f"{candidate.label} is certainly the fastest of {len(measured)}: the next is {behind} slower"
    near = [each for each in measured if each.kept]
    if len(near) == 1:
        next_one = units.share(min(each.slower.value for each in others if each.slower))
        return (
            f"no certain winner, by so few launches; {candidate.label} was the fastest, the next {next_one} slower"
        )
    most = max(each.slower.value for each in near if each.slower)
    few = all(each.slower is None or each.slower.low is None for each in near)
    why = "cannot be told apart by so few launches" if few else "are within the noise of each other"
    return (
        f"no winner: {len(near)} of {len(measured)} {why}, the slowest by {units.share(max(most, 0.0))}; "
        f"{candidate.label} is the plainest of them"
    )


def _gain(deciding: Round, mine: Try, tuning: Tuning) -> list[str]:
    """Say what tuning gave over what the benchmark does by itself."""
    plain = untuned(tuning.settings.ranks)
    other = next((each for each in deciding.tries if each.candidate == plain and each.measured_s), None)
    if other is None or other is mine or other.measured_s is None or mine.measured_s is None:
        return ["it is what the benchmark does by itself"] if other is mine else []
    gain = other.measured_s.value / mine.measured_s.value - 1
    if other.kept:
        return [f"what the benchmark does by itself ({plain.label}) is among them"]
    return [f"{units.share(gain)} faster than what the benchmark does by itself ({plain.label})"]


def _honesty(tuning: Tuning) -> list[str]:
    """Say how wrong the predictions were, in size and in order."""
    tries = [each for round_ in tuning.rounds for each in round_.tries if each.error is not None]
    errors = [each.error or 0.0 for each in tries]
    median, worst = float(np.median(np.abs(errors))), max(errors, key=abs)
    words = [
        f"predicted times were off by {units.share(median)} in the median of {len(errors)} tries, "
        f"by {'+' if worst > 0 else '-'}{units.share(abs(worst))} at worst ({_way(errors)})"
    ]
    if median > FAR_OFF:
        words.append("so far off that other work ran beside the tries, or that much is not modelled here")
    wrong = total = 0
    for round_ in tuning.rounds:
        if round_.stage == "sizes":
            continue
        ordered = sorted((each for each in round_.tries if each.measured_s), key=lambda each: each.predicted_s)
        for one, other in pairwise(ordered):
            total += 1
            wrong += seconds(one) > seconds(other)
    if total:
        words.append(f"of {total} neighbours in the predicted order {wrong} came in the other")
    tried = {each.candidate for each in tries}
    words.append(f"tried {len(tried)} of {len(tuning.predicted)} possible settings")
    return words


def _way(errors: list[float]) -> str:
    late = sum(error > 0 for error in errors)
    if late in (0, len(errors)):
        return f"all too {'long' if late else 'short'}"
    return f"{late} too long, {len(errors) - late} too short"
