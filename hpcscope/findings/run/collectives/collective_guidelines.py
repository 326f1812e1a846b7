"""Performance guidelines of collectives (Träff, Gropp & Thakur 2010, sec. 3 and 4).

If a composition needs a size that was not measured, the next larger measured size replaces it: a program can
always pad its data.
"""

from collections.abc import Iterator

from hpcscope.findings.run.collectives.guideline import (
    Guideline,
    GuidelineCalls,
    GuidelineComparison,
    Pairs,
    size,
)
from hpcscope.findings.run.evidence import but_for, same_place
from hpcscope.statistics.summary import Summary

VARIABLE = {
    "MPI_Scatter": "MPI_Scatterv",
    "MPI_Gather": "MPI_Gatherv",
    "MPI_Allgather": "MPI_Allgatherv",
    "MPI_Alltoall": "MPI_Alltoallv",
    "MPI_Reduce_scatter_block": "MPI_Reduce_scatter",
}
"""Collectives of equal blocks, and their variants with a length for each rank."""


def _no_slower(left: str, right: str, then: str | None = None, gathered: str = "") -> Pairs:
    """Compare routines at equal sizes; the routine named `gathered` carries the blocks of all ranks."""

    def pairs(calls: GuidelineCalls) -> Iterator[GuidelineComparison]:
        rights = calls.of(right)
        thens = calls.of(then) if then else []
        for case in calls.of(left):
            other = _counterpart(case, rights, many=right == gathered)
            second = _counterpart(case, thens, many=then == gathered)
            if other is not None and (then is None or second is not None):
                yield GuidelineComparison(case, other, then=second)

    return pairs


def _routine(
    name: str, left: str, right: str, then: str | None = None, gathered: str = "", words: str = ""
) -> Guideline:
    """Return the guideline that a routine takes no longer than others; `words`: their names, if not obvious."""
    others = words or (f"{right} followed by {then}" if then else right)
    return Guideline(name, left, others, _no_slower(left, right, then, gathered))


def _counterpart(case: Summary, others: list[Summary], many: bool) -> Summary | None:
    wanted = size(case) * (case.ranks if many else 1)
    fitting = [
        other
        for other in others
        if case.ranks > 1
        and same_place(case, other)
        and size(other) >= wanted
        and (many or size(other) == wanted or not wanted)
    ]
    return min(fitting, key=size, default=None)


def _equal_against_variable(calls: GuidelineCalls) -> Iterator[GuidelineComparison]:
    for equal, variable in VARIABLE.items():
        yield from _no_slower(equal, variable)(calls)


def _calls(left: str, right: str) -> Pairs:
    """Compare two kinds of calls of the same collective."""

    def pairs(calls: GuidelineCalls) -> Iterator[GuidelineComparison]:
        others = {but_for(s, "call"): s for s in calls.times if s.parameters.get("call") == right}
        for case in calls.times:
            other = others.get(but_for(case, "call"))
            if case.parameters.get("call") == left and case.ranks > 1 and other is not None:
                yield GuidelineComparison(case, other)

    return pairs


COLLECTIVE_GUIDELINES = [
    _routine("allreduce", "MPI_Allreduce", "MPI_Reduce", "MPI_Bcast"),
    _routine("reduce", "MPI_Reduce", "MPI_Allreduce"),
    _routine("reduce by scan", "MPI_Reduce", "MPI_Scan"),
    _routine("allgather", "MPI_Allgather", "MPI_Gather", "MPI_Bcast", gathered="MPI_Bcast"),
    _routine("gather", "MPI_Gather", "MPI_Allgather"),
    _routine("scatter", "MPI_Scatter", "MPI_Bcast", gathered="MPI_Bcast", words="MPI_Bcast of all blocks"),
    _routine("allgather by all-to-all", "MPI_Allgather", "MPI_Alltoall"),
    _routine("reduce-scatter", "MPI_Reduce_scatter_block", "MPI_Reduce", "MPI_Scatter", gathered="MPI_Reduce"),
    _routine("barrier by allreduce", "MPI_Barrier", "MPI_Allreduce", words="the smallest MPI_Allreduce"),
    _routine("scan", "MPI_Scan", "MPI_Exscan", "MPI_Reduce_local"),
    Guideline("equal blocks", "a collective of equal blocks", "its v variant", _equal_against_variable),
    Guideline("blocking", "a blocking call", "the nonblocking call and a wait", _calls("blocking", "nonblocking")),
    Guideline(
        "persistent", "a persistent call", "the nonblocking call and a wait", _calls("persistent", "nonblocking")
    ),
]
