"""The search: which candidates are measured, how they are judged, and what is concluded."""

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
from hpcscope.tune.storage.prediction import calibration, fitted
from hpcscope.tune.storage.record import (
    PredictedBandwidth,
    StorageConclusion,
    StorageSearchSettings,
    StorageTuning,
    Trial,
)

SIGNIFICANCE = 0.025
"""Significance level of the test that the fastest is faster than another one, launch by launch."""
NOT_MEASURED = "not measured"
"""The verdict on a trial without a measurement."""
Measured = Mapping[FileAccess, Summary]
"""The bandwidth of each measured candidate, including those that failed."""


def first_cases(asked: StorageSearchSettings) -> list[FileAccess]:
    """Return the candidates that the predictions need."""
    return calibration(asked.ranks, asked.file_bytes, asked.files)


def trials_in_time(asked: StorageSearchSettings, spent_s: float) -> int:
    """Return how many trials fit into the time, if each takes as long as a measurement did so far."""
    if asked.time_s is None:
        return asked.trials
    return max(0, int((asked.time_s - spent_s) / spent_s * len(first_cases(asked))))


def predicted(tuning: StorageTuning, measured: Measured) -> StorageTuning:
    """Return the record with predictions of all candidates and the trials that are still to be measured.

    Raises ScopeError if the measurements are insufficient.
    """
    asked = tuning.settings
    rates = {candidate: case.estimate.value for candidate, case in measured.items() if _valid(case)}
    predictor = fitted(first_cases(asked)[0], rates)
    enough = predictor.enough_ranks
    every = list(candidates(asked.ranks, asked.file_bytes, asked.files))
    ranked = sorted(every, key=lambda access: (-predictor.rate(access), plainness(access)))
    tried = [access for access in ranked[: asked.trials] if access not in measured]
    return tuning.model_copy(
        update={
            "predicted": [
                PredictedBandwidth(candidate=access, bytes_per_s=predictor.rate(access)) for access in ranked
            ],
            "enough_ranks": enough if isfinite(enough) and len(asked.ranks) >= FEWEST_COUNTS else None,
            "trials": [
                *(Trial(candidate=access, predicted_bytes_per_s=None) for access in measured),
                *(Trial(candidate=access, predicted_bytes_per_s=predictor.rate(access)) for access in tried),
            ],
        }
    )


def concluded(tuning: StorageTuning, measured: Measured) -> StorageTuning:
    """Return the record with all trials judged, and the conclusion; raises ScopeError if none was measured."""
    rates = {candidate: case for candidate, case in measured.items() if _valid(case)}
    if not rates:
        reason = next((case.reason for case in measured.values() if case.reason), NOT_MEASURED)
        raise ScopeError(f"none of the ways to access files could be measured: {reason}")
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
            *_left_out(trials, tuning.settings.time_s),
        ],
    )
    return tuning.model_copy(update={"trials": trials, "conclusion": conclusion})


def _judged(trial: Trial, case: Summary | None, fastest: Summary) -> Trial:
    if case is None or not _valid(case):
        return trial.model_copy(update={"verdict": case.reason if case and case.reason else NOT_MEASURED})
    share = ratio(case.per_launch, fastest.per_launch)
    if case is fastest:
        kept, verdict = True, "the fastest"
    else:
        kept = not _certainly_slower(case, fastest)
        verdict = "within the noise of the fastest" if kept else "slower"
    return trial.model_copy(
        update={"measured_bytes_per_s": case.estimate, "of_fastest": share, "kept": kept, "verdict": verdict}
    )


def _certainly_slower(case: Summary, fastest: Summary) -> bool:
    """Compare common launches by the paired test, others by intervals; without either, assume typical noise."""
    slower = ratio(case.per_launch, fastest.per_launch)
    if slower.paired_launches:
        return chance(of_launches(fastest.per_launch, case.per_launch)) < SIGNIFICANCE
    return slower.high < 1 if slower.high is not None else 1 - slower.value > UNKNOWN_NOISE


def _standing(chosen: Trial, near: Sequence[Trial], trials: Sequence[Trial], winner: bool) -> str:
    others = [trial for trial in trials if trial is not chosen and trial.of_fastest is not None]
    if not others:
        return "the only way that could be measured"
    if winner:
        nearest = max(trial.of_fastest.value for trial in others if trial.of_fastest)
        return f"faster than all other ways ({len(others)}): the next reaches {units.share(nearest)} of this rate"
    if len(near) == 1:
        return "the fastest; too few launches to be sure"
    return f"no winner: {len(near)} of {len(others) + 1} ways differ only by noise; the simplest is chosen"


def _writers(tuning: StorageTuning) -> list[str]:
    if len(tuning.settings.ranks) < FEWEST_COUNTS:
        return []
    if tuning.enough_ranks is None:
        return ["more ranks than measured may be faster"]
    enough = units.count(max(round(tuning.enough_ranks), 1), "rank")
    gain = f"ranks beyond {enough} raise the rate by at most a tenth"
    return [f"{first_cases(tuning.settings)[0].way}: {gain}, according to the fitted law"]


def _errors(trials: Sequence[Trial], every: int) -> list[str]:
    errors = [abs(trial.error) for trial in trials if trial.error is not None]
    words = [f"measured {sum(trial.measured_bytes_per_s is not None for trial in trials)} of {every} ways"]
    if errors:
        median, largest = units.share(float(np.median(errors))), units.share(max(errors))
        words.append(f"median error of {units.count(len(errors), 'prediction')} {median}, largest {largest}")
    return words


def _left_out(trials: Sequence[Trial], time_s: float | None) -> list[str]:
    left = sum(trial.verdict == NOT_MEASURED for trial in trials)
    if time_s is None or not left:
        return []
    return [f"time was too short (--time {time_s:g}) to measure {left} of the ways that were predicted to be best"]


def _valid(case: Summary) -> bool:
    return case.valid and bool(case.median)
