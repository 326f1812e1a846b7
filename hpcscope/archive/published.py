"""Published figures of historic machines beside the courses of an index.

They are of another origin than any run: listed, labelled, and never ranked with what was measured.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hpcscope.archive.index import FigureSeries, SeriesPoint
from hpcscope.catalog.benchmark import Value
from hpcscope.models.published.machines import ORIGIN, PublishedMachine, PublishedValue


@dataclass(frozen=True)
class PrintedCourse:
    """A figure and the machine that it is of."""

    machine: PublishedMachine
    figure: PublishedValue

    @property
    def point(self) -> SeriesPoint:
        """The figure as that of a run: without time and interval."""
        return SeriesPoint("", 0.0, self.figure.value, None, None)

    @property
    def course(self) -> FigureSeries:
        """The case of the source, which has no runs."""
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
        """Where it is printed."""
        return f"{self.machine.source}, {self.figure.where}"


def printed(machines: Iterable[PublishedMachine]) -> Iterator[PrintedCourse]:
    """Yield all figures of the machines."""
    return (PrintedCourse(machine, figure) for machine in machines for figure in machine.figures)


@dataclass(frozen=True)
class MeasuredCourse:
    """A measured case of a cluster, as the published ones are held against it."""

    case: str
    """Its id among all cases."""
    cluster: str
    course: FigureSeries
    parameters: Mapping[str, Value]
    transport: str

    def is_of(self, figure: PublishedValue) -> bool:
        """Return whether it is the published case; of the same benchmark, metric and ranks it is already."""
        return figure.fits(self.parameters, self.transport)


Subject = tuple[str, str, int]
"""Benchmark, metric and ranks."""


def by_subject(
    courses: Iterable[tuple[str, str, FigureSeries]], subjects: Container[Subject]
) -> dict[Subject, list[MeasuredCourse]]:
    """Return the courses of these subjects, each with the id of its case and its cluster, by subject."""
    subject: dict[Subject, list[MeasuredCourse]] = {}
    for case, cluster, course in courses:
        benchmark, parameters, ranks, transport, _, metric, _ = json.loads(course.key)
        if (benchmark, metric, ranks) in subjects:
            measured_course = MeasuredCourse(case, cluster, course, parameters, transport)
            subject.setdefault((benchmark, metric, ranks), []).append(measured_course)
    return subject
