"""Published values of historic machines next to runs: without intervals, verdicts and tests."""

from collections.abc import Iterator, Sequence
from typing import get_args

from hpcscope import units
from hpcscope.comparison.compare import Side
from hpcscope.models.published.machines import ORIGIN, PublishedMachine, PublishedValue
from hpcscope.plan.case import Case, Key
from hpcscope.statistics.summary import Summary
from hpcscope.strict import Strict


class PublishedCase(Strict):
    """A published value of a case that a run measured."""

    machine: str
    """The display name of the machine."""
    source: str
    """Where the value is printed."""
    label: str
    """The case, in the words that runs use."""
    metric: str
    unit: str
    value: float
    baseline: float | None
    """The baseline's median; None if it has none."""

    @property
    def metric_words(self) -> str:
        """The metric in words."""
        return units.named(self.metric)


def beside(machine: PublishedMachine, sides: Sequence[Side]) -> list[Summary]:
    """Return the values of a machine as if they were a run's, for the cases of the sides at any size.

    Values without a counterpart that differs only in size, and values of the best case of several, are left out.
    """
    found: dict[tuple[Key, str], Summary] = {}
    for figure in machine.figures:
        for case in _of(figure, sides) if not figure.best else ():
            found.setdefault((case.key, case.metric), case)
    return list(found.values())


def _of(figure: PublishedValue, sides: Sequence[Side]) -> Iterator[Summary]:
    for side in sides:
        for summary in side.summaries.values():
            if summary.is_headline and (summary.benchmark, summary.metric, summary.ranks) == figure.subject:
                printed = {name: value for name, value in figure.parameters.items() if not isinstance(value, list)}
                given = summary.parameters | side.catalog.of_role(summary.benchmark, printed, "size")
                if figure.fits(given, summary.transport):
                    yield _summary(figure, summary, Case.of(side.catalog, summary.benchmark, given, summary.batch))


def _summary(figure: PublishedValue, like: Summary, case: Case) -> Summary:
    """Return a published value as the summary of a case, without samples and interval."""
    estimates = [name for name, field in Summary.model_fields.items() if type(None) in get_args(field.annotation)]
    nothing = dict.fromkeys(estimates) | {"n": 0, "launches": 0, "launch_medians": [], "launch_numbers": []}
    about = {"median": figure.value, "origin": ORIGIN, "interval_basis": "none", "work": like.work}
    return like.model_copy(update={**nothing, **about, **dict(case)})


def rows(machines: Sequence[PublishedMachine], sides: Sequence[Side], baseline: int) -> list[PublishedCase]:
    """Return the published values of cases that a run measured at exactly the same size."""
    measured = {key for side in sides for key in side.summaries}
    own = sides[baseline].summaries
    return [
        PublishedCase(
            machine=machine.name,
            source=f"{machine.source}, {_figure_of(machine, case).where}",
            label=case.label,
            metric=case.metric,
            unit=case.unit,
            value=case.median or 0.0,
            baseline=own[case.key, case.metric].median if (case.key, case.metric) in own else None,
        )
        for machine in machines
        for case in beside(machine, sides)
        if (case.key, case.metric) in measured
    ]


def _figure_of(machine: PublishedMachine, case: Summary) -> PublishedValue:
    subject = case.benchmark, case.metric, case.ranks
    return next(
        published
        for published in machine.figures
        if published.subject == subject and published.fits(case.parameters, case.transport)
    )
