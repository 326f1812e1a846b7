"""The same cases of many runs side by side, with the best and the worst run (a host or a pair)."""

from collections.abc import Mapping
from statistics import median

from rich.table import Table
from rich.text import Text

from hpcscope import units
from hpcscope.report.order import case_key
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict


class GatheredCase(Strict):
    """One metric of one case in every run that has it."""

    benchmark: str
    case: str
    """Label of the case."""
    metric: str
    unit: str
    better: str
    values: dict[str, float]
    """Medians by run name."""

    @property
    def best(self) -> str:
        """Name of the best run."""
        return (max if self.better == "higher" else min)(self.values, key=lambda name: self.values[name])

    @property
    def worst(self) -> str:
        """Name of the worst run."""
        return (min if self.better == "higher" else max)(self.values, key=lambda name: self.values[name])

    @property
    def middle(self) -> float:
        """Median over the runs."""
        return median(self.values.values())

    @property
    def deficit(self) -> float | None:
        """How much worse the worst run is than the median, as a fraction; None for a single run."""
        if len(self.values) < 2 or self.middle == 0:
            return None
        return abs(self.values[self.worst] - self.middle) / abs(self.middle)


def gather(runs: Mapping[str, list[Summary]]) -> list[GatheredCase]:
    """Return the valid headline values, case by case."""
    found: dict[tuple[str, str], dict[str, Summary]] = {}
    for name, summaries in runs.items():
        for summary in summaries:
            if summary.primary and summary.valid and summary.median is not None:
                found.setdefault((summary.label, summary.metric), {})[name] = summary
    ordered = sorted(found.items(), key=lambda item: (case_key(next(iter(item[1].values()))), item[0][1]))
    return [_row(label, by_run) for (label, _), by_run in ordered]


def table(rows: list[GatheredCase]) -> Table:
    """Return the rows as a table for the terminal."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="italic")
    for name in ("case", "metric", "runs", "median", "best", "worst", "worst relative to median"):
        shown.add_column(name, no_wrap=True, justify="right" if name == "runs" else "left")
    for row in rows:
        deficit = row.deficit
        shown.add_row(
            Text(row.case),
            units.named(row.metric),
            str(len(row.values)),
            units.quantity(row.middle, row.unit),
            Text(f"{units.quantity(row.values[row.best], row.unit)} {row.best}"),
            Text(f"{units.quantity(row.values[row.worst], row.unit)} {row.worst}"),
            "" if deficit is None else units.share(deficit),
        )
    return shown


def _row(label: str, by_run: dict[str, Summary]) -> GatheredCase:
    first = next(iter(by_run.values()))
    values = {name: case.median for name, case in by_run.items() if case.median is not None}
    return GatheredCase(
        benchmark=first.benchmark,
        case=label,
        metric=first.metric,
        unit=first.unit,
        better=first.better,
        values=values,
    )
