"""A collective over process counts on a switch: t_oc for the call, t_init for each process, t_s for each step."""

from __future__ import annotations

from scope.models.fitting.terms import CostModel, Term, ones, steps
from scope.samples.samples import Floats


def _terms(_n: Floats, p: Floats) -> list[Term]:
    return [
        Term("t_oc_s", "s", ones(p), essential=False),
        Term("t_init_s", "s", p, essential=False),
        Term("t_s_s", "s", steps(p), essential=True),
    ]


MODEL = CostModel(
    name="logarithmic_collective",
    equation="t(p) = t_oc_s + t_init_s p + t_s_s ceil(log2 p)",
    source="Melas 2000, eq. 6.15; at a fixed message size also 6.16 and 6.17",
    variable="ranks",
    terms=_terms,
)
