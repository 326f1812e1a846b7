"""The trace window: all calls of all processes on one clock, with sends matched to receives."""

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcscope.grouping import grouped
from hpcscope.programs.profiles.profile import Floats, Integers, Profile, Rows
from hpcscope.programs.profiles.records import Late, LateRank, TraceWindow
from hpcscope.programs.profiles.routines import kind, plain

TRACE = "trace.json"
SEND, RECEIVE = 1, 2
_CLOCKS_S = 1e-5
"""Largest disagreement between two hosts' clocks before a message seems to arrive before it was sent."""

_WITHIN_US = 0.001
"""An arrow ends this much before the end of its call, so that it is drawn inside the call."""
_CALL = np.dtype(
    [(name, "i4") for name in ("rank", "partner", "tag", "direction", "routine", "operation", "depth")]
    + [(name, "u8") for name in ("communicator", "bytes")]
    + [(name, "f8") for name in ("begin_s", "end_s")]
)
"""One call of one process: times in s after the first process left MPI_Init, routines by number in the trace.

`operation` is the routine that made the request completed by this call; 0 if the call did not complete a request.
"""


@dataclass(frozen=True)
class Trace:
    """All calls in the window by rank, and the messages among them."""

    calls: Rows
    """Calls rank by rank in order of time, as an array: a million calls are too many for separate objects."""
    routines: list[str]
    """Routines by number; number 0 is "none"."""
    sends: Integers
    receives: Integers
    """For each message, the index in `calls` of its send (`sends`) and of the call that received it."""
    unmatched: int
    """Sends and receives whose other end is outside the window."""
    spans: dict[int, tuple[float, float]]
    """Start and end of the traced time of each rank."""

    @cached_property
    def late_sender_s(self) -> Floats:
        """Time that the receiver of each message was in its call before the send started."""
        send, receive = self.calls[self.sends], self.calls[self.receives]
        return np.asarray(np.maximum(0.0, np.minimum(send["begin_s"], receive["end_s"]) - receive["begin_s"]))

    @cached_property
    def late_receiver_s(self) -> Floats:
        """Time that the sender of each message was in its blocking call before the receive started."""
        send, receive = self.calls[self.sends], self.calls[self.receives]
        waited_s = np.minimum(receive["begin_s"], send["end_s"]) - send["begin_s"]
        return np.where(_begins(self.routines, "I")[send["routine"]], 0.0, np.maximum(0.0, waited_s))

    def of(self, rank: int) -> Rows:
        """Return the calls of a rank in order of time."""
        return self.calls[slice(*np.searchsorted(self.calls["rank"], [rank, rank + 1]))]


def gather(profiles: Sequence[Profile]) -> Trace:
    """Bring the calls of all processes to one clock and match sends with receives.

    Messages of one sender, receiver, tag and communicator arrive in the order in which they were sent (MPI 3.1,
    sec. 3.5): the first send matches the first receive that does not end before it (sent before the window).
    """
    clockeds = on_one_clock(profiles)
    numbers = {"none": 0}
    calls = np.concatenate([_calls(clocked, numbers) for clocked in clockeds])
    sends, receives, unmatched = _matched(calls, list(numbers))
    found = Trace(calls, list(numbers), sends, receives, unmatched, {})
    found.spans.update({one.profile.rank: _span(one, found.of(one.profile.rank)) for one in clockeds})
    return found


@dataclass(frozen=True)
class Clocked:
    """A profile with the conversion of its ticks to seconds after the first process left MPI_Init."""

    profile: Profile
    tick_s: float
    zero_tick: int
    zero_s: float

    def seconds(self, ticks: NDArray[np.uint64]) -> Floats:
        """Return the times of ticks."""
        return np.asarray(self.zero_s + (ticks.astype(np.int64) - self.zero_tick) * self.tick_s)


def on_one_clock(profiles: Sequence[Profile]) -> list[Clocked]:
    """Return the conversion of ticks to seconds for each profile.

    Processes of one host read the same counter, so they share a clock; different hosts are aligned by their
    calendar time, whose errors cannot be detected here.
    """
    first_ns = min(int(profile.process["first_unix_ns"]) for profile in profiles)
    clockeds = []
    for alike in grouped(profiles, lambda profile: profile.host).values():
        tick_s = float(np.median([profile.tick_s for profile in alike]))
        origin = alike[0].process
        zero_s = (int(origin["first_unix_ns"]) - first_ns) * 1e-9
        clockeds += [Clocked(profile, tick_s, int(origin["first_tick"]), zero_s) for profile in alike]
    return sorted(clockeds, key=lambda clocked: clocked.profile.rank)


def _matched(calls: Rows, routines: Sequence[str]) -> tuple[Integers, Integers, int]:
    """Return the send and the receive of each message, and the number of ends without a partner in the window.

    A message starts when its send is posted, not when the send completes; it ends in a blocking receive, or when
    the receive's request completes.
    """
    starts, done = _begins(routines, "I", "Start")[calls["routine"]], calls["operation"] > 0
    is_send = (calls["direction"] == SEND) & ~done
    is_end = is_send | ((calls["direction"] == RECEIVE) & (done | ~starts))
    places = np.flatnonzero(is_end & (calls["partner"] >= 0))
    places = places[_order(calls[places])]
    ends, sends = calls[places], is_send[places]
    rank, partner = ends["rank"], ends["partner"]
    alike = (ends["communicator"], np.where(sends, rank, partner), np.where(sends, partner, rank), ends["tag"])
    by_key, key = np.lexsort(alike), np.empty(len(places), np.int64)
    key[by_key] = np.cumsum(changes(*(column[by_key] for column in alike)))
    waiting: dict[int, deque[int]] = defaultdict(deque)
    receives: dict[int, list[int]] = defaultdict(list)
    for place, one, is_sent in zip(places.tolist(), key.tolist(), sends.tolist(), strict=True):
        (waiting if is_sent else receives)[one].append(place)
    begins_s, ends_s = calls["begin_s"].tolist(), calls["end_s"].tolist()
    sent: list[int] = []
    received: list[int] = []
    for one, found in receives.items():
        unreceived = waiting[one]
        for receive in found:
            if unreceived and ends_s[receive] >= begins_s[unreceived[0]] - _CLOCKS_S:
                sent.append(unreceived.popleft())
                received.append(receive)
    return np.array(sent, np.int64), np.array(received, np.int64), len(places) - 2 * len(sent)


def changes(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each row whether it differs from the previous row; the first row counts as different."""
    found = np.ones(len(columns[0]), bool)
    found[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return found


def window(profiles: Sequence[Profile]) -> TraceWindow | None:
    """Return the requested trace window and what the trace holds of it; None if no trace was requested."""
    start, _, length = profiles[0].header.trace.partition(":")
    if not float(length or 0):
        return None
    kept_s, full, lost = [], 0, 0
    for profile in profiles:
        missing = int(profile.process["lost_events"])
        lost += missing
        full += missing > 0
        until_s = profile.wall_s
        if missing:
            last = int(profile.tables["events"]["end_tick"].max())
            until_s = (last - int(profile.process["first_tick"])) * profile.tick_s
        kept_s.append(min(max(until_s - float(start), 0.0), float(length)))
    return TraceWindow(start_s=float(start), asked_s=float(length), kept_s=min(kept_s), full=full, lost_calls=lost)


def late(trace: Trace) -> Late | None:
    """Return how long receivers waited for sends that had not started, and blocking senders for receives.

    The patterns "late sender" and "late receiver" of Wolf & Mohr, Automatic performance analysis of hybrid
    MPI/OpenMP applications, J. Systems Architecture 49 (2003) 421-439. None if no message was traced.
    """
    if not len(trace.sends):
        return None
    calls, sender_s, receiver_s = trace.calls, trace.late_sender_s, trace.late_receiver_s

    def by_rank(ends: Integers, waits_s: Floats) -> Floats:
        return np.bincount(calls["rank"][ends], waits_s, int(calls["rank"][-1]) + 1).astype(float)

    senders, receivers = by_rank(trace.sends, sender_s), by_rank(trace.receives, receiver_s)
    waited = by_rank(trace.receives, sender_s) + by_rank(trace.sends, receiver_s)
    return Late(
        window_s=float(calls["end_s"].max() - calls["begin_s"].min()),
        messages=len(trace.sends),
        unmatched=trace.unmatched,
        late_sender_s=float(senders.sum()),
        late_senders=int(np.count_nonzero(sender_s)),
        late_receiver_s=float(receivers.sum()),
        late_receivers=int(np.count_nonzero(receiver_s)),
        ranks=[
            LateRank(
                rank=rank,
                waited_s=float(waited[rank]),
                late_sender_s=float(senders[rank]),
                late_receiver_s=float(receivers[rank]),
            )
            for rank in trace.spans
        ],
    )


def chrome(trace: Trace, hosts: dict[int, str]) -> str:
    """Return the trace in Trace Event Format, for browsers and Perfetto: a process for each rank, times in µs."""
    lines: list[str] = []
    for rank in trace.spans:
        name = f"rank {rank} on {hosts[rank]}" if rank in hosts else f"rank {rank}"
        about = f'{{"ph":"M","pid":{rank},"tid":0,"name":'
        lines.append(f'{about}"process_name","args":{{"name":{json.dumps(name)}}}}}')
        lines.append(f'{about}"process_sort_index","args":{{"sort_index":{rank}}}}}')
        lines += _slices(trace, rank)
    send, receive = trace.calls[trace.sends], trace.calls[trace.receives]
    ends = np.maximum(_us(receive["begin_s"]), _us(receive["end_s"]) - _WITHIN_US)
    begins = np.minimum(_us(send["begin_s"]), ends)
    columns = (column.tolist() for column in (send["rank"], begins, receive["rank"], ends))
    for number, (sender, begin, receiver, end) in enumerate(zip(*columns, strict=True)):
        about = f'{{"name":"message","cat":"message","id":{number},"tid":0,"ph":'
        lines.append(f'{about}"s","pid":{sender},"ts":{begin}}}')
        lines.append(f'{about}"f","bp":"e","pid":{receiver},"ts":{end}}}')
    return f'{{"traceEvents":[{",".join(lines)}],"displayTimeUnit":"ns"}}'


def _slices(trace: Trace, rank: int) -> Iterator[str]:
    """Yield the calls of a rank as JSON; formatting by hand takes a third of a JSON library's time."""
    calls = trace.of(rank)
    calls = calls[calls["operation"] == 0]
    heads = [f'{{"ph":"X","name":{json.dumps(name)},"cat":"{kind(name)}"' for name in trace.routines]
    times = (_us(seconds).tolist() for seconds in (calls["begin_s"], calls["end_s"] - calls["begin_s"]))
    others = (calls[name].tolist() for name in ("routine", "bytes", "partner", "tag"))
    for begin, length, routine, size, partner, tag in zip(*times, *others, strict=True):
        other = f',"partner":{partner},"tag":{tag}' if partner >= 0 else ""
        about = f'"pid":{rank},"tid":0,"ts":{begin},"dur":{length}'
        yield f'{heads[routine]},{about},"args":{{"bytes":{size}{other}}}}}'


def _calls(clocked: Clocked, numbers: dict[str, int]) -> Rows:
    """Return the calls of a process in order of time; add new routines to the trace's `numbers`."""
    profile, table = clocked.profile, clocked.profile.tables["events"]
    calls = np.zeros(len(table), _CALL)
    for name in ("depth", "partner", "tag", "communicator", "bytes", "direction"):
        calls[name] = table[name]
    calls["rank"] = profile.rank
    calls["begin_s"], calls["end_s"] = clocked.seconds(table["begin_tick"]), clocked.seconds(table["end_tick"])
    for name in ("routine", "operation"):
        own, places = np.unique(table[name], return_inverse=True)
        names = [profile.routine(int(number)) for number in own]
        calls[name] = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)[places]
    return calls[_order(calls)]


def _span(clocked: Clocked, calls: Rows) -> tuple[float, float]:
    """Return the part of the window during which a rank ran and had room for its calls."""
    profile = clocked.profile
    start, _, length = profile.header.trace.partition(":")
    begin_s, end_s = clocked.seconds(np.array([profile.process["first_tick"], profile.end_tick])).tolist()
    begin_s += float(start)
    last_s = float(calls["end_s"].max(initial=begin_s))
    if profile.process["lost_events"]:
        return begin_s, last_s
    return begin_s, max(last_s, min(begin_s + float(length or 0), end_s))


def _begins(routines: Sequence[str], *words: str) -> NDArray[np.bool_]:
    """Return for each routine whether its name begins with one of the words."""
    return np.array([plain(name).removeprefix("MPI_").startswith(words) for name in routines])


def _order(calls: Rows) -> Integers:
    return np.lexsort((-calls["end_s"], calls["begin_s"]))


def _us(seconds: Floats) -> Floats:
    return np.round(seconds * 1e6, 3)
