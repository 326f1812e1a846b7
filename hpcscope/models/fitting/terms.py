"""Models that are sums of named costs, some of which the data may not distinguish."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hpcscope.models.fitting.curve import Curve
from hpcscope.models.fitting.fit import Fit, NotFitted, Variable
from hpcscope.models.fitting.least_squares import Derive, LinearFit, distinguishable, fit_linear
from hpcscope.models.fitting.model import Model, make_fit
from hpcscope.samples.samples import Floats


@dataclass(frozen=True, eq=False)
class CostTerm:
    """One cost: a parameter times a known column, shape (points,)."""

    name: str
    unit: str
    column: Floats
    essential: bool
    """Whether the model always includes this term."""


FEWEST_COUNTS = 3
"""Fewest rank counts for a model over rank counts alone."""
FEWEST_COUNTS_WITH_SIZES, FEWEST_SIZES = 2, 3
"""Fewest rank counts and message sizes for a model over both."""


@dataclass(eq=False)
class CostModel:
    """The common part of models of collectives: a sum of costs over rank counts, or over sizes and counts."""

    name: str
    equation: str
    source: str
    variable: Variable
    terms: Callable[[Floats, Floats], list[CostTerm]]
    """The costs, given message sizes in bytes and rank counts, both of the shape (points,)."""
    combines: bool | None = None
    """True: only for collectives that combine data with an operator; False: only for others; None: for all."""

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Fit the costs that the curve can distinguish; None if the model does not apply to such curves."""
        has_operator = "operator" in curve.subject.parameters
        if curve.variable != self.variable or self.combines not in (None, has_operator):
            return None
        if (reason := _too_few(curve)) is not None:
            return curve.not_fitted(self.name, reason)
        return fit_terms(self, curve, self.terms(curve.message_bytes, curve.ranks))


def _too_few(curve: Curve) -> str | None:
    counts, sizes = np.unique(curve.ranks).size, np.unique(curve.message_bytes).size
    if curve.variable == "ranks":
        if counts >= FEWEST_COUNTS:
            return None
        return f"{counts} rank counts; at least {FEWEST_COUNTS} are needed"
    if counts >= FEWEST_COUNTS_WITH_SIZES and sizes >= FEWEST_SIZES:
        return None
    needed = f"at least {FEWEST_COUNTS_WITH_SIZES} rank counts and {FEWEST_SIZES} sizes are needed"
    return f"{counts} rank counts and {sizes} message sizes; {needed}"


def ones(ranks: Floats) -> Floats:
    """Return the column of a cost that occurs once in each call."""
    return np.ones_like(ranks)


def steps(ranks: Floats) -> Floats:
    """Return ceil(log2 p), the steps of a binomial tree or a dissemination."""
    return np.ceil(np.log2(ranks))


def fit_terms(model: Model, curve: Curve, terms: list[CostTerm]) -> Fit | NotFitted:
    """Fit nonnegative terms that the data need and can distinguish; the other terms are named as left out.

    Every selection that contains the essential terms is tried, and the one with the lowest BIC is taken.
    """
    fitted = [(chosen, fit_linear(_design(chosen), curve)) for chosen in _selections(terms)]
    if not fitted:
        names = ", ".join(term.name for term in terms if term.essential)
        return curve.not_fitted(model.name, f"{_counted(curve)} cannot tell {names} apart")
    possible = [(chosen, fit) for chosen, fit in fitted if (fit.coefficients >= 0).all()]
    reason = "" if possible else "it would need a negative cost"
    chosen, best = min(possible or fitted, key=lambda pair: pair[1].bic)
    parameters = [best.parameter(term.name, term.unit, _pick(i)) for i, term in enumerate(chosen)]
    left_out = [_why_left_out(term, chosen, fitted) for term in terms if term not in chosen]
    return make_fit(model, curve, best, parameters, reason=reason, left_out=left_out)


def _selections(terms: list[CostTerm]) -> Iterator[list[CostTerm]]:
    optional = [term for term in terms if not term.essential]
    for count in range(len(optional) + 1):
        for some in combinations(optional, count):
            chosen = [term for term in terms if term.essential or term in some]
            design = _design(chosen)
            if design.shape[0] > design.shape[1] and distinguishable(design):
                yield chosen


def _why_left_out(term: CostTerm, chosen: list[CostTerm], fitted: list[tuple[list[CostTerm], LinearFit]]) -> str:
    tried = [fit for terms, fit in fitted if term in terms]
    if not tried:
        return f"{term.name}: the data cannot distinguish it from {', '.join(other.name for other in chosen)}"
    return f"{term.name}: the data cannot distinguish it from 0"


def _design(terms: list[CostTerm]) -> Floats:
    return np.column_stack([term.column for term in terms])


def _pick(index: int) -> Derive:
    return lambda coefficients: float(coefficients[index])


def _counted(curve: Curve) -> str:
    counts = sorted({int(p) for p in curve.ranks})
    return f"{curve.x.size} points at {', '.join(map(str, counts))} ranks"
