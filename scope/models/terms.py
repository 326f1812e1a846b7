"""Models that are sums of named costs, of which the data may not tell all apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scope.models.curve import Curve
from scope.models.fit import Fit, NotFitted
from scope.models.least_squares import Derive, Estimate, distinguishable, estimate
from scope.models.model import Model, make_fit
from scope.samples.samples import Floats


@dataclass(frozen=True, eq=False)
class Term:
    """One cost: a parameter times a known column, shape (points,)."""

    name: str
    unit: str
    column: Floats
    essential: bool
    """Without it the model would be another one."""


def steps(ranks: Floats) -> Floats:
    """Return ceil(log2 p), the steps of a binomial tree or a dissemination."""
    return np.ceil(np.log2(ranks))


def fit_terms(model: Model, curve: Curve, terms: list[Term]) -> Fit | NotFitted:
    """Fit the terms that the data need and can tell apart, none negative; the others are left out and named.

    Every selection with the essential terms is tried, and the one with the lowest BIC is taken.
    """
    fitted = [(chosen, estimate(_design(chosen), curve)) for chosen in _selections(terms)]
    if not fitted:
        names = ", ".join(term.name for term in terms if term.essential)
        return curve.not_fitted(model.name, f"{_counted(curve)} cannot tell {names} apart")
    possible = [(chosen, found) for chosen, found in fitted if (found.coefficients >= 0).all()]
    reason = "" if possible else "it would need a negative cost"
    chosen, best = min(possible or fitted, key=lambda pair: pair[1].bic)
    parameters = [best.parameter(term.name, term.unit, _pick(i)) for i, term in enumerate(chosen)]
    left_out = [_why_left_out(term, chosen, fitted) for term in terms if term not in chosen]
    return make_fit(model, curve, best, parameters, reason=reason, left_out=left_out)


def _selections(terms: list[Term]) -> Iterator[list[Term]]:
    optional = [term for term in terms if not term.essential]
    for count in range(len(optional) + 1):
        for some in combinations(optional, count):
            chosen = [term for term in terms if term.essential or term in some]
            design = _design(chosen)
            if design.shape[0] > design.shape[1] and distinguishable(design):
                yield chosen


def _why_left_out(term: Term, chosen: list[Term], fitted: list[tuple[list[Term], Estimate]]) -> str:
    tried = [found for terms, found in fitted if term in terms]
    if not tried:
        return f"{term.name}: the data cannot tell it from {', '.join(other.name for other in chosen)}"
    return f"{term.name}: the data cannot tell it from 0"


def _design(terms: list[Term]) -> Floats:
    return np.column_stack([term.column for term in terms])


def _pick(index: int) -> Derive:
    return lambda coefficients: float(coefficients[index])


def _counted(curve: Curve) -> str:
    counts = sorted({int(p) for p in curve.ranks})
    return f"{curve.x.size} points at {', '.join(map(str, counts))} processes"
