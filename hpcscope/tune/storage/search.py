"""The search: which candidates are measured, how they are judged, and what is concluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from hpcscope import units
from hpcscope.errors import ScopeError
from hpcscope.models.fitting.curve import UNKNOWN_NOISE
from hpcscope.models.scaling.saturation import FEWEST_COUNTS
from hpcscope.statistics.ratio import chance, of_launches, ratio
from hpcscope.statistics.summary import Summary
from hpcscope.tune.storage.candidates import FileAccess, candidates, plainness
from hpcscope.tune.storage.prediction import Predictor, calibration, fitted
from hpcscope.tune.storage.record import (
    PredictedBandwidth,
    StorageConclusion,
    StorageSearchSettings,
    StorageTuning,
    Trial,
)

SIGNIFICANCE = 0.025
"""Of the test that the fastest is faster than one of the others, launch by launch."""
Measured = Mapping[FileAccess, Summary]
"""The bandwidth of each measured candidate, also of those that failed."""


def first_cases(asked: StorageSearchSettings) -> list[FileAccess]:
    """Return what the predictions need."""
    return calibration(asked.ranks, asked.file_bytes, asked.files)


def predicted(tuning: StorageTuning, measured: Measured) -> StorageTuning:
    """Return the record with predictions of all candidates and the trials that are still to be measured.

    Raises ScopeError where the measurements say too little.
    """
    asked = tuning.settings
    predictor = fitted(first_cases(asked)[0], _rates(measured))
    every = list(candidates(asked.ranks, asked.file_bytes, asked.files))
    ranked = sorted(every, key=lambda one: (-predictor.rate(one), plainness(one)))
    tried = [one for one in ranked[: asked.trials] if one not in measured]
    return tuning.model_copy(
        update={
            "predicted": [PredictedBandwidth(candidate=one, bytes_per_s=predictor.rate(one)) for one in ranked],
            "enough_ranks": _enough(predictor, asked.ranks),
            "trials": [
                *(Trial(candidate=one, predicted_bytes_per_s=None) for one in measured),
                *(Trial(candidate=one, predicted_bytes_per_s=predictor.rate(one)) for one in tried),
            ],
        }
    )


def concluded(tuning: StorageTuning, measured: Measured) -> StorageTuning:
    """Return the record with all trials judged and the conclusion; ScopeError where nothing could be measured."""
    rates = {candidate: one for candidate, one in measured.items() if _valid(one)}
    if not rates:
        reason = next((one.reason for one in measured.values() if one.reason), "not measured")
        raise ScopeError(f"no way to access files could be measured: {reason}")
    fastest = max(rates, key=lambda candidate: rates[candidate].estimate.value)
    trials = [_judged(trial, measured.get(trial.candidate), rates[fastest]) for trial in tuning.trials]
    near = sorted((trial for trial in trials if trial.kept), key=lambda trial: plainness(trial.candidate))
    chosen = near[0]
    assert chosen.measured_bytes_per_s is not None
    winner = len(near) == 1 and all(trial.of_fastest is None or trial.of_fastest.high for trial in trials)
    conclusion = StorageConclusion(
        chosen=chosen.candidate,
        bytes_per_s=chosen.measured_bytes_per_s,
        winner=winner,
        words=[
            _standing(chosen, near, trials, winner),
            *_writers(tuning),
            *_errors(trials, len(tuning.predicted)),
        ],
    )
    return tuning.model_copy(update={"trials": trials, "conclusion": conclusion})


def _judged(trial: Trial, one: Summary | None, fastest: Summary) -> Trial:
    if one is None or not _valid(one):
        return trial.model_copy(update={"verdict": one.reason if one and one.reason else "not measured"})
    share = ratio(one.per_launch, fastest.per_launch)
    if one is fastest:
        kept, verdict = True, "the fastest"
    else:
        kept = not _certainly_slower(one, fastest)
        verdict = "within the noise of the fastest" if kept else "slower"
    return trial.model_copy(
        update={"measured_bytes_per_s": one.estimate, "of_fastest": share, "kept": kept, "verdict": verdict}
    )


def _certainly_slower(one: Summary, fastest: Summary) -> bool:
    """Compare in common launches by the paired test, in others by the intervals; a usual noise without either."""
    found = ratio(one.per_launch, fastest.per_launch)
    if found.paired_launches:
        return chance(of_launches(fastest.per_launch, one.per_launch)) < SIGNIFICANCE
    return found.high < 1 if found.high is not None else 1 - found.value > UNKNOWN_NOISE


def _standing(chosen: Trial, near: Sequence[Trial], trials: Sequence[Trial], winner: bool) -> str:
    others = [trial for trial in trials if trial is not chosen and trial.of_fastest is not None]
    if not others:
        return "the only way that could be measured"
    if winner:
        nearest = max(trial.of_fastest.value for trial in others if trial.of_fastest)
        return f"faster than all {len(others)} others: the next reaches {units.share(nearest)} of it"
    if len(near) == 1:
        return "the fastest; too few launches for certainty"
    return f"no winner: {len(near)} of {len(others) + 1} are within each other's noise; the simplest is chosen"


def _writers(tuning: StorageTuning) -> list[str]:
    if len(tuning.settings.ranks) < FEWEST_COUNTS:
        return []
    if tuning.enough_ranks is None:
        return ["more processes than were measured may reach more"]
    count = max(round(tuning.enough_ranks), 1)
    gain = f"beyond {count} process{'es' if count != 1 else ''} at most a tenth is gained"
    return [f"{first_cases(tuning.settings)[0].way}: {gain}, by the fitted law"]


def _errors(trials: Sequence[Trial], every: int) -> list[str]:
    errors = [abs(trial.error) for trial in trials if trial.error is not None]
    words = [f"measured {sum(trial.measured_bytes_per_s is not None for trial in trials)} of {every} ways"]
    if errors:
        median, largest = units.share(float(np.median(errors))), units.share(max(errors))
        words.append(f"median error of the predictions of {len(errors)} trials {median}, largest {largest}")
    return words


def _enough(predictor: Predictor, ranks: Sequence[int]) -> float | None:
    enough = predictor.enough_ranks
    return enough if isfinite(enough) and len(ranks) >= FEWEST_COUNTS else None


def _rates(measured: Measured) -> dict[FileAccess, float]:
    return {candidate: one.estimate.value for candidate, one in measured.items() if _valid(one)}


def _valid(one: Summary) -> bool:
    return one.valid and bool(one.median)
