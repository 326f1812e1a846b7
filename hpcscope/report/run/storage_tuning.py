"""The record of a search for the fastest way to access files, in the report of its run."""

from hpcscope import units
from hpcscope.report.figure import DotPlot, Mark, Panel, Table
from hpcscope.report.run.tuning import Chosen, signed
from hpcscope.rundirectory import RunDirectory, read_json
from hpcscope.statistics.estimate import Estimate, in_unit
from hpcscope.tune.storage.record import FILE, StorageTuning, Trial


def chosen(directory: RunDirectory) -> Chosen | None:
    """Return the conclusion of the search in this directory; None if there is no search or no conclusion yet."""
    if not (directory.path / FILE).is_file():
        return None
    tuning = read_json(directory.path / FILE, StorageTuning)
    if tuning.conclusion is None:
        return None
    words = [in_unit(tuning.conclusion.bytes_per_s, "B/s"), *tuning.conclusion.words]
    return Chosen(
        tuning.conclusion.chosen.label, [word[:1].upper() + word[1:] for word in words], _figure(tuning.trials)
    )


def _figure(trials: list[Trial]) -> DotPlot:
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
        table=Table(
            ["way", "predicted", "measured [95 %]", "error", "verdict"],
            [_row(trial, rate) for trial, rate in ordered],
        ),
        origins=["measured"],
    )


def _row(trial: Trial, rate: Estimate) -> list[str]:
    predicted = trial.predicted_bytes_per_s
    return [
        trial.candidate.label,
        units.quantity(predicted, "B/s") if predicted is not None else "–",
        in_unit(rate, "B/s"),
        signed(trial.error),
        trial.verdict,
    ]
