"""All other ranks wait for one rank."""

from collections import defaultdict

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts
from hpcscope.programs.profiles.records import ProfiledProcess

APART = 0.6
"""One rank is late if even the second-last rank waits for at least this fraction of the typical waiting time."""


def find(facts: ProfileFacts) -> Found:
    """Find a rank for which all others wait in collectives that synchronize."""
    merged = facts.merged
    waited: dict[int, float] = defaultdict(float)
    for collective in merged.collectives:
        # Of two ranks, one always waits less: it is late only if it waits far less than the other.
        usual_s = (
            collective.next_s if collective.communicator_size == 2 else collective.median_s - collective.last_s
        )
        if usual_s > 0 and collective.next_s - collective.last_s >= APART * usual_s:
            waited[collective.last_rank] += collective.waiting_least_s
    if not waited:
        return
    rank, waiting_s = max(waited.items(), key=lambda pair: pair[1])
    if not facts.worth(waiting_s):
        return
    late = next(process for process in merged.processes if process.rank == rank)
    others = [process for process in merged.processes if process.rank != rank]
    yield Finding(
        code="late-process",
        severity="warning",
        title=(
            f"Rank {rank} on {late.host} enters collectives last:"
            f" the other ranks wait {units.quantity(waiting_s, 's')} for it in total"
        ),
        where={"rank": rank, "host": late.host, "layer": "balance"},
        evidence=[
            Evidence(what=f"time that the other ranks waited for rank {rank}, sum", value=waiting_s, unit="s"),
            Evidence(what=f"computation of rank {rank}", value=late.compute_s, unit="s"),
            Evidence(what="computation of the other ranks, mean", value=_mean(others, "compute_s"), unit="s"),
            *_of_the_system(late, others),
        ],
        advice=_advice(late, others),
        lost=waiting_s / facts.total_s,
    )


def _advice(late: ProfiledProcess, others: list[ProfiledProcess]) -> str:
    theirs = [process.usage.processor_s for process in others if process.usage is not None]
    if late.usage is not None and theirs and late.usage.processor_s < 0.9 * sum(theirs) / len(theirs):
        return (
            f"This rank gets less CPU time than the others: look for other processes on {late.host}, check"
            " the binding, and check whether this rank waits for files."
        )
    if late.compute_s <= _mean(others, "compute_s"):
        return (
            "This rank computes no longer than others: something before these collectives delays it, such as a"
            " receive or a file. Record a trace (`scope monitor --trace`)."
        )
    return (
        "This rank computes longer than others: give it less work, or find what only this rank does (input, "
        f"output, a larger part). If its work is equal, its processor on {late.host} is slower."
    )


def _of_the_system(late: ProfiledProcess, others: list[ProfiledProcess]) -> list[Evidence]:
    theirs = [process.usage for process in others if process.usage is not None]
    if late.usage is None or not theirs:
        return []
    usual = sum(usage.involuntary_switches for usage in theirs) / len(theirs)
    return [
        Evidence(what=f"CPU time of rank {late.rank}", value=late.usage.processor_s, unit="s"),
        Evidence(
            what="CPU time of the other ranks, mean",
            value=sum(usage.processor_s for usage in theirs) / len(theirs),
            unit="s",
        ),
        Evidence(what=f"involuntary context switches of rank {late.rank}", value=late.usage.involuntary_switches),
        Evidence(what="involuntary context switches of the other ranks, mean", value=usual),
    ]


def _mean(processes: list[ProfiledProcess], name: str) -> float:
    return float(sum(getattr(process, name) for process in processes) / max(len(processes), 1))
