"""Limits on messages of every size on the measured paths: lines in the curves of network benchmarks."""

from collections.abc import Iterator
from typing import Literal

from hpcscope import units
from hpcscope.catalog.benchmark import Pattern
from hpcscope.models.ladder.limits import MEASURED, Frame, message_time_s
from hpcscope.models.ladder.memory_copy import fastest_core_copy
from hpcscope.models.ladder.paths import Path, paths
from hpcscope.models.measurements import Measurements
from hpcscope.plan.placement import Placement
from hpcscope.strict import Strict

LOCAL = ["shm", "cma", "unix"]
EXCHANGES: tuple[Pattern, ...] = ("ping_pong", "stream")
"""Patterns of messages between two ranks, which the lines limit."""
LARGEST_RATIO = 16
"""Largest ratio of array to message size: a copy of a much larger array says little about a short message."""


class LimitPoint(Strict):
    """The best possible value for messages of one size."""

    message_bytes: int
    value: float


class Limit(Strict):
    """The upper bound on a protocol's messages: a line in its curves that no measurement crosses."""

    name: str
    """For example `TCP/IP frames of 1500 B at 1 Gbit/s over eth0`."""
    protocols: list[str]
    """Values of the parameter `protocol` that it bounds."""
    placements: list[Placement]
    metric: Literal["bandwidth_bytes_per_s", "latency_s"]
    unit: str
    points: list[LimitPoint]


def limits(measurements: Measurements) -> list[Limit]:
    """Return the limit by frames for each protocol on a link of known rate, and one copy for local transports."""
    found: list[Limit] = []
    for path in paths(measurements.machine, measurements.launches):
        if path.transport == "default":
            found += _memory(path, measurements) if path.memory else _wire(path, measurements)
    return found


def _wire(path: Path, measurements: Measurements) -> Iterator[Limit]:
    link = path.link
    if link is None or link.kind != "ethernet" or link.rate_bits_per_s is None:
        return
    rate, frame = link.rate_bits_per_s, Frame(mtu_bytes=link.mtu_bytes)
    for protocol, headers in MEASURED.items():
        times = {n: message_time_s(rate, n, headers, frame) for n in _sizes(measurements, [protocol])}
        name = f"{headers.name}, frames of {link.mtu_bytes} B at {units.quantity(rate, 'bit/s')}"
        yield from _lines(f"{name} over {link.name}", [protocol], path, times)


def _memory(path: Path, measurements: Measurements) -> Iterator[Limit]:
    """Yield one copy between the path's cores, at the sizes for which an array not much larger was copied."""
    times = {}
    for n in _sizes(measurements, LOCAL):
        copy = fastest_core_copy(measurements, path, n)
        if copy is not None and copy.median and n <= (size := measurements.size(copy)) <= LARGEST_RATIO * n:
            times[n] = copy.median * n / size
    yield from _lines("one copy between two cores", LOCAL, path, times)


def _lines(name: str, protocols: list[str], path: Path, times_s: dict[int, float]) -> Iterator[Limit]:
    if not times_s:
        return
    placements = sorted(path.placements)
    latency = [LimitPoint(message_bytes=n, value=t) for n, t in sorted(times_s.items())]
    rate = [LimitPoint(message_bytes=n, value=n / t) for n, t in sorted(times_s.items())]
    given = {"name": name, "protocols": protocols, "placements": placements}
    yield Limit.model_validate({**given, "metric": "latency_s", "unit": "s", "points": latency})
    yield Limit.model_validate({**given, "metric": "bandwidth_bytes_per_s", "unit": "B/s", "points": rate})


def _sizes(measurements: Measurements, protocols: list[str]) -> set[int]:
    names = {
        place.benchmark.name
        for pattern in EXCHANGES
        for place in measurements.catalog.standing(pattern, "network")
    }
    return {
        measurements.size(s)
        for s in measurements.summaries
        if s.benchmark in names and s.parameters.get("protocol") in protocols
    }
