"""LogGP: the overheads of sender and receiver, the wire latency, and the gap between successive messages."""

from dataclasses import replace
from typing import Any

import numpy as np

from hpcscope import units
from hpcscope.models.communication.piecewise_hockney import Lines, PiecewiseHockney, divide
from hpcscope.models.fitting.curve import Curve
from hpcscope.models.fitting.fit import Fit, FittedParameter, NotFitted
from hpcscope.models.fitting.least_squares import fit_linear
from hpcscope.models.fitting.model import make_fit
from hpcscope.statistics.estimate import in_unit

FEWEST_SIZES = 3
PART_OF = {"send_overhead_s": "o_s_s", "receive_overhead_s": "o_r_s", "wire_latency_s": "L_s"}
"""The observed times and their names in the model."""
WHOLE = "half_round_trip_s"


class LogGP:
    """t(n) = o_s + L + o_r for a short message; a long message occupies its sender for G n more.

    The fitted curve is the gap between successive messages: straight lines with jumps where the library changes
    its protocol. g is the first line's value for an empty message, G the slope of the last line. o_s, o_r and L
    are the intercepts of the observed times up to the first step of the one-way latency: above it, the library
    waits for the receiver, and the overheads contain the transfer.
    """

    name = "loggp"
    equation = "t(n) = o_s_s + L_s + o_r_s; gap(n) = g_s + ... for short, ... + G_s_per_byte n for long messages"
    source = (
        "Alexandrov et al. 1995, LogGP (SPAA), after Culler et al. 1993, LogP (PPoPP); measured after Kielmann et "
        "al. 2000, Fast measurement of LogP parameters (IPDPS workshops)"
    )

    def fit(self, curve: Curve) -> Fit | NotFitted | None:
        """Fit the gap, and the observed parts of the one-way latency of the same cases."""
        if curve.metric != "gap_s" or not {*PART_OF, WHOLE} <= set(curve.beside):
            return None
        if curve.x.size < FEWEST_SIZES:
            reason = f"{curve.x.size} message sizes; at least {FEWEST_SIZES} are needed"
            return curve.not_fitted(self.name, reason)
        if not (curve.time_s > 0).all():
            return curve.not_fitted(self.name, "a gap is not above zero: the clock cannot resolve it")
        bic, starts = divide(curve)
        lines = Lines(curve, starts)
        gap = lines.linear
        parameters = [gap.parameter("g_s", "s", lambda c: float(c[0]))]
        left_out = []
        if gap.interval(lambda c: float(c[-1]))[1] > 0:
            parameters.append(gap.parameter("G_s_per_byte", "s/byte", lambda c: float(c[-1])))
        else:
            left_out.append("G_s_per_byte: growth of the gap with the size is within the noise")
        up_to = _first_step(curve.beside[WHOLE])
        for metric, name in PART_OF.items():
            fitted_parameter = _intercept(curve.beside[metric], curve.beside[WHOLE], up_to, name)
            if name == "L_s" and fitted_parameter is not None and fitted_parameter.low <= 0:
                left_out.append(_way_not_told(fitted_parameter))
            else:
                parameters.append(fitted_parameter)
        order = ["L_s", "o_s_s", "o_r_s", "g_s", "G_s_per_byte"]
        known = sorted((p for p in parameters if p is not None), key=lambda p: order.index(p.name))
        fit = make_fit(self, curve, gap, [*known], left_out=left_out)
        notes = [f"o_s, o_r and L are valid up to {units.size(up_to)}"]
        return fit.model_copy(update={"bic": bic, "segments": lines.segments(), "notes": notes})


def _first_step(whole: Curve) -> float:
    """Return the last size before the one-way latency steps up; the largest size if it does not."""
    fit = PiecewiseHockney().fit(whole)
    steps = fit.breakpoints if isinstance(fit, Fit) else []
    return next((step.last_before for step in steps if step.jump_s.value > 0), float(whole.x.max()))


def _intercept(part: Curve, whole: Curve, up_to: float, name: str) -> FittedParameter | None:
    """Return a part of the one-way latency for an empty message.

    Its line over the sizes is weighted by the noise of the whole latency, of which it is a part. With fewer than
    three sizes, the part is taken as constant.
    """
    inside = np.flatnonzero(part.message_bytes <= up_to)
    short = _at(replace(part, sigma_s=whole.sigma_s), inside)
    line = np.column_stack([np.ones(inside.size), short.message_bytes])
    fit = fit_linear(line if inside.size >= FEWEST_SIZES else line[:, :1], short)
    return fit.parameter(name, "s", lambda c: float(c[0]))


def _at(curve: Curve, points: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Curve:
    """Return the curve at some of its points."""
    arrays: dict[str, Any] = {
        name: value[points] for name, value in vars(curve).items() if isinstance(value, np.ndarray)
    }
    return replace(curve, **arrays)


def _way_not_told(parameter: FittedParameter) -> str:
    interval = in_unit(parameter, "s")
    return f"L_s: the wire time cannot be separated from the overheads (one-way latency minus both: {interval})"


MODELS = (LogGP(),)
