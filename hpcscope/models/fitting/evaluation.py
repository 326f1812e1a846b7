"""The time that a fitted model gives for any size and number of processes, also outside of its points."""

import numpy as np

from hpcscope.models.fitting.fit import Fit
from hpcscope.models.fitting.model import all_models
from hpcscope.models.fitting.terms import CostModel


def time_s(fit: Fit, message_bytes: float, ranks: int) -> float | None:
    """Return the time in s; None of a model that is no sum of costs and no straight lines, or not of messages."""
    if fit.variable not in ("message_bytes", "ranks", "message_bytes_and_ranks"):
        return None
    known = {parameter.name: parameter.value for parameter in fit.parameters}
    if fit.segments:
        line = next((segment for segment in fit.segments if message_bytes <= segment.high), fit.segments[-1])
        return line.latency_s.value + line.per_byte_s.value * message_bytes
    if {"latency_s", "per_byte_s"} <= set(known):
        return known["latency_s"] + known["per_byte_s"] * message_bytes
    model = next((one for one in all_models() if one.name == fit.model), None)
    if not isinstance(model, CostModel):
        return None
    terms = model.terms(np.array([message_bytes], dtype=np.float64), np.array([ranks], dtype=np.float64))
    return float(sum(known.get(term.name, 0.0) * term.column[0] for term in terms))
