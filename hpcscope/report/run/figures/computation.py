"""Computation, communication and idle time of applications by number of ranks."""

from collections.abc import Iterator

from hpcscope.findings.results import Run
from hpcscope.models.scaling.applications import Application, ApplicationPoint
from hpcscope.report.figure import Figure, Plot, log_axis, modeled, ranks_axis, with_intervals
from hpcscope.report.run.applications import law, times
from hpcscope.report.run.figures.grouping import chosen_words
from hpcscope.statistics.estimate import Estimate, in_unit

SLOTS = {"compute": 0, "communicate": 1, "idle": 8}
"""The style of each part, as in the figure of phases."""
FEWEST_COUNTS = 2


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield a figure for each class, variant and transport that ran on several rank counts."""
    mine = [application for application in run.models.applications if application.subject.benchmark == benchmark]
    several = [application for application in mine if len(application.points) >= FEWEST_COUNTS]
    for index, one in enumerate(several):
        yield _figure(run, one, f"{benchmark}-computation-{index}")


def _figure(run: Run, application: Application, key: str) -> Figure:
    counts = [point.ranks for point in application.points]
    parts = {name: _shown(application, f"{name}_s") for name in SLOTS}
    traces = [_points(name, points) for name, points in parts.items() if points]
    traces += [_law(application.computation_s, counts)] if application.computation_s else []
    seconds = [bounds.value for points in parts.values() for _, bounds in points]
    words = chosen_words(application.subject, run.benchmarks, ("ranks",))
    models = run.models.model_copy(update={"applications": [application]})
    return Figure(
        key=key,
        title="Computation and communication" + (f", {words}" if words else ""),
        caption="Each part is the longest time of any rank. The line is t(p) = a0 / p (Tessera, "
        f"NetFinity, sec. 3.1): {law(application)}.",
        traces=traces,
        layout={"xaxis": ranks_axis(counts, type="log"), "yaxis": log_axis("time", seconds, "s")},
        table=times(models, run.benchmarks),
        origins=[application.origin],
    )


def _shown(application: Application, metric: str) -> list[tuple[ApplicationPoint, Estimate]]:
    """Return the parts above 0, which a logarithmic axis can show; a single rank has no communication."""
    found = [(point, getattr(point, metric)) for point in application.points]
    return [(point, bounds) for point, bounds in found if bounds is not None and bounds.value > 0]


def _points(name: str, points: list[tuple[ApplicationPoint, Estimate]]) -> Plot:
    drawn = (
        (point.ranks, bounds, f"{name}, {point.ranks} ranks: {in_unit(bounds, 's')}") for point, bounds in points
    )
    return with_intervals(drawn, name, SLOTS[name], joined=name != "compute")


def _law(a0_s: Estimate, counts: list[int]) -> Plot:
    ends = [float(counts[0]), float(counts[-1])]
    return modeled(ends, [a0_s.value / n for n in ends], SLOTS["compute"], "a0 / p")
