"""A search for the fastest way to access files as text: the choice, then all trials."""

from rich.console import Group, RenderableType
from rich.text import Text

from hpcscope import units
from hpcscope.comparison.table import CaseTable
from hpcscope.report.run.tuning import signed
from hpcscope.statistics.estimate import in_percent, in_unit
from hpcscope.tune.storage.record import StorageTuning, Trial

DONE = {"write": "Writing", "read": "Reading"}
LEGEND = "error: predicted / measured bandwidth - 1. Trials without a prediction are the input of all predictions."


def page(tuning: StorageTuning) -> RenderableType:
    """Return the record as text and a table."""
    asked = tuning.settings
    where = f" in {asked.storage}" if asked.storage else ""
    head = f"{DONE[asked.direction]} {units.size(asked.file_bytes)} of each rank{where}"
    parts: list[RenderableType] = [Text(head, style="bold")]
    if tuning.conclusion is not None:
        reached = tuning.conclusion.bytes_per_s
        rate = in_unit(reached, "B/s")
        parts += [Text(f"Chosen: {tuning.conclusion.chosen.label}: {rate}", style="bold")]
        parts += [Text(f"  {words}") for words in tuning.conclusion.words]
    launches = units.count(asked.launches, "launch", "launches")
    caption = f"{len(tuning.trials)} of {len(tuning.predicted)} ways, {launches}"
    columns = ["measured [95 %]", "of the fastest", "predicted", "error", "way"]
    table = CaseTable(columns, list(map(_row, sorted(tuning.trials, key=_rate, reverse=True))))
    parts += [Text(""), Text(caption), table, Text(""), Text(LEGEND, style="dim")]
    return Group(*parts)


def _rate(trial: Trial) -> float:
    return trial.measured_bytes_per_s.value if trial.measured_bytes_per_s else 0.0


def _row(trial: Trial) -> list[str]:
    return [
        in_unit(trial.measured_bytes_per_s, "B/s"),
        in_percent(trial.of_fastest),
        units.quantity(trial.predicted_bytes_per_s or None, "B/s"),
        signed(trial.error),
        f"{trial.candidate.label}: {trial.verdict}",
    ]
