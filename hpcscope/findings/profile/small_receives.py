"""Receiving many small messages takes much of the time."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts, placed
from hpcscope.programs.profiles.routines import kind

SMALL_CLASS = 12
"""Largest size class that is small (below 4 KiB): in NetFinity's LU, receiving 2 kB messages dominated."""
LONGEST_S = 400e-6
"""Time of 4 KiB over Fast Ethernet: a receive that takes longer is waiting for its sender, at any message size."""
MANY = 100
"""Fewest such receives per rank."""


def find(facts: ProfileFacts) -> Found:
    """Find programs that lose much of their time in receives of small messages and in the probes before them.

    Tessera, NetFinity: in LU the receives of many small messages take longest, on the faster network too.
    """
    merged = facts.merged
    calls = [call for call in merged.calls if call.kind == "receive" and 0 < call.size_class <= SMALL_CLASS]
    waits = [
        wait for wait in merged.waits if kind(wait.operation) == "receive" and 0 < wait.size_class <= SMALL_CLASS
    ]
    # A nonblocking receive is counted where it is started, but its message where the program waits for it.
    blocking = [call for call in calls if not call.routine.startswith(("MPI_I", "MPI_Recv_init"))]
    probes = [call for call in merged.calls if call.kind == "probe"]
    time_s = sum(call.time_s for call in [*calls, *probes]) + sum(wait.time_s for wait in waits)
    number = sum(call.calls for call in blocking) + sum(wait.requests for wait in waits)
    size = sum(call.bytes for call in blocking) + sum(wait.bytes for wait in waits)
    avoidable_s = min(time_s, number * LONGEST_S)
    if not facts.worth(avoidable_s) or number < MANY * len(merged.processes):
        return
    yield Finding(
        code="small-receives",
        severity="advice",
        title=(
            f"Receiving small messages takes {units.share(avoidable_s / facts.total_s)} of the time:"
            f" {number} messages of {units.quantity(size / number, 'B')} on average"
        ),
        where=placed({"layer": "messages"}, facts.site(calls)),
        evidence=[
            Evidence(what="time in receives of small messages, all ranks", value=time_s, unit="s"),
            Evidence(what="receives", value=number),
            Evidence(what="time per receive", value=time_s / number, unit="s"),
            Evidence(what="mean message size", value=size / number, unit="B"),
            Evidence(what="fraction of the time in MPI", value=100 * time_s / merged.calls_s, unit="%"),
        ],
        advice=(
            "Send fewer, longer messages: combine messages to the same receiver, or exchange data only after "
            "several steps. Latency dominates here, not bandwidth: more bandwidth helps little."
        ),
        lost=avoidable_s / facts.total_s,
    )
