"""The limits of messages of every size on the paths that were measured: lines for the curves of `network.*`."""

from __future__ import annotations

from collections.abc import Iterator

from scope import units
from scope.machine.machine import Link, Machine
from scope.models.fit import Limit, LimitPoint
from scope.models.ladder.limits import MEASURED, Frame, message_time_s
from scope.models.ladder.memory_copy import copied_bytes, fastest_copy
from scope.models.ladder.paths import Path, paths
from scope.samples.records import LaunchRecord
from scope.statistics.summary import Summary

LOCAL = ["shm", "cma", "unix"]
LARGEST_RATIO = 16
"""A copy of a much larger array says little of a short message."""


def limits(summaries: list[Summary], machine: Machine, launches: list[LaunchRecord]) -> list[Limit]:
    """Return the frames' line for each protocol on a link of known rate, and one copy for local transports."""
    found: list[Limit] = []
    for path in paths(machine, launches):
        if path.transport == "default":
            found += _memory(path, summaries) if path.memory else _wire(path, summaries)
    return found


def _wire(path: Path, summaries: list[Summary]) -> Iterator[Limit]:
    link = path.link
    if link is None or link.kind != "ethernet" or link.rate_bits_per_s is None:
        return
    for protocol, headers in MEASURED.items():
        sizes = _sizes(summaries, [protocol])
        name = f"{headers.name}, frames of {link.mtu_bytes} B at {units.quantity(link.rate_bits_per_s, 'bit/s')}"
        yield from _lines(
            f"{name} over {link.name}", [protocol], path, {n: _frame_time_s(link, n, protocol) for n in sizes}
        )


def _frame_time_s(link: Link, message_bytes: int, protocol: str) -> float:
    frame = Frame(mtu_bytes=link.mtu_bytes)
    return message_time_s(link.rate_bits_per_s or 0.0, message_bytes, MEASURED[protocol], frame)


def _memory(path: Path, summaries: list[Summary]) -> Iterator[Limit]:
    """Yield one copy by one core, at the sizes for which an array not much larger was copied."""
    times = {}
    for n in _sizes(summaries, LOCAL):
        copy = fastest_copy(summaries, n)
        if copy is not None and copy.median and n <= (size := copied_bytes(copy)) <= LARGEST_RATIO * n:
            times[n] = copy.median * n / size
    yield from _lines("one copy by one core", LOCAL, path, times)


def _lines(name: str, protocols: list[str], path: Path, times_s: dict[int, float]) -> Iterator[Limit]:
    if not times_s:
        return
    placements = sorted(path.placements)
    latency = [LimitPoint(message_bytes=n, value=t) for n, t in sorted(times_s.items())]
    rate = [LimitPoint(message_bytes=n, value=n / t) for n, t in sorted(times_s.items())]
    given = {"name": name, "protocols": protocols, "placements": placements}
    yield Limit.model_validate({**given, "metric": "latency_s", "unit": "s", "points": latency})
    yield Limit.model_validate({**given, "metric": "bandwidth_bytes_per_s", "unit": "B/s", "points": rate})


def _sizes(summaries: list[Summary], protocols: list[str]) -> set[int]:
    return {
        int(s.parameters["message_bytes"])
        for s in summaries
        if s.benchmark in ("network.latency", "network.bandwidth") and s.parameters.get("protocol") in protocols
    }
