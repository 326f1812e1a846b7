"""Collectives over rank counts, or over message sizes and rank counts: sums of costs that grow differently.

On a switch, trees take ceil(log2 p) steps. A shared medium, or a rank that serves all others in turn, carries one
message after another.
"""

from hpcscope.models.fitting.terms import CostModel, CostTerm, ones, steps
from hpcscope.samples.samples import Floats


def _call(p: Floats) -> CostTerm:
    return CostTerm("t_oc_s", "s", ones(p), essential=False)


def _messages(n: Floats, count: Floats) -> list[CostTerm]:
    """Return the costs of messages of n bytes, one after another."""
    return [
        CostTerm("t_s_s", "s", count, essential=True),
        CostTerm("t_w_s_per_byte", "s/byte", n * count, essential=True),
    ]


def _tree(n: Floats, p: Floats) -> list[CostTerm]:
    return [_call(p), CostTerm("t_init_s", "s", p, essential=False), *_messages(n, steps(p))]


MODELS = (
    # Each rank has a block for or from every other rank: few steps, but p - 1 blocks through its link.
    CostModel(
        name="block_tree",
        equation="t(m, p) = t_oc_s + t_init_s p + t_s_s ceil(log2 p) + t_w_s_per_byte m (p - 1)",
        source="Thakur, Rabenseifner & Gropp 2005, Int. J. High Perform. Comput. Appl. 19 (1), 49-66",
        variable="message_bytes_and_ranks",
        terms=lambda n, p: [*_tree(n, p)[:3], CostTerm("t_w_s_per_byte", "s/byte", n * (p - 1), essential=True)],
    ),
    # One rank sends data to all others, or gets data from them, in turn.
    CostModel(
        name="linear_broadcast",
        equation="t(n, p) = t_oc_s + (t_s_s + t_w_s_per_byte n) (p - 1)",
        source="Melas 2000, sec. 7.3: a shared medium serves its receivers one after another",
        variable="message_bytes_and_ranks",
        terms=lambda n, p: [_call(p), *_messages(n, p - 1)],
    ),
    # A message to each other rank: this cost is 0 on one rank.
    CostModel(
        name="linear_collective",
        equation="t(p) = t_oc_s + t_p_s (p - 1)",
        source="Melas 2000, sec. 7.3: collectives on shared Ethernet grow linearly with the ranks",
        variable="ranks",
        terms=lambda _n, p: [_call(p), CostTerm("t_p_s", "s", p - 1, essential=True)],
    ),
    # A tree spreads the data: each step carries the whole message.
    CostModel(
        name="logarithmic_broadcast",
        equation="t(n, p) = t_oc_s + t_init_s p + (t_s_s + t_w_s_per_byte n) ceil(log2 p)",
        source="Melas 2000, eq. 6.16",
        variable="message_bytes_and_ranks",
        terms=_tree,
        combines=False,
    ),
    CostModel(
        name="logarithmic_collective",
        equation="t(p) = t_oc_s + t_init_s p + t_s_s ceil(log2 p)",
        source="Melas 2000, eq. 6.15; at a fixed message size also eq. 6.16 and 6.17",
        variable="ranks",
        terms=lambda n, p: _tree(n, p)[:3],
    ),
    # A tree combines the data: each step computes on the whole message.
    CostModel(
        name="logarithmic_reduce",
        equation="t(n, p) = t_oc_s + t_init_s p + (t_s_s + t_w_s_per_byte n + t_op_s_per_byte n) ceil(log2 p)",
        source="Melas 2000, eq. 6.17",
        variable="message_bytes_and_ranks",
        terms=lambda n, p: [*_tree(n, p), CostTerm("t_op_s_per_byte", "s/byte", n * steps(p), essential=False)],
        combines=True,
    ),
    # All ranks exchange blocks over one medium, or through one memory.
    CostModel(
        name="shared_exchange",
        equation="t(m, p) = t_oc_s + (t_s_s + t_w_s_per_byte m) p (p - 1)",
        source="Melas 2000, sec. 6.5.4 and 7.3: a shared medium carries the p (p - 1) messages one after another",
        variable="message_bytes_and_ranks",
        terms=lambda n, p: [_call(p), *_messages(n, p * (p - 1))],
    ),
)
