"""The record of a tuning in the report of its run: the choice, and predicted and measured values of all trials."""

from collections.abc import Iterator
from dataclasses import dataclass

from hpcscope import units
from hpcscope.models.computation.linpack_rates import LinpackRates
from hpcscope.models.models import Models
from hpcscope.report.figure import DotPlot, Figure, Mark, Panel, Plot, Table, log_axis, with_intervals
from hpcscope.report.run.figures.predictions import equal
from hpcscope.rundirectory import RunDirectory, read_json
from hpcscope.statistics.estimate import in_percent, in_unit
from hpcscope.tune.record import FILE, Round, Try, Tuning
from hpcscope.tune.storage.record import FILE as STORAGE_FILE
from hpcscope.tune.storage.record import StorageTuning, Trial

STAGES = {
    "screen": "the best predictions",
    "refine": "larger matrices",
    "decide": "the full matrix",
    "sizes": "the chosen settings at other orders",
}


@dataclass(frozen=True)
class Chosen:
    """What a tuning found."""

    title: str
    words: list[str]
    """Sentences without a full stop."""
    figure: Figure | DotPlot | None
    """Predicted and measured values; None if nothing was measured."""


def chosen(directory: RunDirectory, models: Models) -> Chosen | None:
    """Return the conclusion of the tuning in this directory; None if there is no tuning or no conclusion yet."""
    linpack, storage = directory.path / FILE, directory.path / STORAGE_FILE
    found = _of_linpack(read_json(linpack, Tuning), models) if linpack.is_file() else None
    return found or (_of_storage(read_json(storage, StorageTuning)) if storage.is_file() else None)


def _of_linpack(tuning: Tuning, models: Models) -> Chosen | None:
    if tuning.conclusion is None:
        return None
    words = [*tuning.conclusion.words, *(figures(models.linpack) if models.linpack else [])]
    title = f"{tuning.conclusion.chosen.label}, n = {tuning.conclusion.n}"
    return Chosen(title, _capitalized(words), _times(tuning))


def _of_storage(tuning: StorageTuning) -> Chosen | None:
    if tuning.conclusion is None:
        return None
    words = [in_unit(tuning.conclusion.bytes_per_s, "B/s"), *tuning.conclusion.words]
    return Chosen(tuning.conclusion.chosen.label, _capitalized(words), _bandwidths(tuning.trials))


def _capitalized(words: list[str]) -> list[str]:
    return [word[:1].upper() + word[1:] for word in words]


def _times(tuning: Tuning) -> Figure | None:
    rounds = [(turn, [trial for trial in turn.tries if trial.measured_s is not None]) for turn in tuning.rounds]
    measured = [(one, tries) for one, tries in rounds if tries]
    tried = [trial for _, tries in measured for trial in tries]
    times = [trial.predicted_s for trial in tried]
    times += [bound for trial in tried if trial.measured_s for bound in trial.measured_s.bounds]
    if not times:
        return None
    return Figure(
        key="tuning-predicted",
        title="Predicted and measured time of each trial",
        caption="On the dashed line, predictions and measurements agree. Trials above it took longer.",
        traces=[equal(times), *(_trace(one, tries, slot) for slot, (one, tries) in enumerate(measured))],
        layout={"xaxis": log_axis("predicted", times, "s"), "yaxis": log_axis("measured", times, "s")},
        table=Table(
            ["round", "settings", "n", "predicted", "measured [95 %]", "error", "verdict"],
            [_row(one, trial) for one, tries in measured for trial in tries],
        ),
        origins=["measured"],
        wide=True,
    )


def _trace(one: Round, tries: list[Try], slot: int) -> Plot:
    points = (
        (trial.predicted_s, trial.measured_s, ", ".join(_row(one, trial)[1:6]))
        for trial in tries
        if trial.measured_s is not None
    )
    return with_intervals(points, STAGES[one.stage], slot)


def _row(one: Round, trial: Try) -> list[str]:
    return [
        STAGES[one.stage],
        trial.candidate.label,
        str(trial.n),
        units.quantity(trial.predicted_s, "s"),
        in_unit(trial.measured_s, "s"),
        signed(trial.error),
        trial.verdict,
    ]


def _bandwidths(trials: list[Trial]) -> DotPlot:
    measured = [(trial, rate) for trial in trials if (rate := trial.measured_bytes_per_s) is not None]
    ordered = sorted(measured, key=lambda each: -each[1].value)
    most = max(rate.high or rate.value for _, rate in measured)
    marks = [
        Mark.of(trial.candidate.label, units.quantity(rate.value, "B/s"), rate.bounds, most)
        for trial, rate in ordered
    ]
    return DotPlot(
        key="tuning-storage",
        title="Bandwidth of each way",
        caption="All ranks together, with 95 % CIs.",
        panels=[Panel("", marks)],
        table=Table.of(
            {
                "way": trial.candidate.label,
                "predicted": units.quantity(trial.predicted_bytes_per_s, "B/s"),
                "measured [95 %]": in_unit(rate, "B/s"),
                "error": signed(trial.error),
                "verdict": trial.verdict,
            }
            for trial, rate in ordered
        ),
        origins=["measured"],
    )


def figures(rates: LinpackRates) -> Iterator[str]:
    """Yield R_max, N_max, N_1/2 and the fraction of the DGEMM rate."""
    best = rates.rate
    yield f"R_max {in_unit(best, 'flop/s')} at N_max = {rates.n_max}"
    yield f"N_1/2 {half(rates)}"
    if rates.efficiency is not None and rates.product_rate is not None:
        share = in_percent(rates.efficiency)
        product = units.quantity(rates.product_rate.value, "flop/s")
        yield f"{share} of the rate of matrix products (DGEMM) on the same number of ranks, {product}"


def half(rates: LinpackRates) -> str:
    """Return N_1/2 with its interval in words, or why there is none."""
    estimate = rates.n_half
    if estimate is None:
        return f"unknown: {rates.n_half_reason}"
    if estimate.low is None or estimate.high is None:
        return f"= {estimate.value:.0f}"
    return f"= {estimate.value:.0f} [{estimate.low:.0f}, {estimate.high:.0f}]"


def signed(share: float | None) -> str:
    """Return a relative error with its sign."""
    return "–" if share is None else units.change(share)
