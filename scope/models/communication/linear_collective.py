"""A collective over process counts on a shared medium, or one that serves its processes in turn: t_p for each."""

from __future__ import annotations

from scope.models.fitting.terms import CostModel, Term, ones
from scope.samples.samples import Floats


def _terms(_n: Floats, p: Floats) -> list[Term]:
    return [
        Term("t_oc_s", "s", ones(p), essential=False),
        # A message to each of the others, one after another: nothing is left of it on one process.
        Term("t_p_s", "s", p - 1, essential=True),
    ]


MODEL = CostModel(
    name="linear_collective",
    equation="t(p) = t_oc_s + t_p_s (p - 1)",
    source="Melas 2000, sec. 7.3: collectives on shared Ethernet grow linearly with the processes",
    variable="ranks",
    terms=_terms,
)
