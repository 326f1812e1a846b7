"""Late senders and late receivers in the trace."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts

WORTH = 0.05
"""Least fraction of the traced time of all ranks."""


def find(facts: ProfileFacts) -> Found:
    """Find trace windows in which ranks waited long for the other side of a message."""
    late = facts.merged.late
    if late is None or late.window_s <= 0:
        return
    traced_s = late.window_s * len(late.ranks)
    senders = {late_rank.rank: late_rank.late_sender_s for late_rank in late.ranks}
    receivers = {late_rank.rank: late_rank.late_receiver_s for late_rank in late.ranks}
    for code, what, waited_s, number, ranks in (
        ("late-sender", "send", late.late_sender_s, late.late_senders, senders),
        ("late-receiver", "receive", late.late_receiver_s, late.late_receivers, receivers),
    ):
        if waited_s < WORTH * traced_s:
            continue
        worst = max(ranks.items(), key=lambda pair: pair[1])[0]
        other = "receiver" if what == "send" else "sender"
        yield Finding(
            code=code,
            severity="warning",
            title=(
                f"In the trace window, ranks spend {units.share(waited_s / traced_s)} of their time waiting "
                f"for late {what}s, mostly for rank {worst}"
            ),
            where={"rank": worst, "layer": "messages"},
            evidence=[
                Evidence(what=f"waiting time of {other}s", value=waited_s, unit="s"),
                Evidence(what=f"waiting time for rank {worst}", value=ranks[worst], unit="s"),
                Evidence(what="messages with waiting time", value=number),
                Evidence(what="messages in the window", value=late.messages),
            ],
            advice=(
                "Send earlier: move work after the send, or start the send during that work (`MPI_Isend`)."
                if what == "send"
                else "Post the receive before the computation (`MPI_Irecv`), so that a buffer is ready for a "
                "long message."
            ),
            lost=waited_s / traced_s,
        )
