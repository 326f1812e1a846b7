"""The guidelines of collectives: what each must not be slower than. Träff, Gropp & Thakur 2010, sec. 3 and 4.

Where a composition needs a size that was not measured, the next larger one that was stands for it: a program can
always pad.
"""

from __future__ import annotations

from collections.abc import Iterator

from scope.findings.run.collectives.guideline import Comparison, Guideline, Pairs, of, same_place, size
from scope.statistics.summary import Summary

PLAIN = {"mpi.scatter": "mpi.scatterv", "mpi.gather": "mpi.gatherv", "mpi.allgather": "mpi.allgatherv"} | {
    "mpi.alltoall": "mpi.alltoallv",
    "mpi.reduce_scatter_block": "mpi.reduce_scatter",
}
"""Collectives of equal blocks, and those that take a length for each process."""


def blocking(times: list[Summary], benchmark: str) -> list[Summary]:
    """Return the blocking calls with root 0, equal blocks and sums."""
    return of(times, benchmark, call="blocking", root=0, blocks="equal", operator="sum")


def _no_slower(left: str, right: str, then: str | None = None, gathered: str = "") -> Pairs:
    """Compare at equal sizes; the one called `gathered` carries the blocks of all processes."""

    def pairs(times: list[Summary]) -> Iterator[Comparison]:
        rights = blocking(times, right)
        thens = blocking(times, then) if then else []
        for one in blocking(times, left):
            other = _counterpart(one, rights, many=right == gathered)
            second = _counterpart(one, thens, many=then == gathered)
            if other is not None and (then is None or second is not None):
                yield Comparison(one, other, then=second)

    return pairs


def _counterpart(one: Summary, others: list[Summary], many: bool) -> Summary | None:
    wanted = size(one) * (one.ranks if many else 1)
    fitting = [
        other
        for other in others
        if one.ranks > 1
        and (one.ranks, one.placement) == (other.ranks, other.placement)
        and same_place(one, other)
        and size(other) >= wanted
        and (many or size(other) == wanted or not wanted)
    ]
    return min(fitting, key=size, default=None)


def _plain_against_lengths(times: list[Summary]) -> Iterator[Comparison]:
    for plain, with_lengths in PLAIN.items():
        yield from _no_slower(plain, with_lengths)(times)


def _calls(left: str, right: str) -> Pairs:
    """Compare two ways of calling the same collective."""

    def pairs(times: list[Summary]) -> Iterator[Comparison]:
        others = {but_for(s, "call"): s for s in times if s.parameters.get("call") == right}
        for one in times:
            other = others.get(but_for(one, "call"))
            if one.parameters.get("call") == left and one.ranks > 1 and other is not None:
                yield Comparison(one, other)

    return pairs


def but_for(s: Summary, parameter: str) -> tuple[object, ...]:
    """Return what a summary shares with those that differ from it in one parameter alone."""
    parameters = tuple(sorted((name, str(value)) for name, value in s.parameters.items() if name != parameter))
    return (s.benchmark, parameters, s.ranks, s.transport, s.placement, s.origin, s.metric)


def but_for_the_ranks(s: Summary) -> tuple[object, ...]:
    """Return what a summary shares with those of other numbers of processes."""
    parameters = tuple(sorted((name, str(value)) for name, value in s.parameters.items()))
    return (s.benchmark, parameters, s.transport, s.placement, s.origin, s.metric)


COLLECTIVE_GUIDELINES = [
    Guideline(
        "allreduce",
        "MPI_Allreduce",
        "MPI_Reduce and MPI_Bcast in turn",
        _no_slower("mpi.allreduce", "mpi.reduce", "mpi.broadcast"),
    ),
    Guideline("reduce", "MPI_Reduce", "MPI_Allreduce", _no_slower("mpi.reduce", "mpi.allreduce")),
    Guideline("reduce by scan", "MPI_Reduce", "MPI_Scan", _no_slower("mpi.reduce", "mpi.scan")),
    Guideline(
        "allgather",
        "MPI_Allgather",
        "MPI_Gather and MPI_Bcast in turn",
        _no_slower("mpi.allgather", "mpi.gather", "mpi.broadcast", gathered="mpi.broadcast"),
    ),
    Guideline("gather", "MPI_Gather", "MPI_Allgather", _no_slower("mpi.gather", "mpi.allgather")),
    Guideline(
        "scatter",
        "MPI_Scatter",
        "MPI_Bcast of all blocks",
        _no_slower("mpi.scatter", "mpi.broadcast", gathered="mpi.broadcast"),
    ),
    Guideline(
        "allgather by all-to-all",
        "MPI_Allgather",
        "MPI_Alltoall",
        _no_slower("mpi.allgather", "mpi.alltoall"),
    ),
    Guideline(
        "reduce-scatter",
        "MPI_Reduce_scatter_block",
        "MPI_Reduce and MPI_Scatter in turn",
        _no_slower("mpi.reduce_scatter_block", "mpi.reduce", "mpi.scatter", gathered="mpi.reduce"),
    ),
    Guideline(
        "barrier by allreduce",
        "MPI_Barrier",
        "the smallest MPI_Allreduce",
        _no_slower("mpi.barrier", "mpi.allreduce"),
    ),
    Guideline("equal blocks", "a collective of equal blocks", "the one with lengths", _plain_against_lengths),
    Guideline("blocking", "a blocking call", "the non-blocking one and a wait", _calls("blocking", "nonblocking")),
    Guideline(
        "persistent",
        "a persistent call",
        "the non-blocking one and a wait",
        _calls("persistent", "nonblocking"),
    ),
]
