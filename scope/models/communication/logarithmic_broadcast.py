"""Data that a tree spreads: as the barrier, and each step of the tree carries the whole message."""

from __future__ import annotations

from scope.models.fitting.terms import CostModel, Term, ones, steps
from scope.samples.samples import Floats


def tree_costs(n: Floats, p: Floats) -> list[Term]:
    """Return the costs of a message of n bytes through a tree of p processes."""
    return [
        Term("t_oc_s", "s", ones(p), essential=False),
        Term("t_init_s", "s", p, essential=False),
        Term("t_s_s", "s", steps(p), essential=True),
        Term("t_w_s_per_byte", "s/byte", n * steps(p), essential=True),
    ]


MODEL = CostModel(
    name="logarithmic_broadcast",
    equation="t(n, p) = t_oc_s + t_init_s p + (t_s_s + t_w_s_per_byte n) ceil(log2 p)",
    source="Melas 2000, eq. 6.16",
    variable="message_bytes_and_ranks",
    terms=tree_costs,
    combines=False,
)
