"""All processes exchange blocks over one medium, or through one memory: p (p - 1) messages in turn."""

from __future__ import annotations

from scope.models.fitting.terms import CostModel, Term, ones
from scope.samples.samples import Floats


def _terms(n: Floats, p: Floats) -> list[Term]:
    return [
        Term("t_oc_s", "s", ones(p), essential=False),
        Term("t_s_s", "s", p * (p - 1), essential=True),
        Term("t_w_s_per_byte", "s/byte", n * p * (p - 1), essential=True),
    ]


MODEL = CostModel(
    name="shared_exchange",
    equation="t(m, p) = t_oc_s + (t_s_s + t_w_s_per_byte m) p (p - 1)",
    source="Melas 2000, sec. 6.5.4 and 7.3: a shared medium carries the p (p - 1) messages in turn",
    variable="message_bytes_and_ranks",
    terms=_terms,
)
