"""A routine is slower than the machine has shown, or meets the machine at a bad size."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.profile.facts import Facts, placed
from scope.profiles.against import MESSAGES, Held
from scope.profiles.routines import plain

SLOW = 0.6
"""Of the machine's rate."""
WORTH = 0.02
"""Of all time that is avoidable, waiting left out, or that another size would save."""
MOST = 5


def find(facts: Facts) -> list[Finding]:
    """Find collectives and messages that did not reach what the machine showed, and sizes that it does badly."""
    if facts.against is None:
        return []
    held = facts.against.held
    slow = [one for one in held if one.share < SLOW and _beyond_s(one) >= WORTH * facts.total_s]
    bad = [one for one in held if _saved_s(one) >= WORTH * facts.total_s]
    return [
        *(_slow(facts, one) for one in sorted(slow, key=_beyond_s, reverse=True)[:MOST]),
        *(_bad_size(facts, one) for one in sorted(bad, key=_saved_s, reverse=True)[:MOST]),
    ]


def _beyond_s(one: Held) -> float:
    return one.avoidable_s - (one.waiting_s or 0.0)


def _saved_s(one: Held) -> float:
    return one.calls * (one.machine_s - one.better_s) if one.better_s is not None else 0.0


def _slow(facts: Facts, one: Held) -> Finding:
    beyond = "are beyond that" if one.benchmark in MESSAGES else "are avoidable"
    return Finding(
        code="below-the-machine",
        severity="warning",
        title=(
            f"{_named(one)} ran at {units.share(one.share)} of its measured rate:"
            f" {units.quantity(one.avoidable_s, 's')} of {units.quantity(one.time_s, 's')} {beyond}"
            + _waiting(one)
        ),
        where=_where(facts, one),
        evidence=[
            Evidence(what="a call in the program", value=one.mean_s, unit="s"),
            Evidence(what=f"{one.benchmark} on {one.ranks} processes", value=one.machine_s, unit="s"),
            Evidence(what="calls, all processes", value=one.calls),
            *([Evidence(what="surely waiting", value=one.waiting_s, unit="s")] if one.waiting_s else []),
        ],
        advice=(
            "Messages wait for the other side, or share the way with others: look at the order of sends and"
            " receives, post receives early, and trace a moment of it (`scope monitor --trace`)."
            if one.benchmark in MESSAGES
            else "Processes come at different times, buffers are cold, or other traffic shares the network: look"
            " at the balance before the call, and trace a moment of it (`scope monitor --trace`)."
        ),
        lost=_beyond_s(one) / facts.total_s,
    )


def _waiting(one: Held) -> str:
    """Say how much of it is waiting, as far as that is known."""
    if one.waiting_s is None or one.waiting_most_s is None:
        return ""
    low, high = (units.quantity(value, "s") for value in (one.waiting_s, one.waiting_most_s))
    return f", {low if low == high else f'{low} to {high}'} of it by waiting less"


def _bad_size(facts: Facts, one: Held) -> Finding:
    saved_s = _saved_s(one)
    shorter = (one.better_bytes or 0) < one.message_bytes
    return Finding(
        code="bad-size",
        severity="advice",
        title=(
            f"{_named(one)}: this machine is quicker with"
            f" {'pieces' if shorter else 'messages'} of {units.size(one.better_bytes or 0)}:"
            f" {units.quantity(one.better_s, 's')} instead of {units.quantity(one.machine_s, 's')}"
        ),
        where=_where(facts, one),
        evidence=[
            Evidence(what=f"{one.benchmark} at this size", value=one.machine_s, unit="s"),
            Evidence(what=f"the same bytes at {one.better_bytes} B", value=one.better_s or 0.0, unit="s"),
            Evidence(what="saved, all processes", value=saved_s, unit="s"),
        ],
        advice=(
            "The library changes its algorithm or protocol there: "
            + ("divide the call into several" if shorter else "make the buffer longer")
            + ", or move the limit at which it changes (`scope show` and the models of the measured run name it)."
        ),
        lost=saved_s / facts.total_s,
    )


def _named(one: Held) -> str:
    size = "" if one.message_bytes == 0 else f" of {units.quantity(one.message_bytes, 'B')}"
    return f"{one.routine}{size} on {one.communicator_size} processes"


def _where(facts: Facts, one: Held) -> dict[str, str | int | float]:
    calls = [
        each
        for each in facts.merged.calls
        if (plain(each.routine), each.communicator_size)
        == (one.routine.removeprefix("waits for "), one.communicator_size)
    ]
    where: dict[str, str | int | float] = {
        "routine": one.routine,
        "message_bytes": round(one.message_bytes),
        "communicator_size": one.communicator_size,
        "layer": "messages" if one.benchmark in MESSAGES else "collectives",
    }
    return placed(where, facts.site(calls))
