"""The timeline of a trace: every call and message of all ranks, packed for the script that draws them."""

import base64
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcscope import units
from hpcscope.programs.profiles.records import Merged
from hpcscope.programs.profiles.routines import kind
from hpcscope.programs.profiles.trace import Event, Message, Trace
from hpcscope.report.profile.figures import SLOTS, time_kind
from hpcscope.units import count

MOST_CALLS = 1_000_000
"""Of more calls, successive short ones of a rank are drawn as one."""
MOST_MESSAGES = 400_000
"""Of more messages, those with the longest waits are drawn."""
_LATE = 0.01
"""A rank is called late if the others wait for it during this share of all time."""
_LAST = (1 << 31) - 1
"""Times are whole numbers up to this one, from the begin of the window to its end."""

Integers = NDArray[np.uint32]


@dataclass(frozen=True)
class CallTimeline:
    """Every call of each rank over the time of the trace, with an arrow for each message."""

    key: str
    title: str
    late: list[str]
    """Which rank the others wait for."""
    caption: str
    legend: list[tuple[str, int]]
    """The kinds of time with the slots of their colors."""
    data: dict[str, Any]
    """For templates/timeline.js."""


@dataclass(frozen=True)
class _Drawn:
    """The calls of a rank as they are drawn."""

    calls: list[Event]
    begins: Integers
    lengths: Integers
    """Time in MPI of each."""
    merged: Integers
    """How many calls each stands for."""
    place: NDArray[np.int64]
    """Where each call of the trace is drawn."""


def timeline(merged: Merged, trace: Trace) -> CallTimeline:
    """Return the timeline of a trace."""
    begin_s = min(begin for begin, _ in trace.spans.values())
    end_s = max(end for _, end in trace.spans.values())
    unit_s = max(1e-9, (end_s - begin_s) / _LAST)
    outer = {rank: [event for event in events if _is_outer(event)] for rank, events in trace.events.items()}
    calls = sum(map(len, outer.values()))
    width_s = len(outer) * (end_s - begin_s) / MOST_CALLS if calls > MOST_CALLS else 0.0
    drawn = {rank: _drawn(events, begin_s, unit_s, round(width_s / unit_s)) for rank, events in outer.items()}
    late, reasons = late_rank(merged)
    routines = sorted({event.routine for events in outer.values() for event in events})
    number = {routine: at for at, routine in enumerate(routines)}
    each = list(drawn.values())
    shown = [event for one in each for event in one.calls]
    messages = sorted(trace.messages, key=lambda message: -message.late_sender_s)[:MOST_MESSAGES]
    kinds = sorted({time_kind(kind(routine)) for routine in routines}, key=lambda name: SLOTS[name])
    hosts = {process.rank: process.host for process in merged.processes}
    return CallTimeline(
        key="calls-in-time",
        title="Calls of each rank over time",
        late=reasons,
        caption=" ".join(_caption(trace, calls, width_s)),
        legend=[(name, SLOTS[name]) for name in ("computation", *kinds)],
        data={
            "unit_s": unit_s,
            "begin_s": begin_s,
            "end": round((end_s - begin_s) / unit_s),
            "late": late,
            "ranks": [
                [rank, hosts[rank], len(one.calls), *(round((s - begin_s) / unit_s) for s in trace.spans[rank])]
                for rank, one in drawn.items()
            ],
            "routines": [[routine, SLOTS[time_kind(kind(routine))]] for routine in routines],
            "calls": {
                "begin": packed(np.concatenate([np.diff(one.begins, prepend=np.uint32(0)) for one in each])),
                "length": packed(np.concatenate([one.lengths for one in each])),
                "merged": packed(np.concatenate([one.merged for one in each])),
                "routine": packed([number[event.routine] for event in shown]),
                "bytes": packed([min(event.bytes, 0xFFFFFFFF) for event in shown]),
                "partner": packed([event.partner + 1 for event in shown]),
            },
            "messages": _ends(messages, outer, drawn),
        },
    )


def late_rank(merged: Merged) -> tuple[int | None, list[str]]:
    """Return the rank for which the others waited longest, and in words how long and for what.

    None where they waited less than 1 % of the time.
    """
    found: list[tuple[float, int, str]] = []
    if merged.late is not None:
        one = max(merged.late.ranks, key=lambda late: late.late_sender_s + late.late_receiver_s)
        waits = ((one.late_sender_s, "sends"), (one.late_receiver_s, "receives"))
        said = " and ".join(f"{units.quantity(spent, 's')} for its {name}" for spent, name in waits if spent)
        text = f"Messages: in this window the others waited longest for rank {one.rank}, {said}."
        waited_s = one.late_sender_s + one.late_receiver_s
        found.append((waited_s / (len(merged.late.ranks) * merged.late.window_s), one.rank, text))
    if merged.collectives:
        most = max(merged.collectives, key=lambda collective: collective.waiting_least_s)
        text = (
            f"{most.routine}: in the whole run the others waited at least"
            f" {units.quantity(most.waiting_least_s, 's')}, mostly for rank {most.last_rank}."
        )
        found.append((most.waiting_least_s / merged.total_s, most.last_rank, text))
    found = sorted((one for one in found if one[0] > 0), reverse=True)
    late = found[0][1] if found and found[0][0] >= _LATE else None
    return late, [text for _, _, text in found]


def packed(values: Sequence[int] | Integers) -> str:
    """Return whole numbers as text: their first bytes, then their second ones, and so on, compressed."""
    planes = np.asarray(values, "<u4").view(np.uint8).reshape(-1, 4).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()


def _caption(trace: Trace, calls: int, width_s: float) -> Iterator[str]:
    yield "Time between calls is computation, and is measured; which function computes is only ever sampled."
    yield "Arrows lead from the begin of a send to the end of its receive; red: the receiver waited for the send."
    yield f"{count(len(trace.messages), 'message has', 'messages have')} both ends in the window."
    if trace.unmatched:
        ends = count(trace.unmatched, "send or receive has", "sends and receives have")
        yield f"{ends} no arrow: the other end is outside."
    if width_s:
        width = units.quantity(width_s, "s")
        yield f"There are {units.grouped(calls)} calls: successive ones of a rank within {width} are drawn as one."
    if (left_out := len(trace.messages) - MOST_MESSAGES) > 0:
        yield f"The {units.grouped(left_out)} messages with the shortest waits are left out."


def _is_outer(event: Event) -> bool:
    """Say whether an event is a call by the program: not one inside another, nor the completion of a request."""
    return event.depth == 0 and not event.operation


def _drawn(events: list[Event], begin_s: float, unit_s: float, width: int) -> _Drawn:
    """Bring the calls of a rank to whole units; those that begin within one `width` become one."""
    times = np.array([(event.begin_s - begin_s, event.end_s - begin_s) for event in events]).reshape(-1, 2)
    begins, ends = np.rint(np.clip(times, 0, None) / unit_s).astype(np.int64).T
    bins = begins // width if width else np.arange(len(events))
    first = np.flatnonzero(np.diff(bins, prepend=-1))
    of_each = np.diff(first, append=len(events))
    lengths = np.add.reduceat(ends - begins, first) if len(first) else first
    if width:
        events = [
            max(events[at : at + n], key=lambda one: one.end_s - one.begin_s)
            for at, n in zip(first, of_each, strict=True)
        ]
    return _Drawn(
        calls=events,
        begins=begins[first].astype(np.uint32),
        lengths=lengths.astype(np.uint32),
        merged=of_each.astype(np.uint32),
        place=np.repeat(np.arange(len(first)), of_each),
    )


def _ends(messages: Sequence[Message], outer: dict[int, list[Event]], drawn: dict[int, _Drawn]) -> dict[str, str]:
    """Return for each message the numbers of the calls that sent and received it.

    A full table can lack the call in which a request was completed, and so the end of an arrow.
    """
    before = dict(zip(drawn, np.cumsum([0, *(len(one.calls) for one in drawn.values())]), strict=False))
    known = {rank: {(e.begin_s, e.end_s): at for at, e in enumerate(events)} for rank, events in outer.items()}

    def number(end: Event) -> int | None:
        at = known[end.rank].get((end.begin_s, end.end_s))
        return None if at is None else int(before[end.rank] + drawn[end.rank].place[at])

    ends = [(number(message.send), number(message.receive)) for message in messages]
    found = [(send, receive) for send, receive in ends if send is not None and receive is not None]
    return {"send": packed([send for send, _ in found]), "receive": packed([receive for _, receive in found])}
