"""The rate of a loop as a function of its length, or of its arithmetic per word of memory."""

import numpy as np

from hpcscope.models.fitting.curve import Curve
from hpcscope.models.fitting.fit import Fit, NotFitted
from hpcscope.models.fitting.least_squares import fit_linear
from hpcscope.models.fitting.model import make_fit

FEWEST_POINTS = 3
HALF = {"vector_length": "n_half", "intensity": "f_half"}
"""The name of the value of the variable at which half of r_inf is reached."""


class HalfPerformance:
    """r(x) = r_inf / (1 + x_1/2 / x), which is a straight line of time over operations: t = a + b F.

    F is proportional to x: r_inf = 1 / b, and x_1/2 = a / b operations, in units of x.
    """

    name = "half_performance"
    equation = "r(x) = r_inf / (1 + x_half / x), t = (F + F_half) / r_inf"
    source = "Hockney 1996, The Science of Computer Benchmarking (RINF1, POLY1, POLY2); Melas 2000, table 5.2"

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Fit the line; r_inf is given only if the slope's interval excludes zero."""
        if curve.variable not in HALF:
            return None
        if curve.x.size < FEWEST_POINTS:
            return curve.not_fitted(self.name, f"{curve.x.size} points; the fit needs {FEWEST_POINTS} or more")
        if not (curve.flops > 0).all():
            return curve.not_fitted(self.name, "the benchmark does not declare how many flops a loop does")
        per_unit = float(np.median(curve.flops / curve.x))
        half = HALF[curve.variable]
        line = fit_linear(np.column_stack([np.ones_like(curve.flops), curve.flops]), curve)
        parameters, left_out = [], []
        if line.interval(lambda c: float(c[1]))[1] <= 0:
            left_out = [f"r_inf_flops_per_s, {half}: the time per operation cannot be distinguished from 0"]
        else:
            parameters = [
                line.parameter("r_inf_flops_per_s", "flop/s", lambda c: float(1 / c[1])),
                line.parameter(half, "", lambda c: float(c[0] / c[1] / per_unit)),
            ]
        negative = "" if line.coefficients[1] >= 0 else "more arithmetic would take less time"
        return make_fit(self, curve, line, parameters, reason=negative, left_out=left_out)


MODELS = (HalfPerformance(),)
