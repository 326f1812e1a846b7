"""Collectives wait more than they transfer data."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts, placed

MOST = 0.5
"""Least fraction of the time in synchronizing collectives."""


def find(facts: ProfileFacts) -> Found:
    """Find programs whose collectives waited for most of their time, by a lower bound on the waiting.

    The time of the rank that waited least bounds the operation's own time; the excess of the others is waiting.
    """
    merged = facts.merged
    time_s = sum(collective.time_s for collective in merged.collectives)
    waiting_s = sum(collective.waiting_least_s for collective in merged.collectives)
    if waiting_s < MOST * time_s or not facts.worth(waiting_s):
        return
    worst = max(merged.collectives, key=lambda one: one.waiting_least_s)
    late = next((process.host for process in merged.processes if process.rank == worst.last_rank), "")
    sites = [call for call in merged.calls if call.routine == worst.routine]
    yield Finding(
        code="waiting-not-transferring",
        severity="warning",
        title=(
            f"At least {units.share(waiting_s / time_s)} of the {units.quantity(time_s, 's')} in "
            f"synchronizing collectives is waiting. Most of it is in {worst.routine}, where rank "
            f"{worst.last_rank} on {late} waits least"
        ),
        where=placed(
            {"routine": worst.routine, "rank": worst.last_rank, "host": late, "layer": "balance"},
            facts.site(sites),
        ),
        evidence=[
            Evidence(what="time in these collectives, all ranks", value=time_s, unit="s"),
            Evidence(what="waiting, at least", value=waiting_s, unit="s"),
            Evidence(
                what="waiting, at most",
                value=sum(collective.waiting_most_s for collective in merged.collectives),
                unit="s",
            ),
            Evidence(what=f"{worst.routine}: waiting, at least", value=worst.waiting_least_s, unit="s"),
        ],
        advice=(
            "A faster network does not help. Balance the work, or start a nonblocking collective (`MPI_I...`) "
            "and do other work until it completes."
        ),
        lost=waiting_s / facts.total_s,
    )
