"""Data that one process sends to all others in turn, or over a shared medium."""

from __future__ import annotations

import numpy as np

from scope.models.curve import Curve
from scope.models.fit import Fit, NotFitted
from scope.models.logarithmic_broadcast import too_few
from scope.models.terms import Term, fit_terms


class LinearBroadcast:
    """Each of the p - 1 receivers costs a message of its own."""

    name = "linear_broadcast"
    equation = "t(n, p) = t_oc_s + (t_s_s + t_w_s_per_byte n) (p - 1)"
    source = "Melas 2000, sec. 7.3: a shared medium serves its receivers in turn"

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Fit the costs that these sizes and process counts can tell apart."""
        if curve.variable != "message_bytes_and_ranks":
            return None
        if (reason := too_few(curve)) is not None:
            return curve.not_fitted(self.name, reason)
        others = curve.ranks - 1
        terms = [
            Term("t_oc_s", "s", np.ones_like(others), essential=False),
            Term("t_s_s", "s", others, essential=True),
            Term("t_w_s_per_byte", "s/byte", curve.message_bytes * others, essential=True),
        ]
        return fit_terms(self, curve, terms)


MODEL = LinearBroadcast()
