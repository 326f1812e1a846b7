"""What closed formulas predict for simulated cases: the costs of `scope predict`, or models fitted to the run."""

from collections.abc import Sequence

import numpy as np

from hpcscope.errors import UsageError
from hpcscope.models.fitting.fit import Fit, Variable
from hpcscope.models.fitting.model import all_models
from hpcscope.models.fitting.terms import CostModel
from hpcscope.models.measurements import Measurements
from hpcscope.models.prediction.measured_costs import NotMeasuredError
from hpcscope.models.prediction.prediction import Predictor, all_costs, problem_of
from hpcscope.plan.case import Case
from hpcscope.simulation.record import ByFormula
from hpcscope.statistics.summary import Summary

WIDEST_FIRST: tuple[Variable, ...] = ("message_bytes_and_ranks", "ranks", "message_bytes")
"""Order of the fits that apply to a case: the fit that applies to the most other cases comes first."""
COSTS = "cost formulas"


class Formulas:
    """The cost formulas of programs and the fitted models of messages and collectives, with a run's values."""

    def __init__(self, measurements: Measurements, fits: Sequence[Fit]) -> None:
        self._measurements = measurements
        self._costs = all_costs(measurements.catalog)
        self._fits = [fit for name in WIDEST_FIRST for fit in fits if fit.chosen and fit.variable == name]

    def of(self, case: Summary, several_hosts: bool) -> ByFormula | None:
        """Return the time of a case; None if no formula applies to it or the run lacks a value."""
        if case.benchmark in self._costs:
            return self._by_costs(case, several_hosts)
        size = float(case.parameters.get("message_bytes", 0))
        for fit in self._fits:
            if self._speaks_of(fit, case):
                found = time_s(fit, size, case.ranks)
                if found is not None and found > 0:
                    return ByFormula(model=fit.model, value=found, fitted=_fitted(fit, size, case.ranks))
        return None

    def _by_costs(self, case: Summary, several_hosts: bool) -> ByFormula | None:
        predictor = Predictor(self._costs[case.benchmark], self._measurements, case.transport)
        problem = problem_of(case, self._measurements.catalog)
        try:
            total_s = predictor.point(problem, several_hosts).total_s.value
        except (NotMeasuredError, UsageError):
            return None
        return ByFormula(model=COSTS, value=total_s, fitted=False)

    def _speaks_of(self, fit: Fit, case: Summary) -> bool:
        """Return whether a case differs from the cases of a fit in its variable only."""
        over_ranks = fit.variable != "message_bytes"
        free = () if fit.variable == "ranks" else ("message_bytes",)
        same = case.without(self._measurements.catalog, *free, ranks=fit.subject.ranks if over_ranks else None)
        return (fit.metric, fit.definition) == (case.metric, case.definition) and _known(same) == _known(
            fit.subject
        )


def _fitted(fit: Fit, size: float, ranks: int) -> bool:
    """Return whether a case is a point of a fit."""
    x = ranks if fit.variable == "ranks" else size
    return any(point.x == x and point.ranks in (None, ranks) for point in fit.points)


def _known(case: Case) -> tuple[object, ...]:
    return case.benchmark, sorted(case.parameters.items()), case.ranks, case.transport, case.placement


def time_s(fit: Fit, message_bytes: float, ranks: int) -> float | None:
    """Return the time in s; None for a model that is not about messages, or neither a sum of costs nor lines."""
    if fit.variable not in ("message_bytes", "ranks", "message_bytes_and_ranks"):
        return None
    known = {parameter.name: parameter.value for parameter in fit.parameters}
    if fit.segments:
        line = next((segment for segment in fit.segments if message_bytes <= segment.high), fit.segments[-1])
        return line.latency_s.value + line.per_byte_s.value * message_bytes
    if {"latency_s", "per_byte_s"} <= set(known):
        return known["latency_s"] + known["per_byte_s"] * message_bytes
    model = next((model for model in all_models() if model.name == fit.model), None)
    if not isinstance(model, CostModel):
        return None
    terms = model.terms(np.array([message_bytes], dtype=np.float64), np.array([ranks], dtype=np.float64))
    return float(sum(known.get(term.name, 0.0) * term.column[0] for term in terms))
