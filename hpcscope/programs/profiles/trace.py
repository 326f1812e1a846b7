"""The trace window: every call of all processes on one clock, and which send belongs to which receive."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcscope.programs.profiles.profile import Profile
from hpcscope.programs.profiles.records import Late, LateRank, TraceWindow
from hpcscope.programs.profiles.routines import kind, plain

TRACE = "trace.json"
SEND, RECEIVE = 1, 2
_CLOCKS_S = 1e-5
"""Clocks of two hosts may disagree by so much before a message seems to arrive before it is sent."""

_WITHIN_US = 0.001
"""An arrow ends so much before its call, to belong to it."""


@dataclass(frozen=True)
class Event:
    """One call of one process; seconds after the first process left MPI_Init."""

    rank: int
    routine: str
    begin_s: float
    end_s: float
    depth: int
    partner: int
    tag: int
    communicator: int
    bytes: int
    direction: int
    operation: str
    """The routine that made the request which this call completed; empty of a call that completed none."""


@dataclass(frozen=True)
class Message:
    """A send and the call that received it."""

    send: Event
    receive: Event

    @property
    def late_sender_s(self) -> float:
        """How long the receiver was in its call before the send began."""
        end = min(self.send.begin_s, self.receive.end_s)
        return max(0.0, end - self.receive.begin_s)

    @property
    def late_receiver_s(self) -> float:
        """How long the sender was in its blocking call before the receive began."""
        if plain(self.send.routine).removeprefix("MPI_").startswith("I"):
            return 0.0
        return max(0.0, min(self.receive.begin_s, self.send.end_s) - self.send.begin_s)


@dataclass(frozen=True)
class Trace:
    """All events of the window by rank, and the messages among them."""

    events: dict[int, list[Event]]
    messages: list[Message]
    unmatched: int
    """Receives and sends whose other end lies outside the window."""
    spans: dict[int, tuple[float, float]]
    """From when to when each rank was traced."""


def gather(profiles: Sequence[Profile]) -> Trace:
    """Bring the events of all processes to one clock and match sends with receives.

    Messages of one sender, receiver, tag and communicator arrive in the order in which they were sent (MPI 3.1,
    sec. 3.5): the first send belongs to the first receive. A receive that ends before that was sent earlier.
    """
    clockeds = on_one_clock(profiles)
    events = {clocked.rank: sorted(_events(clocked), key=_order) for clocked in clockeds}
    messages, unmatched = matched([event for found in events.values() for event in found])
    spans = {clocked.rank: _span(clocked, events[clocked.rank]) for clocked in clockeds}
    return Trace(events, messages, unmatched, spans)


@dataclass(frozen=True)
class Clocked:
    """A profile and how its ticks become seconds after the first process left MPI_Init."""

    profile: Profile
    tick_s: float
    zero_tick: int
    zero_s: float

    @property
    def rank(self) -> int:
        """Return the rank of the profile."""
        return self.profile.rank

    def second(self, tick: int) -> float:
        """Return when a tick was."""
        return self.zero_s + (tick - self.zero_tick) * self.tick_s


def on_one_clock(profiles: Sequence[Profile]) -> list[Clocked]:
    """Return how ticks become seconds.

    Processes of one host read the same counter, and need no other clock between them; hosts are held together by
    their calendars, whose disagreement nothing here can tell.
    """
    first_ns = min(int(profile.process["first_unix_ns"]) for profile in profiles)
    hosts: dict[str, list[Profile]] = defaultdict(list)
    for one in profiles:
        hosts[one.host].append(one)
    clockeds = []
    for alike in hosts.values():
        tick_s = float(np.median([profile.tick_s for profile in alike]))
        origin = alike[0].process
        zero_s = (int(origin["first_unix_ns"]) - first_ns) * 1e-9
        clockeds += [Clocked(profile, tick_s, int(origin["first_tick"]), zero_s) for profile in alike]
    return sorted(clockeds, key=lambda clocked: clocked.rank)


def matched(events: Sequence[Event]) -> tuple[list[Message], int]:
    """Return the messages, and how many ends of messages have none in the window."""
    sends: dict[tuple[int, ...], deque[Event]] = defaultdict(deque)
    receives: dict[tuple[int, ...], list[Event]] = defaultdict(list)
    for event in sorted(events, key=_order):
        if _sends(event):
            sends[event.communicator, event.rank, event.partner, event.tag].append(event)
        elif _receives(event):
            receives[event.communicator, event.partner, event.rank, event.tag].append(event)
    messages: list[Message] = []
    unmatched = 0
    for key, found in receives.items():
        waiting = sends.get(key, deque())
        for receive in found:
            if waiting and receive.end_s >= waiting[0].begin_s - _CLOCKS_S:
                messages.append(Message(waiting.popleft(), receive))
            else:
                unmatched += 1
    return messages, unmatched + sum(len(left) for left in sends.values())


def window(profiles: Sequence[Profile]) -> TraceWindow | None:
    """Return what the trace was asked to hold and what it holds; None where none was asked for."""
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
            last = max(int(row["end_tick"]) for row in profile.tables["events"])
            until_s = (last - int(profile.process["first_tick"])) * profile.tick_s
        kept_s.append(min(max(until_s - float(start), 0.0), float(length)))
    return TraceWindow(start_s=float(start), asked_s=float(length), kept_s=min(kept_s), full=full, lost_calls=lost)


def late(trace: Trace) -> Late | None:
    """Return how long receivers waited for sends that had not begun, and blocking senders for receives.

    The patterns "late sender" and "late receiver" of Wolf & Mohr, Automatic performance analysis of hybrid
    MPI/OpenMP applications, J. Systems Architecture 49 (2003) 421-439. None where no message was traced.
    """
    if not trace.messages:
        return None
    senders: dict[int, float] = defaultdict(float)
    receivers: dict[int, float] = defaultdict(float)
    waited: dict[int, float] = defaultdict(float)
    for message in trace.messages:
        senders[message.send.rank] += message.late_sender_s
        receivers[message.receive.rank] += message.late_receiver_s
        waited[message.receive.rank] += message.late_sender_s
        waited[message.send.rank] += message.late_receiver_s
    everything = [event for found in trace.events.values() for event in found]
    span_s = max(event.end_s for event in everything) - min(event.begin_s for event in everything)
    return Late(
        window_s=span_s,
        messages=len(trace.messages),
        unmatched=trace.unmatched,
        late_sender_s=sum(senders.values()),
        late_senders=sum(message.late_sender_s > 0 for message in trace.messages),
        late_receiver_s=sum(receivers.values()),
        late_receivers=sum(message.late_receiver_s > 0 for message in trace.messages),
        ranks=[
            LateRank(
                rank=rank, waited_s=waited[rank], late_sender_s=senders[rank], late_receiver_s=receivers[rank]
            )
            for rank in sorted(trace.events)
        ],
    )


def chrome(trace: Trace, hosts: dict[int, str]) -> dict[str, Any]:
    """Return the trace as browsers and Perfetto read it (Trace Event Format): a process for each rank, us."""
    lines: list[dict[str, Any]] = []
    for rank, events in trace.events.items():
        about = {"ph": "M", "pid": rank, "tid": 0}
        name = f"rank {rank} on {hosts[rank]}" if rank in hosts else f"rank {rank}"
        lines.append({**about, "name": "process_name", "args": {"name": name}})
        lines.append({**about, "name": "process_sort_index", "args": {"sort_index": rank}})
        lines += [_slice(event) for event in events if not event.operation]
    for number, message in enumerate(trace.messages):
        send, receive = message.send, message.receive
        end_us = max(_us(receive.begin_s), _us(receive.end_s) - _WITHIN_US)
        common = {"name": "message", "cat": "message", "id": number, "tid": 0}
        lines.append({**common, "ph": "s", "pid": send.rank, "ts": min(_us(send.begin_s), end_us)})
        lines.append({**common, "ph": "f", "bp": "e", "pid": receive.rank, "ts": end_us})
    return {"traceEvents": lines, "displayTimeUnit": "ns"}


def _events(clocked: Clocked) -> Iterator[Event]:
    profile, table = clocked.profile, clocked.profile.tables["events"]
    for values in table.tolist():  # rows of numpy take ten times as long
        row = dict(zip(table.dtype.names or (), values, strict=True))
        operation = row["operation"]
        yield Event(
            rank=profile.rank,
            routine=profile.routine(row["routine"]),
            begin_s=clocked.second(row["begin_tick"]),
            end_s=clocked.second(row["end_tick"]),
            depth=row["depth"],
            partner=row["partner"],
            tag=row["tag"],
            communicator=row["communicator"],
            bytes=row["bytes"],
            direction=row["direction"],
            operation=profile.routine(operation) if operation else "",
        )


def _span(clocked: Clocked, events: Sequence[Event]) -> tuple[float, float]:
    """Return the part of the window in which a rank ran and had room for its calls."""
    profile = clocked.profile
    start, _, length = profile.header.trace.partition(":")
    begin_s = clocked.second(int(profile.process["first_tick"])) + float(start)
    last_s = max((event.end_s for event in events), default=begin_s)
    if profile.process["lost_events"]:
        return begin_s, last_s
    return begin_s, max(last_s, min(begin_s + float(length or 0), clocked.second(profile.end_tick)))


def _sends(event: Event) -> bool:
    """Say whether a message begins here: where its send is posted, not where that is complete."""
    return event.direction == SEND and not event.operation and event.partner >= 0


def _receives(event: Event) -> bool:
    """Say whether a message ends here: in a blocking call, or where its request is completed."""
    blocking = not plain(event.routine).removeprefix("MPI_").startswith(("I", "Start"))
    return event.direction == RECEIVE and event.partner >= 0 and (bool(event.operation) or blocking)


def _slice(event: Event) -> dict[str, Any]:
    about: dict[str, Any] = {"bytes": event.bytes}
    if event.partner >= 0:
        about |= {"partner": event.partner, "tag": event.tag}
    return {
        "ph": "X",
        "name": event.routine,
        "cat": kind(event.routine),
        "pid": event.rank,
        "tid": 0,
        "ts": _us(event.begin_s),
        "dur": _us(event.end_s - event.begin_s),
        "args": about,
    }


def _order(event: Event) -> tuple[float, float]:
    return event.begin_s, -event.end_s


def _us(seconds: float) -> float:
    return round(seconds * 1e6, 3)
