"""The timeline of a trace: all calls and messages of all ranks, packed for the script that draws them."""

import base64
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcscope import units
from hpcscope.programs.profiles.profile import Integers, Rows
from hpcscope.programs.profiles.records import Merged
from hpcscope.programs.profiles.routines import kind
from hpcscope.programs.profiles.trace import Trace, changes
from hpcscope.report.profile.figures import SLOTS, time_kind

MOST_CALLS = 1_000_000
"""If there are more calls, successive short calls of a rank are drawn as one."""
MOST_MESSAGES = 400_000
"""If there are more messages, only the messages with the longest waits are drawn."""
_LATE = 0.01
"""A rank is called late if the others wait for it during at least this fraction of all time."""
_LAST = (1 << 31) - 1
"""Times are integers from 0, the start of the window, to this number, its end."""


@dataclass(frozen=True)
class CallTimeline:
    """Every call of each rank over the time of the trace, with an arrow for each message."""

    key: str
    title: str
    late: list[str]
    """Sentences that say which rank the others wait for."""
    caption: str
    legend: list[tuple[str, int]]
    """The kinds of time with their color slots."""
    data: dict[str, Any]
    """Data for `templates/timeline.js`."""


@dataclass(frozen=True)
class _Drawn:
    """The calls of all ranks as they are drawn."""

    calls: Rows
    begins: Integers
    lengths: Integers
    """Time in MPI of each drawn call."""
    merged: Integers
    """Number of calls that each drawn call represents."""
    place: Integers
    """For each call of the trace, the index of the drawn call that represents it."""


def timeline(merged: Merged, trace: Trace) -> CallTimeline:
    """Return the timeline of a trace."""
    begin_s = min(begin for begin, _ in trace.spans.values())
    end_s = max(end for _, end in trace.spans.values())
    unit_s = max(1e-9, (end_s - begin_s) / _LAST)
    # Calls made by the program: neither calls inside other calls nor completions of requests.
    is_outer = (trace.calls["depth"] == 0) & (trace.calls["operation"] == 0)
    calls = trace.calls[is_outer]
    width_s = len(trace.spans) * (end_s - begin_s) / MOST_CALLS if len(calls) > MOST_CALLS else 0.0
    drawn = _drawn(calls, begin_s, unit_s, round(width_s / unit_s))
    late, reasons = late_rank(merged)
    routines = sorted({trace.routines[number] for number in np.unique(calls["routine"])})
    number = np.array([routines.index(name) if name in routines else 0 for name in trace.routines])
    kinds = sorted({time_kind(kind(routine)) for routine in routines}, key=lambda name: SLOTS[name])
    hosts = {process.rank: process.host for process in merged.processes}
    first = np.searchsorted(drawn.calls["rank"], list(trace.spans))
    since = np.diff(drawn.begins, prepend=0)
    since[first[first < len(since)]] = drawn.begins[first[first < len(since)]]
    return CallTimeline(
        key="calls-in-time",
        title="Calls of each rank over time",
        late=reasons,
        caption=" ".join(_caption(trace, len(calls), width_s)),
        legend=[(name, SLOTS[name]) for name in ("computation", *kinds)],
        data={
            "unit_s": unit_s,
            "begin_s": begin_s,
            "end": round((end_s - begin_s) / unit_s),
            "late": late,
            "ranks": [
                [rank, hosts[rank], int(own), *(round((s - begin_s) / unit_s) for s in trace.spans[rank])]
                for rank, own in zip(trace.spans, np.diff(first, append=len(since)), strict=True)
            ],
            "routines": [[routine, SLOTS[time_kind(kind(routine))]] for routine in routines],
            "calls": {
                "begin": packed(since),
                "length": packed(drawn.lengths),
                "merged": packed(drawn.merged),
                "routine": packed(number[drawn.calls["routine"]]),
                "bytes": packed(np.minimum(drawn.calls["bytes"], 0xFFFFFFFF)),
                "partner": packed(np.maximum(drawn.calls["partner"], -1) + 1),
            },
            "messages": _ends(trace, is_outer, drawn),
        },
    )


def late_rank(merged: Merged) -> tuple[int | None, list[str]]:
    """Return the rank for which the others waited longest, and sentences on how long and for what.

    The rank is None if the others waited less than 1 % of the time.
    """
    found: list[tuple[float, int, str]] = []
    if merged.late is not None:
        one = max(merged.late.ranks, key=lambda late: late.late_sender_s + late.late_receiver_s)
        waits = ((one.late_sender_s, "sends"), (one.late_receiver_s, "receives"))
        said = " and ".join(f"{units.quantity(spent, 's')} for its {name}" for spent, name in waits if spent)
        text = f"Messages: in this window the other ranks waited longest for rank {one.rank}, {said}."
        waited_s = one.late_sender_s + one.late_receiver_s
        found.append((waited_s / (len(merged.late.ranks) * merged.late.window_s), one.rank, text))
    if merged.collectives:
        most = max(merged.collectives, key=lambda collective: collective.waiting_least_s)
        least = f"at least {units.quantity(most.waiting_least_s, 's')}, mostly for rank {most.last_rank}"
        text = f"{most.routine}: in the whole run the other ranks waited {least}."
        found.append((most.waiting_least_s / merged.total_s, most.last_rank, text))
    found = sorted((row for row in found if row[0] > 0), reverse=True)
    late = found[0][1] if found and found[0][0] >= _LATE else None
    return late, [text for _, _, text in found]


def packed(values: NDArray[Any]) -> str:
    """Return integers as compressed text: first the lowest bytes of all numbers, then their second bytes, etc."""
    planes = values.astype("<u4").view(np.uint8).reshape(-1, 4).T
    return base64.b64encode(zlib.compress(planes.tobytes())).decode()


def _caption(trace: Trace, calls: int, width_s: float) -> Iterator[str]:
    yield "The time between calls is computation. The time is measured; the name of the function is sampled."
    yield "Arrows lead from the start of a send to the end of its receive; red: the receiver waited for the send."
    yield f"{units.count(len(trace.sends), 'message has', 'messages have')} both ends in the window."
    if trace.unmatched:
        ends = units.count(trace.unmatched, "send or receive has", "sends and receives have")
        yield f"{ends} no arrow: the other end is outside the window."
    if width_s:
        width = units.quantity(width_s, "s")
        yield f"There are {units.grouped(calls)} calls: calls of a rank within {width} are drawn as one."
    if (left_out := len(trace.sends) - MOST_MESSAGES) > 0:
        yield f"The {units.grouped(left_out)} messages with the shortest waits are left out."


def _drawn(calls: Rows, begin_s: float, unit_s: float, width: int) -> _Drawn:
    """Convert times to integer units; calls of a rank within one `width` are merged into the longest of them."""
    times = (np.clip(calls[name] - begin_s, 0, None) / unit_s for name in ("begin_s", "end_s"))
    begins, ends = (np.rint(seconds).astype(np.int64) for seconds in times)
    bins = begins // width if width else np.arange(len(calls))
    is_first = changes(bins, calls["rank"])
    first, place = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    longest_first = np.lexsort((calls["begin_s"] - calls["end_s"], place))
    return _Drawn(
        calls=calls[longest_first[first]],
        begins=begins[first],
        lengths=np.add.reduceat(ends - begins, first) if len(first) else first,
        merged=np.diff(first, append=len(calls)),
        place=place,
    )


def _ends(trace: Trace, is_outer: NDArray[np.bool_], drawn: _Drawn) -> dict[str, str]:
    """Return the indices of the calls that sent and received each message, longest waits first.

    A message may end in a nested call or in the completion of its request, which have the same times as the outer
    call. If the table was full, that call can be missing; the message is then left out.
    """
    calls = trace.calls
    time = np.cumsum(changes(calls["rank"], calls["begin_s"], calls["end_s"])) - 1
    call = np.full(len(calls), -1)
    call[time[is_outer]] = drawn.place
    messages = np.argsort(-trace.late_sender_s, kind="stable")[:MOST_MESSAGES]
    send, receive = call[time[trace.sends[messages]]], call[time[trace.receives[messages]]]
    known = (send >= 0) & (receive >= 0)
    return {"send": packed(send[known]), "receive": packed(receive[known])}
