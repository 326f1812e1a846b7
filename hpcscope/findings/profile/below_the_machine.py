"""A routine is slower than its benchmark on the same machine, or uses an inefficient message size."""

from __future__ import annotations

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.profile.facts import ProfileFacts, placed
from hpcscope.programs.profiles.machine_comparison import RoutineComparison
from hpcscope.programs.profiles.routines import kind, plain

SLOW = 0.6
"""Of the measured rate."""
WORTH = 0.02
"""Share of all time that is avoidable without waiting, or that another message size would save."""
MOST = 5


def find(facts: ProfileFacts) -> list[Finding]:
    """Find collectives and messages that are slower than measured, and inefficient message sizes."""
    if facts.machine_comparison is None:
        return []
    compared = facts.machine_comparison.routines
    slow = [one for one in compared if one.share < SLOW and _beyond_s(one) >= WORTH * facts.total_s]
    inefficient = [one for one in compared if _saved_s(one) >= WORTH * facts.total_s]
    return [
        *(_slow(facts, one) for one in sorted(slow, key=_beyond_s, reverse=True)[:MOST]),
        *(_inefficient(facts, one) for one in sorted(inefficient, key=_saved_s, reverse=True)[:MOST]),
    ]


def _beyond_s(one: RoutineComparison) -> float:
    return one.avoidable_s - (one.waiting_s or 0.0)


def _saved_s(one: RoutineComparison) -> float:
    return one.calls * (one.machine_s - one.better_s) if one.better_s is not None else 0.0


def _slow(facts: ProfileFacts, one: RoutineComparison) -> Finding:
    beyond = "beyond the benchmark's time" if one.pairwise else "avoidable"
    return Finding(
        code="below-the-machine",
        severity="warning",
        title=(
            f"{_named(one)} reaches {units.share(one.share)} of its measured rate:"
            f" {units.quantity(one.avoidable_s, 's')} of {units.quantity(one.time_s, 's')} are {beyond}"
            + _waiting(one)
        ),
        where=_where(facts, one),
        evidence=[
            Evidence(what="time of a call in the program", value=one.mean_s, unit="s"),
            Evidence(what=f"{one.benchmark} on {one.ranks} processes", value=one.machine_s, unit="s"),
            Evidence(what="calls, all processes", value=one.calls),
            Evidence(what="beyond the benchmark's time, all processes", value=one.avoidable_s, unit="s"),
            *([Evidence(what="waiting, at least", value=one.waiting_s, unit="s")] if one.waiting_s else []),
            *(
                [Evidence(what="waiting, at most", value=one.waiting_most_s, unit="s")]
                if one.waiting_most_s
                else []
            ),
        ],
        advice=_advice(one),
        lost=_beyond_s(one) / facts.total_s,
    )


def _advice(one: RoutineComparison) -> str:
    if _is_of_files(one):
        return (
            "Other programs use the file system, processes write to the same blocks, or the data are on disk,"
            " whereas those of the benchmark were in memory: measure `storage.*` with --storage in their folder."
        )
    if one.pairwise:
        return (
            "Messages wait for the other side, or share the path with others: check the order of sends and"
            " receives, post receives early, and record a trace (`scope monitor --trace`)."
        )
    return (
        "Processes arrive at different times, buffers are cold, or other traffic shares the network: "
        "check the balance before the call, and record a trace (`scope monitor --trace`)."
    )


def _is_of_files(one: RoutineComparison) -> bool:
    return kind(one.call) == "file"


def _waiting(one: RoutineComparison) -> str:
    """Return how much of it is waiting, as far as that is known."""
    if one.waiting_s is None or one.waiting_most_s is None:
        return ""
    low, high = (units.quantity(value, "s") for value in (one.waiting_s, one.waiting_most_s))
    return f", {low if low == high else f'{low} to {high}'} of them waiting"


def _inefficient(facts: ProfileFacts, one: RoutineComparison) -> Finding:
    saved_s = _saved_s(one)
    shorter = (one.better_bytes or 0) < one.message_bytes
    pieces = "pieces" if shorter else "calls" if _is_of_files(one) else "messages"
    return Finding(
        code="inefficient-message-size",
        severity="advice",
        title=(
            f"{_named(one)}: faster on this machine in"
            f" {pieces} of {units.size(one.better_bytes or 0)}:"
            f" {units.quantity(one.better_s, 's')} instead of {units.quantity(one.machine_s, 's')}"
        ),
        where=_where(facts, one) | {"better_bytes": one.better_bytes or 0},
        evidence=[
            Evidence(what=f"{one.benchmark} at this size", value=one.machine_s, unit="s"),
            Evidence(
                what=f"the same bytes in {pieces} of {one.better_bytes} B", value=one.better_s or 0.0, unit="s"
            ),
            Evidence(what="saved, all processes", value=saved_s, unit="s"),
        ],
        advice=(
            "Collect small accesses into long ones, or let collective calls do so."
            if _is_of_files(one)
            else "The library changes its algorithm or protocol in between: "
            + ("split the call" if shorter else "use longer messages")
            + ", or move the switch point (the models of the measured run name its setting)."
        ),
        lost=saved_s / facts.total_s,
    )


def _named(one: RoutineComparison) -> str:
    size = "" if one.message_bytes == 0 else f" of {units.quantity(one.message_bytes, 'B')}"
    return f"{one.routine}{size} on {one.communicator_size} processes"


def _where(facts: ProfileFacts, one: RoutineComparison) -> dict[str, str | int | float]:
    calls = [
        each
        for each in facts.merged.calls
        if (plain(each.routine), each.communicator_size) == (one.call, one.communicator_size)
    ]
    where: dict[str, str | int | float] = {
        "routine": one.routine,
        "message_bytes": round(one.message_bytes),
        "communicator_size": one.communicator_size,
        "layer": "files" if _is_of_files(one) else "messages" if one.pairwise else "collectives",
    }
    return placed(where, facts.site(calls))
