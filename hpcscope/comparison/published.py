"""Published figures of historic machines beside runs: without intervals, verdicts and tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from hpcscope import units
from hpcscope.comparison.compare import Side
from hpcscope.models.published.machines import ORIGIN, PublishedMachine, PublishedValue
from hpcscope.plan.case import Case, Key
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict


class PublishedCase(Strict):
    """A published figure of a case that a run measured."""

    machine: str
    """Its name for people."""
    source: str
    """Where it is printed."""
    label: str
    """The case in the words of the runs."""
    metric: str
    unit: str
    value: float
    baseline: float | None
    """The baseline's median; None where it has none."""

    @property
    def metric_words(self) -> str:
        """The metric for people."""
        return units.named(self.metric)


def beside(machine: PublishedMachine, sides: Sequence[Side]) -> list[Summary]:
    """Return the figures of a machine as those of a run: of the cases of the sides, at any size.

    A figure without a counterpart that differs in size alone is left out, and so is the best of several cases.
    """
    found: dict[tuple[Key, str], Summary] = {}
    for figure in machine.figures:
        for one in _of(figure, sides) if not figure.best else ():
            found.setdefault((one.key, one.metric), one)
    return list(found.values())


def _of(figure: PublishedValue, sides: Sequence[Side]) -> Iterator[Summary]:
    for side in sides:
        for one in side.summaries.values():
            if one.is_headline and (one.benchmark, one.metric, one.ranks) == figure.subject:
                printed = {name: value for name, value in figure.parameters.items() if not isinstance(value, list)}
                given = one.parameters | side.catalog.of_role(one.benchmark, printed, "size")
                if figure.fits(given, one.transport):
                    yield _summary(figure, one, Case.of(side.catalog, one.benchmark, given, one.batch))


def _summary(figure: PublishedValue, like: Summary, case: Case) -> Summary:
    """Return a figure as the summary of a case: without samples and interval."""
    estimates = [name for name, field in Summary.model_fields.items() if type(None) in get_args(field.annotation)]
    nothing = dict.fromkeys(estimates) | {"n": 0, "launches": 0, "launch_medians": [], "launch_numbers": []}
    about = {"median": figure.value, "origin": ORIGIN, "interval_basis": "none", "work": like.work}
    return like.model_copy(update={**nothing, **about, **dict(case)})


def rows(machines: Sequence[PublishedMachine], sides: Sequence[Side], baseline: int) -> list[PublishedCase]:
    """Return the published figures of cases that a run measured at the very same size."""
    measured = {key for side in sides for key in side.summaries}
    own = sides[baseline].summaries
    return [
        PublishedCase(
            machine=machine.name,
            source=f"{machine.source}, {_figure_of(machine, one).where}",
            label=one.label,
            metric=one.metric,
            unit=one.unit,
            value=one.median or 0.0,
            baseline=own[one.key, one.metric].median if (one.key, one.metric) in own else None,
        )
        for machine in machines
        for one in beside(machine, sides)
        if (one.key, one.metric) in measured
    ]


def _figure_of(machine: PublishedMachine, one: Summary) -> PublishedValue:
    subject = one.benchmark, one.metric, one.ranks
    return next(
        each for each in machine.figures if each.subject == subject and each.fits(one.parameters, one.transport)
    )
