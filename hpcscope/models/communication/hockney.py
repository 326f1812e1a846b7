"""One straight line over message sizes: start-up time and asymptotic bandwidth."""

import numpy as np

from hpcscope.models.fitting.curve import Curve
from hpcscope.models.fitting.fit import Fit, NotFitted
from hpcscope.models.fitting.least_squares import fit_linear
from hpcscope.models.fitting.model import make_fit

FEWEST_SIZES = 3


class Hockney:
    """t = a + b n; r_inf = 1 / b is the asymptotic bandwidth, n_1/2 = a / b the size that reaches half of it."""

    name = "hockney"
    equation = "t(n) = latency_s + per_byte_s n"
    source = "Hockney 1994, Parallel Computing 20 (3), 389-398; Melas 2000, eq. 6.9-6.13"

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Fit the line; a bandwidth is given only if the slope's interval excludes zero."""
        if curve.variable != "message_bytes" or curve.definition == "observed":
            return None
        sizes = curve.message_bytes
        if sizes.size < FEWEST_SIZES:
            return curve.not_fitted(self.name, f"{sizes.size} message sizes; the fit needs {FEWEST_SIZES} or more")
        line = fit_linear(np.column_stack([np.ones_like(sizes), sizes]), curve)
        parameters = [
            line.parameter("latency_s", "s", lambda c: float(c[0])),
            line.parameter("per_byte_s", "s/byte", lambda c: float(c[1])),
        ]
        left_out = []
        if line.interval(lambda c: float(c[1]))[1] <= 0:
            left_out = ["r_inf_bytes_per_s, n_half_bytes: the time per byte cannot be distinguished from 0"]
        else:
            parameters += [
                line.parameter("r_inf_bytes_per_s", "B/s", lambda c: float(1 / c[1])),
                line.parameter("n_half_bytes", "B", lambda c: float(c[0] / c[1])),
            ]
        negative = "" if line.coefficients[1] >= 0 else "longer messages would take less time"
        return make_fit(self, curve, line, parameters, reason=negative, left_out=left_out)


MODELS = (Hockney(),)
