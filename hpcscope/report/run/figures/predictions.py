"""Predicted and measured times of every measured case."""

from collections.abc import Iterator, Sequence

from hpcscope.catalog.catalog import Catalog
from hpcscope.findings.results import Run
from hpcscope.models.prediction.points import PredictedPoint
from hpcscope.models.prediction.prediction import Prediction
from hpcscope.report.figure import Figure, Plot, Table, log_axis, scatter, with_intervals
from hpcscope.report.run.figures.grouping import MOST_SERIES, chosen_words
from hpcscope.report.run.prediction_table import VALIDATED, summary, validated_row


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the validated predictions of a benchmark, a few in each figure."""
    held = [
        prediction
        for prediction in run.models.predictions
        if prediction.subject.benchmark == benchmark
        and any(point.role == "validated" for point in prediction.points)
    ]
    for index in range(0, len(held), MOST_SERIES):
        yield _figure(run, held[index : index + MOST_SERIES], f"{benchmark}-predicted-{index // MOST_SERIES}")


def _figure(run: Run, held: list[Prediction], key: str) -> Figure:
    points = [
        (prediction, point)
        for prediction in held
        for point in prediction.points
        if point.measured_total_s is not None
    ]
    measured = [point.measured_total_s.value for _, point in points if point.measured_total_s]
    values = [*measured, *(point.total_s.value for _, point in points)]
    catalog = run.benchmarks
    ran = {case.origin for case in run.statistics.primary if case.benchmark == held[0].subject.benchmark}
    errors = " ".join(f"{_name(prediction, catalog).capitalize()}: {summary(prediction)}." for prediction in held)
    return Figure(
        key=key,
        title="Predicted and measured time",
        caption=f"The prediction uses cost formulas ({held[0].source}), rates of one rank, and message times of "
        "the MPI benchmarks. It does not use the program's times on several ranks. On the dashed line, predicted "
        f"and measured times agree. {errors}",
        traces=[equal(values), *(_trace(prediction, slot, catalog) for slot, prediction in enumerate(held))],
        layout={"xaxis": log_axis("measured", values, "s"), "yaxis": log_axis("predicted", values, "s")},
        table=Table(
            ["case", *VALIDATED],
            [[_name(prediction, catalog), *validated_row(point)] for prediction, point in points],
        ),
        origins=[*sorted(ran), *sorted({prediction.origin for prediction in held} - ran)],
    )


def _name(prediction: Prediction, catalog: Catalog) -> str:
    return chosen_words(prediction.subject, catalog, ("ranks",)) or catalog[prediction.subject.benchmark].title


def equal(values: Sequence[float], name: str = "predicted = measured") -> Plot:
    """Return the line on which two times of a case agree."""
    ends = [min(values), max(values)]
    return scatter(ends, ends, name, role="limit", mode="lines")


def _trace(prediction: Prediction, slot: int, catalog: Catalog) -> Plot:
    points = (
        (point.measured_total_s.value, point.total_s, _hover(point))
        for point in prediction.points
        if point.role == "validated" and point.measured_total_s
    )
    return with_intervals(points, _name(prediction, catalog), slot)


def _hover(point: PredictedPoint) -> str:
    cells = validated_row(point)
    return f"size {point.size}, {point.ranks} ranks: predicted {cells[2]}, measured {cells[3]}, {cells[4]}"
