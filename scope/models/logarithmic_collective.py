"""A collective over process counts on a switch: steps of a tree."""

from __future__ import annotations

import numpy as np

from scope.models.curve import Curve
from scope.models.fit import Fit, NotFitted
from scope.models.terms import Term, fit_terms, steps

FEWEST_COUNTS = 3


class LogarithmicCollective:
    """t_oc is the cost of the call, t_init that of each process, t_s that of each step of the tree."""

    name = "logarithmic_collective"
    equation = "t(p) = t_oc_s + t_init_s p + t_s_s ceil(log2 p)"
    source = "Melas 2000, eq. 6.15; at a fixed message size also 6.16 and 6.17"

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Fit the costs that these process counts can tell apart."""
        if curve.variable != "ranks":
            return None
        p = curve.ranks
        if p.size < FEWEST_COUNTS:
            return curve.not_fitted(self.name, f"{p.size} process counts; at least {FEWEST_COUNTS} are needed")
        terms = [
            Term("t_oc_s", "s", np.ones_like(p), essential=True),
            Term("t_init_s", "s", p, essential=False),
            Term("t_s_s", "s", steps(p), essential=True),
        ]
        return fit_terms(self, curve, terms)


MODEL = LogarithmicCollective()
