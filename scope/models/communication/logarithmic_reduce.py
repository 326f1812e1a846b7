"""Data that a tree combines: as the broadcast, and each step computes on the whole message."""

from __future__ import annotations

from scope.models.communication.logarithmic_broadcast import tree_costs
from scope.models.fitting.terms import CostModel, Term, steps
from scope.samples.samples import Floats


def _terms(n: Floats, p: Floats) -> list[Term]:
    return [*tree_costs(n, p), Term("t_op_s_per_byte", "s/byte", n * steps(p), essential=False)]


MODEL = CostModel(
    name="logarithmic_reduce",
    equation="t(n, p) = t_oc_s + t_init_s p + (t_s_s + t_w_s_per_byte n + t_op_s_per_byte n) ceil(log2 p)",
    source="Melas 2000, eq. 6.17",
    variable="message_bytes_and_ranks",
    terms=_terms,
    combines=True,
)
