"""Predicted and measured times of every measured case."""

from __future__ import annotations

from collections.abc import Iterator

from hpcscope.catalog.catalog import Catalog
from hpcscope.findings.results import Run
from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.models.prediction.prediction import Prediction
from hpcscope.report.figure import Figure, Plot, Table, estimates, log_axis, scatter
from hpcscope.report.run.figures.grouping import MOST_SERIES, chosen_words
from hpcscope.report.run.prediction_table import VALIDATED, summary, validated_row


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the validated predictions of a benchmark, a few in each figure."""
    held = [
        one
        for one in run.models.predictions
        if one.subject.benchmark == benchmark and any(point.role == "validated" for point in one.points)
    ]
    for index in range(0, len(held), MOST_SERIES):
        yield _figure(run, held[index : index + MOST_SERIES], f"{benchmark}-predicted-{index // MOST_SERIES}")


def _figure(run: Run, held: list[Prediction], key: str) -> Figure:
    points = [(one, point) for one in held for point in one.points if point.measured_total_s is not None]
    measured = [point.measured_total_s.value for _, point in points if point.measured_total_s]
    values = [*measured, *(point.total_s.value for _, point in points)]
    catalog = run.benchmarks
    ran = {one.origin for one in run.statistics.primary if one.benchmark == held[0].subject.benchmark}
    errors = " ".join(f"{_name(one, catalog).capitalize()}: {summary(one)}." for one in held)
    return Figure(
        key=key,
        title="Predicted and measured time",
        caption=f"Cost formulas ({held[0].source}) with the rates of one process and the message times of the "
        f"levels below; no measurement on several processes is used. On the dashed line both agree. {errors}",
        traces=[equal(values), *(_trace(one, slot, catalog) for slot, one in enumerate(held))],
        layout={"xaxis": log_axis("measured", values, "s"), "yaxis": log_axis("predicted", values, "s")},
        table=Table(["case", *VALIDATED], [[_name(one, catalog), *validated_row(point)] for one, point in points]),
        origins=[*sorted(ran), *sorted({one.origin for one in held} - ran)],
    )


def _name(one: Prediction, catalog: Catalog) -> str:
    return chosen_words(one.subject, catalog, ("ranks",)) or catalog[one.subject.benchmark].title


def equal(values: list[float], name: str = "predicted = measured") -> Plot:
    """Return the line on which two times of a case agree."""
    ends = [min(values), max(values)]
    return scatter(ends, ends, name, role="limit", mode="lines")


def _trace(one: Prediction, slot: int, catalog: Catalog) -> Plot:
    shown = [point for point in one.points if point.role == "validated" and point.measured_total_s]
    return estimates(
        [point.measured_total_s.value for point in shown if point.measured_total_s],
        [point.total_s for point in shown],
        _name(one, catalog),
        slot=slot,
        text=map(_hover, shown),
    )


def _hover(point: PredictedPoint) -> str:
    cells = validated_row(point)
    return f"size {point.size}, {point.ranks} ranks: predicted {cells[2]}, measured {cells[3]}, {cells[4]}"
