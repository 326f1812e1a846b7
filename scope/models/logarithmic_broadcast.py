"""Data that a tree spreads: one model over message sizes and process counts together."""

from __future__ import annotations

import numpy as np

from scope.models.curve import Curve
from scope.models.fit import Fit, NotFitted
from scope.models.terms import Term, fit_terms, steps

FEWEST_COUNTS = 2
FEWEST_SIZES = 3


class LogarithmicBroadcast:
    """As the barrier, and each step of the tree carries the whole message."""

    name = "logarithmic_broadcast"
    equation = "t(n, p) = t_oc_s + t_init_s p + (t_s_s + t_w_s_per_byte n) ceil(log2 p)"
    source = "Melas 2000, eq. 6.16"

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Fit the costs that these sizes and process counts can tell apart."""
        if curve.variable != "message_bytes_and_ranks":
            return None
        n, p = curve.message_bytes, curve.ranks
        if (reason := too_few(curve)) is not None:
            return curve.not_fitted(self.name, reason)
        terms = [
            Term("t_oc_s", "s", np.ones_like(p), essential=False),
            Term("t_init_s", "s", p, essential=False),
            Term("t_s_s", "s", steps(p), essential=True),
            Term("t_w_s_per_byte", "s/byte", n * steps(p), essential=True),
        ]
        return fit_terms(self, curve, terms)


def too_few(curve: Curve) -> str | None:
    """Say that there are too few sizes or process counts for a model over both; None when there are enough."""
    counts, sizes = np.unique(curve.ranks).size, np.unique(curve.message_bytes).size
    if counts >= FEWEST_COUNTS and sizes >= FEWEST_SIZES:
        return None
    needed = f"at least {FEWEST_COUNTS} and {FEWEST_SIZES} are needed"
    return f"{counts} process counts and {sizes} message sizes; {needed}"


MODEL = LogarithmicBroadcast()
