"""Blocks of which a process has one for or from each other: few steps, but p - 1 blocks through its link."""

from __future__ import annotations

from scope.models.fitting.terms import CostModel, Term, ones, steps
from scope.samples.samples import Floats


def _terms(n: Floats, p: Floats) -> list[Term]:
    return [
        Term("t_oc_s", "s", ones(p), essential=False),
        Term("t_init_s", "s", p, essential=False),
        Term("t_s_s", "s", steps(p), essential=True),
        Term("t_w_s_per_byte", "s/byte", n * (p - 1), essential=True),
    ]


MODEL = CostModel(
    name="block_tree",
    equation="t(m, p) = t_oc_s + t_init_s p + t_s_s ceil(log2 p) + t_w_s_per_byte m (p - 1)",
    source="Thakur, Rabenseifner & Gropp 2005, Int. J. High Perform. Comput. Appl. 19 (1), 49-66",
    variable="message_bytes_and_ranks",
    terms=_terms,
)
