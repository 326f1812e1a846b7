"""Data that one process sends to or gets from all others in turn, or over a shared medium."""

from __future__ import annotations

from scope.models.fitting.terms import CostModel, Term, ones
from scope.samples.samples import Floats


def _terms(n: Floats, p: Floats) -> list[Term]:
    return [
        Term("t_oc_s", "s", ones(p), essential=False),
        Term("t_s_s", "s", p - 1, essential=True),
        Term("t_w_s_per_byte", "s/byte", n * (p - 1), essential=True),
    ]


MODEL = CostModel(
    name="linear_broadcast",
    equation="t(n, p) = t_oc_s + (t_s_s + t_w_s_per_byte n) (p - 1)",
    source="Melas 2000, sec. 7.3: a shared medium serves its receivers in turn",
    variable="message_bytes_and_ranks",
    terms=_terms,
)
