"""A routine is slower than its benchmark on the same machine, or uses an inefficient message size."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.profile import ProfileFacts, placed
from hpcscope.programs.profiles.machine_comparison import RoutineComparison
from hpcscope.programs.profiles.routines import kind, plain

SLOW = 0.6
"""Fraction of the measured rate below which a routine is slow."""
WORTH = 0.02
"""Least fraction of all time that is avoidable, without waiting, or that another message size would save."""
MOST = 5


def find(facts: ProfileFacts) -> list[Finding]:
    """Find routines that are slower than their benchmark, and inefficient message sizes."""
    if facts.machine_comparison is None:
        return []
    compared = facts.machine_comparison.routines
    slow = [
        routine for routine in compared if routine.share < SLOW and _beyond_s(routine) >= WORTH * facts.total_s
    ]
    inefficient = [routine for routine in compared if _saved_s(routine) >= WORTH * facts.total_s]
    return [
        *(_slow(facts, routine) for routine in sorted(slow, key=_beyond_s, reverse=True)[:MOST]),
        *(_inefficient(facts, routine) for routine in sorted(inefficient, key=_saved_s, reverse=True)[:MOST]),
    ]


def _beyond_s(routine: RoutineComparison) -> float:
    return routine.avoidable_s - (routine.waiting_s or 0.0)


def _saved_s(routine: RoutineComparison) -> float:
    return routine.calls * (routine.machine_s - routine.better_s) if routine.better_s is not None else 0.0


def _slow(facts: ProfileFacts, routine: RoutineComparison) -> Finding:
    beyond = "in excess of the benchmark's time" if routine.pairwise else "avoidable"
    bounds = {"at least": routine.waiting_s, "at most": routine.waiting_most_s}
    return Finding(
        code="below-the-machine",
        severity="warning",
        title=(
            f"{_named(routine)} reaches {units.share(routine.share)} of the rate that the benchmark measured;"
            f" {units.quantity(routine.avoidable_s, 's')} of its {units.quantity(routine.time_s, 's')} are "
            + beyond
            + _waiting(routine)
        ),
        where=_where(facts, routine),
        evidence=[
            Evidence(what="mean time of a call in the program", value=routine.mean_s, unit="s"),
            Evidence(what=f"{routine.benchmark} on {routine.ranks} ranks", value=routine.machine_s, unit="s"),
            Evidence(what="calls, all ranks", value=routine.calls),
            Evidence(what="excess over the benchmark's time, all ranks", value=routine.avoidable_s, unit="s"),
            *(Evidence(what=f"waiting, {end}", value=bound, unit="s") for end, bound in bounds.items() if bound),
        ],
        advice=_advice(routine),
        lost=_beyond_s(routine) / facts.total_s,
    )


def _advice(routine: RoutineComparison) -> str:
    if _is_of_files(routine):
        return (
            "Other programs may use the file system, ranks may write to the same blocks, or the benchmark may "
            "have read its data from memory. Measure `storage.*` with --storage in the directory of these files."
        )
    if routine.pairwise:
        return (
            "Messages may wait for the other rank, or share their path with others. Check the order of sends and"
            " receives, post receives early, and record a trace (`scope monitor --trace`)."
        )
    return (
        "Ranks may arrive late, buffers may be cold, or other traffic may share the network. Check the "
        "load balance before the call, and record a trace (`scope monitor --trace`)."
    )


def _is_of_files(routine: RoutineComparison) -> bool:
    return kind(routine.call) == "file"


def _waiting(routine: RoutineComparison) -> str:
    """Return how much of the avoidable time is waiting, in words; empty if it is not known."""
    if routine.waiting_s is None or routine.waiting_most_s is None:
        return ""
    low, high = (units.quantity(value, "s") for value in (routine.waiting_s, routine.waiting_most_s))
    return f", {low if low == high else f'{low} to {high}'} of them waiting"


def _inefficient(facts: ProfileFacts, routine: RoutineComparison) -> Finding:
    saved_s = _saved_s(routine)
    shorter = (routine.better_bytes or 0) < routine.message_bytes
    pieces = "pieces" if shorter else "calls" if _is_of_files(routine) else "messages"
    return Finding(
        code="inefficient-message-size",
        severity="advice",
        title=(
            f"{_named(routine)} takes {units.quantity(routine.machine_s, 's')} on this machine; the same bytes in "
            f"{pieces} of {units.size(routine.better_bytes or 0)} take {units.quantity(routine.better_s, 's')}"
        ),
        where=_where(facts, routine) | {"better_bytes": routine.better_bytes or 0},
        evidence=[
            Evidence(what=f"{routine.benchmark} at this size", value=routine.machine_s, unit="s"),
            Evidence(
                what=f"the same bytes in {pieces} of {routine.better_bytes} B",
                value=routine.better_s or 0.0,
                unit="s",
            ),
            Evidence(what="time saved, all ranks", value=saved_s, unit="s"),
        ],
        advice=(
            "Collect small accesses into long ones, or let collective calls do so."
            if _is_of_files(routine)
            else "The library changes its algorithm or protocol between these sizes: "
            + ("split the call" if shorter else "use longer messages")
            + ", or change the limit that lies between these sizes. The --against run's models show this limit."
        ),
        lost=saved_s / facts.total_s,
    )


def _named(comparison: RoutineComparison) -> str:
    size = "" if comparison.message_bytes == 0 else f" of {units.quantity(comparison.message_bytes, 'B')}"
    routine = comparison.routine[:1].upper() + comparison.routine[1:]
    return f"{routine}{size} on {comparison.communicator_size} ranks"


def _where(facts: ProfileFacts, comparison: RoutineComparison) -> dict[str, str | int | float]:
    calls = [
        call
        for call in facts.merged.calls
        if (plain(call.routine), call.communicator_size) == (comparison.call, comparison.communicator_size)
    ]
    where: dict[str, str | int | float] = {
        "routine": comparison.routine,
        "message_bytes": round(comparison.message_bytes),
        "communicator_size": comparison.communicator_size,
        "layer": "files" if _is_of_files(comparison) else "messages" if comparison.pairwise else "collectives",
    }
    return placed(where, facts.site(calls))
