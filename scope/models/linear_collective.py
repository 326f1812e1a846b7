"""A collective over process counts on a shared medium, or one that serves its processes in turn."""

from __future__ import annotations

import numpy as np

from scope.models.curve import Curve
from scope.models.fit import Fit, NotFitted
from scope.models.logarithmic_collective import FEWEST_COUNTS
from scope.models.terms import Term, fit_terms


class LinearCollective:
    """t_oc is the cost of the call, t_p that of each process."""

    name = "linear_collective"
    equation = "t(p) = t_oc_s + t_p_s p"
    source = "Melas 2000, sec. 7.3: collectives on shared Ethernet grow linearly with the processes"

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Fit the line."""
        if curve.variable != "ranks":
            return None
        p = curve.ranks
        if p.size < FEWEST_COUNTS:
            return curve.not_fitted(self.name, f"{p.size} process counts; at least {FEWEST_COUNTS} are needed")
        return fit_terms(
            self, curve, [Term("t_oc_s", "s", np.ones_like(p), True), Term("t_p_s", "s", p, essential=True)]
        )


MODEL = LinearCollective()
