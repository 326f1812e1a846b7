"""`simulation.json`: which run was simulated with which changes, and the error of the simulated values."""

from collections.abc import Callable, Iterable

import numpy as np

from hpcscope import units
from hpcscope.catalog.catalog import Catalog
from hpcscope.plan.case import Case
from hpcscope.rundirectory import RunDirectory, read_json
from hpcscope.samples.records import Origin
from hpcscope.statistics.estimate import Estimate
from hpcscope.statistics.order_statistics import median_interval
from hpcscope.statistics.summary import Summary, headlines
from hpcscope.strict import Strict


class ByFormula(Strict):
    """What a closed formula predicts for a case."""

    model: str
    """A fitted model of the run by its name, or the cost formulas of a program."""
    value: float
    """The predicted value, in the unit of the metric that it is compared with."""
    fitted: bool
    """Whether the case is a point of the fit: then agreement validates nothing."""


class Beside(Strict):
    """A value of a case, as measured, as simulated, and as a closed formula predicts it."""

    benchmark: str
    label: str
    ranks: int
    metric: str
    unit: str
    measured: Estimate
    origin: Origin
    """Origin of the measured value: real hosts, or a lab."""
    simulated: float
    formula: ByFormula | None = None
    """None if no formula of the run applies to the case."""

    @property
    def error(self) -> float:
        """Excess of the simulated time, as a fraction of the measured time; negative if it is shorter."""
        return self.simulated / self.measured.value - 1

    @property
    def formula_error(self) -> float | None:
        """Error of the formula's time; None without one."""
        return None if self.formula is None else self.formula.value / self.measured.value - 1


class ErrorOf(Strict):
    """The error of simulated times, as fractions of the measured times."""

    cases: int
    median: Estimate
    """Median of the errors without their signs."""
    smallest: float
    """Smallest of the signed errors."""
    largest: float
    """Largest of the signed errors."""
    most_ranks: int
    """The largest number of ranks that was both simulated and measured."""


class ProgramTime(Strict):
    """The simulated time of a user's program."""

    command: list[str]
    ranks: int
    time_s: float
    """Simulated time from its start to its end."""


class OfferGain(Strict):
    """The gain of one of several offers."""

    name: str
    changes: list[str]
    cost: float
    figures: int
    """Number of gains: one per case, or one per problem for benchmarks that solve problems."""
    median: float | None
    """Median gain, 0.1 is 10 %; None if no case is on both platforms."""
    least: float | None
    most: float | None


class Simulation(Strict):
    """`simulation.json`."""

    format: int
    of: str
    """The name of the run whose values the platform has."""
    simulator: str
    """The simulator and its version: `SimGrid 3.32`."""
    collectives: str
    """The library whose choice of algorithms was simulated."""
    changes: list[str]
    """Changes to the platform, as they were requested; empty for the platform as it was measured."""
    cost: float | None = None
    """Cost of the changes, in any currency; None if it was not given."""
    inputs: list[str]
    """Benchmarks that the platform was made from: their errors show how well it fits, and validate nothing."""
    notes: list[str]
    """Further remarks on the values."""
    validation: list[Beside]
    """Cases on the platform as it was measured."""
    formulas: dict[str, ByFormula] = {}
    """Formulas for the cases that were simulated and not measured, by their labels."""
    programs: list[ProgramTime] = []
    """Programs on the requested platform; their errors are not known."""
    only_larger: bool = False
    """Whether hosts were added and nothing else was changed: results without them are then valid with them."""
    offers: list[OfferGain] = []
    """All offers that were simulated side by side, including this one."""

    def error_of(self, benchmark: str | None = None) -> ErrorOf | None:
        """Return the error of a benchmark, or of all but the inputs; None if nothing was also measured."""
        proofs = [row for row in self.validation if row.benchmark not in self.inputs]
        rows = proofs if benchmark is None else [row for row in self.validation if row.benchmark == benchmark]
        return _error_of((row, row.error) for row in rows)

    def formula_error_of(self, benchmark: str | None = None, fitted: bool = False) -> ErrorOf | None:
        """Return the error of the closed formulas in cases that they were not fitted to, or in those they were.

        None if there is no such case.
        """
        return _error_of(
            (row, error)
            for row in self.validation
            if benchmark in (None, row.benchmark)
            and row.formula is not None
            and row.formula.fitted == fitted
            and (error := row.formula_error) is not None
        )

    @property
    def accuracy(self) -> str:
        """The error of its values in cases that were also measured, in words."""
        error = self.error_of()
        if error is None:
            return "no simulated case was also measured, so no simulated value is validated"
        return self._in_words(error)

    @property
    def accuracy_of_formulas(self) -> str:
        """The error of the closed formulas in the same cases, in words; empty if no formula applies to any."""
        error, fitted = self.formula_error_of(), self.formula_error_of(fitted=True)
        known = f"{units.count(fitted.cases, 'case')} that they were fitted to" if fitted else ""
        if error is None:
            return f"cover only {known}: nothing validates them" if known else ""
        return self._in_words(error) + (f"; not counted: {known}" if known else "")

    def _in_words(self, error: ErrorOf) -> str:
        ends = error.median
        bounds = [units.percent(end) for end in (ends.low, ends.high) if end is not None]
        interval = f" [{', '.join(bounds)}]" if bounds else ""
        origins = " and ".join(sorted({row.origin for row in self.validation}))
        validated = units.count(error.cases, f"{origins} case")
        return (
            f"median error {units.percent(ends.value)}{interval} against {validated} on up to {error.most_ranks}"
            f" ranks; errors range from {units.change(error.smallest)} to {units.change(error.largest)}"
        )

    def beyond(self, case: Case) -> str:
        """Return why a simulated value is beyond the validation; empty if it is not."""
        if self.changes:
            return "the changed platform was not measured"
        own = self.error_of(case.benchmark)
        if own is None:
            return "no case of this benchmark was measured on several ranks"
        if case.ranks > own.most_ranks:
            return f"this benchmark was validated only on up to {own.most_ranks} ranks"
        return ""


def read(run: RunDirectory) -> Simulation | None:
    """Return what is known about a simulated run; None for any other run."""
    return read_json(run.simulation, Simulation) if run.simulation.exists() else None


def beside(
    measured: Iterable[Summary],
    simulated: Iterable[Summary],
    catalog: Catalog,
    formula: Callable[[Summary], ByFormula | None] = lambda _: None,
) -> list[Beside]:
    """Return the times of the cases that were both measured and simulated, in the order of the measurements.

    `formula`: returns what a closed formula predicts for a simulated case.
    """
    known = {(case.key, case.metric): case for case in times(simulated, catalog)}
    return [
        Beside(
            benchmark=case.benchmark,
            label=case.label,
            ranks=case.ranks,
            metric=case.metric,
            unit=case.unit,
            measured=case.estimate,
            origin=case.origin,
            simulated=theirs.median,
            formula=formula(theirs),
        )
        for case in times(measured, catalog)
        if (theirs := known.get((case.key, case.metric))) is not None and theirs.median
    ]


def times(summaries: Iterable[Summary], catalog: Catalog) -> list[Summary]:
    """Return the time of each case that has one."""
    return [
        case for case in headlines(list(summaries)) if case.median and case.metric == time_metric(case, catalog)
    ]


def _error_of(errors: Iterable[tuple[Beside, float]]) -> ErrorOf | None:
    found = list(errors)
    if not found:
        return None
    signed = np.array([error for _, error in found])
    sizes = np.abs(signed)
    ends = median_interval(sizes)
    low, high = (ends.low, ends.high) if ends else (None, None)
    return ErrorOf(
        cases=len(found),
        median=Estimate(value=float(np.median(sizes)), low=low, high=high),
        smallest=float(signed.min()),
        largest=float(signed.max()),
        most_ranks=max(row.ranks for row, _ in found),
    )


def time_metric(case: Case, catalog: Catalog) -> str | None:
    """Return the metric of a case that is a time, or its first result if no metric is."""
    declared = catalog.get(case.benchmark)
    if declared is None:
        return None
    return catalog.time_metric(case.benchmark) or declared.metrics[0].name
