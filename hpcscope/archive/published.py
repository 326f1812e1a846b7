"""Published values of historic machines, shown next to the results of an index.

Their origin differs from any run's: they are listed and labeled, but never ranked with measured results.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hpcscope.archive.index import FigureSeries, SeriesPoint
from hpcscope.catalog.benchmark import Value
from hpcscope.models.published.machines import ORIGIN, PublishedMachine, PublishedValue


@dataclass(frozen=True)
class PrintedCourse:
    """A published value and its machine."""

    machine: PublishedMachine
    figure: PublishedValue

    @property
    def point(self) -> SeriesPoint:
        """The value in the form of a run's result, without time and interval."""
        return SeriesPoint("", 0.0, self.figure.value, None, None)

    @property
    def course(self) -> FigureSeries:
        """The case of the source as a series without runs."""
        published = self.figure
        return FigureSeries(
            published.benchmark,
            published.metric,
            published.label,
            "",
            published.unit,
            published.better,
            ORIGIN,
            [],
        )

    @property
    def source(self) -> str:
        """Where the value is printed."""
        return f"{self.machine.source}, {self.figure.where}"


def printed(machines: Iterable[PublishedMachine]) -> Iterator[PrintedCourse]:
    """Yield all values of the machines."""
    return (PrintedCourse(machine, figure) for machine in machines for figure in machine.figures)


@dataclass(frozen=True)
class MeasuredCourse:
    """A measured case of a cluster to compare published values with."""

    case: str
    """Id of the case among all cases."""
    cluster: str
    course: FigureSeries
    parameters: Mapping[str, Value]
    transport: str


Subject = tuple[str, str, int]
"""Benchmark, metric and ranks."""


def by_subject(
    courses: Iterable[tuple[str, str, FigureSeries]], subjects: Container[Subject]
) -> dict[Subject, list[MeasuredCourse]]:
    """Return the series with these subjects by subject, each with its cluster and the id of its case."""
    subject: dict[Subject, list[MeasuredCourse]] = {}
    for case, cluster, course in courses:
        benchmark, parameters, ranks, transport, _, metric, _ = json.loads(course.key)
        if (benchmark, metric, ranks) in subjects:
            measured_course = MeasuredCourse(case, cluster, course, parameters, transport)
            subject.setdefault((benchmark, metric, ranks), []).append(measured_course)
    return subject
