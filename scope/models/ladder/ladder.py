"""The ladder: what each layer retains of the layer below, from the physical limit up to the application."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import log
from typing import Literal

from scope import units
from scope.machine.machine import Machine
from scope.models.fit import Ladder, Rung
from scope.models.fitting.ratios import Figure, ratio
from scope.models.ladder.limits import TCP_IP_TIMESTAMPS, Frame, asymptotic_bytes_per_s, message_time_s
from scope.models.ladder.memory_copy import NOT_MEASURED, copied_bytes, fastest_copy
from scope.models.ladder.paths import Path, paths
from scope.samples.records import LaunchRecord
from scope.statistics.summary import Summary

Layer = Literal["limit", "frames", "network", "mpi", "operation", "algorithm", "application"]
Exchange = Literal["ping-pong", "stream"]

NETWORK: dict[Exchange, str] = {"ping-pong": "network.latency", "stream": "network.bandwidth"}
"""What stands under the library for each way of exchanging messages."""
AS_LIBRARIES = {"nodelay": "on", "wait": "polling", "flow": "credits", "socket_buffer_bytes": "0"}


@dataclass(frozen=True)
class Step:
    """A rung before it is held against the one below."""

    layer: Layer
    name: str
    figure: Figure | None
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class Results:
    """The valid headline summaries, to be asked for."""

    summaries: list[Summary] = field(default_factory=list)

    def of(self, benchmark: str, metric: str, path: Path | None = None, **parameters: str) -> list[Summary]:
        """Return those of a benchmark's metric on a path with these parameters (where the benchmark has them)."""
        return [
            s
            for s in self.summaries
            if s.benchmark == benchmark
            and s.metric == metric
            and (path is None or (s.transport == path.transport and _placed(s, path)))
            and all(str(s.parameters.get(name, value)) == value for name, value in parameters.items())
        ]

    def below(self, exchange: Exchange, metric: str, path: Path, protocol: str) -> list[Summary]:
        """Return what a protocol does on a path without the library, set as libraries set it."""
        found = self.of(NETWORK[exchange], metric, None, protocol=protocol, **AS_LIBRARIES)
        return [s for s in found if _placed(s, path)]


def ladders(summaries: list[Summary], machine: Machine, launches: list[LaunchRecord]) -> list[Ladder]:
    """Build every ladder that the measured paths allow; a missing rung says why it is missing."""
    known = Results([s for s in summaries if s.primary and s.valid and s.median])
    first: list[Ladder] = []
    more: list[Ladder] = []
    for path in paths(machine, launches):
        # A path's own exchange comes first: windows in memory, the thesis's ping-pong on a network.
        order: list[Exchange] = ["stream", "ping-pong"] if path.memory else ["ping-pong", "stream"]
        found = [_bandwidth(path, exchange, known, machine) for exchange in order]
        kept = [ladder for ladder in found if ladder]
        first += [*kept[:1], *filter(None, [_latency(path, known)])]
        more += [
            ladder for ladder in kept[1:] if any(rung.layer == "network" and rung.value for rung in ladder.rungs)
        ]
    return first + _efficiency(known, machine) + more


def _bandwidth(path: Path, exchange: Exchange, known: Results, machine: Machine) -> Ladder | None:
    library = _library(path, exchange, "bandwidth_bytes_per_s", known)
    network = _network(path, exchange, "bandwidth_bytes_per_s", known)
    sizes = {_bytes(s) for s in library}
    common = sizes & set(network) or sizes
    if not common:
        return None
    message_bytes = max(common)
    steps = [
        _memory_limit(known, message_bytes) if path.memory else _link_limit(path),
        *_frames(path, exchange, "bandwidth_bytes_per_s", message_bytes, known),
    ]
    if network or not path.memory:
        steps.append(_measured("network", network.get(message_bytes), f"{NETWORK[exchange]} was not measured"))
    mpi = _measured("mpi", _at(library, message_bytes), "not measured")
    steps.append(_with_cache_note(mpi, message_bytes, machine) if path.memory else mpi)
    steps.append(_operation(path, known, message_bytes))
    steps.append(_algorithm(path, known, machine))
    steps += _application(path, known, machine)
    return Ladder(
        path=path.name,
        quantity="bandwidth_bytes_per_s",
        exchange=exchange,
        message_bytes=message_bytes,
        rungs=_rungs(steps, "B/s", higher_is_better=True),
    )


def _library(path: Path, exchange: Exchange, metric: str, known: Results) -> list[Summary]:
    """Return what the library does the same way: a window of messages, or a ping-pong."""
    if exchange == "stream":
        return known.of("mpi.bandwidth", metric, path, completion="nonblocking")
    return known.of("mpi.latency", metric, path, mode="standard", completion="blocking")


def _network(path: Path, exchange: Exchange, metric: str, known: Results) -> dict[int, Summary]:
    """Return, for each size, the best of the protocols that the library may take on this path."""
    best: dict[int, Summary] = {}
    for protocol in path.protocols:
        for s in known.below(exchange, metric, path, protocol):
            other = best.get(_bytes(s))
            if other is None or _better(s, other):
                best[_bytes(s)] = s
    return best


def _better(one: Summary, other: Summary) -> bool:
    if one.median is None or other.median is None:  # pragma: no cover - only summaries with a median are kept
        return False
    return one.median > other.median if one.better == "higher" else one.median < other.median


def _placed(summary: Summary, path: Path) -> bool:
    return summary.placement in path.placements


def _frames(path: Path, exchange: Exchange, metric: str, message_bytes: int, known: Results) -> list[Step]:
    """Take raw frames where they were measured (root only): what the wire gives before any protocol."""
    raw = [] if path.inside else known.below(exchange, metric, path, "ethernet")
    summary = _at(raw, message_bytes)
    return [_measured("frames", summary, "")] if summary else []


def _memory_limit(known: Results, message_bytes: int) -> Step:
    """Take the fastest copy of an array of the message's size by one core: the least that a message needs."""
    copy = fastest_copy(known.summaries, message_bytes)
    if copy is None:
        return Step("limit", "one memory copy", None, NOT_MEASURED)
    size = copied_bytes(copy)
    return Step(
        "limit",
        f"one copy by one core, arrays of {units.size(size)} ({copy.benchmark})",
        _over(size, _figure(copy)),
        note="payload: each copied byte counts once, not as read and as written",
    )


def _link_limit(path: Path) -> Step:
    name = f"frames of {path.name}"
    if path.link is None:
        return Step("limit", name, None, "no link is up under one name on all hosts")
    if path.link.rate_bits_per_s is None:
        return Step("limit", name, None, "the kernel does not know this link's rate")
    rate = path.link.rate_bits_per_s
    if path.link.kind != "ethernet":
        return Step(
            "limit", f"{path.link.kind} at its signalling rate", _exact(rate / 8), note="headers not counted"
        )
    frame = Frame(mtu_bytes=path.link.mtu_bytes)
    name = f"TCP/IP frames of {path.link.mtu_bytes} B at {units.quantity(rate, 'bit/s')}"
    return Step("limit", name, _exact(asymptotic_bytes_per_s(rate, TCP_IP_TIMESTAMPS, frame)))


def _operation(path: Path, known: Results, message_bytes: int) -> Step:
    """Take the broadcast to one other process whose matrix is nearest to the message; cold where there is."""
    times = [s for s in known.of("operation.broadcast", "time_s", path) if s.ranks == 2 and s.work]
    if not times:
        return Step(
            "operation", "operation.broadcast", None, "operation.broadcast was not measured here on 2 ranks"
        )
    cold = [s for s in times if s.parameters.get("memory") == "cold"] or times
    nearest = min(cold, key=lambda s: abs(log(max(_payload(s), 1.0) / max(message_bytes, 1))))
    return Step(
        "operation",
        nearest.label,
        _over(_payload(nearest), _figure(nearest)),
        note=f"{units.quantity(_payload(nearest), 'B')} to the receiver (equation 6.1 counts the root's copy too)",
    )


def _algorithm(path: Path, known: Results, machine: Machine) -> Step:
    times = [
        s
        for s in known.of("algorithm.matmul_cannon", "communicate_s", path)
        if s.ranks > 1
        and s.work
        and s.work.bytes
        and s.parameters.get("variant") != "tuned"  # whose messages hide behind its products
    ]
    if not times:
        reason = "algorithm.matmul_cannon was not measured here on several ranks"
        return Step("algorithm", "algorithm.matmul_cannon", None, reason)
    largest = max(times, key=lambda s: (-s.ranks, _integer(s, "size"), s.parameters.get("variant") == "plain"))
    return _communication("algorithm", largest, machine)


def _application(path: Path, known: Results, machine: Machine) -> list[Step]:
    """Return the transposes of the kernel FT, whose messages are the largest; nothing where it was not run."""
    times = [
        s for s in known.of("application.npb_ft", "communicate_s", path) if s.ranks > 1 and s.work and s.work.bytes
    ]
    largest = max(times, key=lambda s: (-s.ranks, s.work.bytes if s.work else 0.0), default=None)
    return [_communication("application", largest, machine)] if largest else []


def _communication(layer: Layer, largest: Summary, machine: Machine) -> Step:
    moved = largest.work.bytes if largest.work else 0.0
    return Step(
        layer,
        f"communication of {largest.label}",
        _over(moved, _figure(largest)),
        note="all bytes that it moves over the communication time of the slowest process, waiting excluded"
        + (f"; {crowd}" if (crowd := _crowd(largest.ranks, machine)) else ""),
    )


def _crowd(ranks: int, machine: Machine) -> str:
    cores = sum(len(host.processor.usable) for host in machine.hosts)
    return f"{ranks} processes share {cores} processors" if 0 < cores < ranks else ""


def _latency(path: Path, known: Results) -> Ladder | None:
    """Build the ladder of the smallest message both layers sent; in shared memory there is no layer below."""
    network = _network(path, "ping-pong", "latency_s", known)
    library = _library(path, "ping-pong", "latency_s", known)
    sizes = set(network) & {_bytes(s) for s in library}
    if not sizes:
        return None
    message_bytes = min(sizes)
    steps = [
        *([] if path.memory else [_wire_time(path, message_bytes)]),
        *_frames(path, "ping-pong", "latency_s", message_bytes, known),
        _measured("network", network[message_bytes], ""),
        _measured("mpi", _at(library, message_bytes), "not measured"),
    ]
    rungs = _rungs(steps, "s", higher_is_better=False)
    return Ladder(
        path=path.name, quantity="latency_s", exchange="ping-pong", message_bytes=message_bytes, rungs=rungs
    )


def _wire_time(path: Path, message_bytes: int) -> Step:
    limit = _link_limit(path)
    if limit.figure is None or path.link is None or path.link.rate_bits_per_s is None:
        return Step("limit", limit.name, None, limit.reason)
    frame = Frame(mtu_bytes=path.link.mtu_bytes)
    time_s = message_time_s(path.link.rate_bits_per_s, message_bytes, TCP_IP_TIMESTAMPS, frame)
    return Step("limit", f"one frame at {units.quantity(path.link.rate_bits_per_s, 'bit/s')}", _exact(time_s))


def _efficiency(known: Results, machine: Machine) -> list[Ladder]:
    """Hold an algorithm on p processes against p times what one process computes."""
    rates = [s for s in known.of("algorithm.matmul_cannon", "flops_per_s") if s.transport == "default"]
    alone = {_variant(s): s for s in rates if s.ranks == 1}
    together = [s for s in rates if s.ranks > 1 and _variant(s) in alone]
    if not together:
        return []
    chosen = max(together, key=lambda s: (-s.ranks, _integer(s, "size"), s.parameters.get("variant") == "plain"))
    cores = sum(len(host.processor.usable) for host in machine.hosts)
    workers = min(chosen.ranks, cores) if cores else chosen.ranks
    one = alone[_variant(chosen)]
    limit = _figure(one)
    many = Figure(
        limit.value * workers,
        None if limit.low is None else limit.low * workers,
        None if limit.high is None else limit.high * workers,
    )
    steps = [
        Step("limit", f"{workers} times one process ({one.label})", many, note=_crowd(chosen.ranks, machine)),
        Step("algorithm", chosen.label, _figure(chosen)),
    ]
    rungs = _rungs(steps, "flop/s", higher_is_better=True)
    return [Ladder(path="from one process to many", quantity="flops_per_s", message_bytes=None, rungs=rungs)]


def _rungs(steps: Iterable[Step], unit: str, higher_is_better: bool) -> list[Rung]:
    rungs: list[Rung] = []
    below: Step | None = None
    limit: Figure | None = None
    for step in steps:
        if step.layer == "limit":
            limit = step.figure
        retained = _share(step.figure, below.figure if below else None, higher_is_better)
        of_limit = _share(step.figure, limit if step.layer != "limit" else None, higher_is_better)
        rungs.append(
            Rung(
                layer=step.layer,
                name=step.name,
                value=step.figure.value if step.figure else None,
                low=step.figure.low if step.figure else None,
                high=step.figure.high if step.figure else None,
                unit=unit,
                retained=retained.value if retained else None,
                retained_low=retained.low if retained else None,
                retained_high=retained.high if retained else None,
                of_limit=of_limit.value if of_limit else None,
                reason=step.reason,
                note=step.note,
            )
        )
        below = step
    return rungs


def _share(this: Figure | None, below: Figure | None, higher_is_better: bool) -> Figure | None:
    """Return what is retained of the layer below: a share below 1 where this layer is worse."""
    if this is None or below is None:
        return None
    return ratio(this, below) if higher_is_better else ratio(below, this)


def _measured(layer: Layer, summary: Summary | None, reason: str) -> Step:
    if summary is None:
        return Step(layer, layer, None, reason)
    return Step(layer, summary.label, _figure(summary))


def _with_cache_note(step: Step, message_bytes: int, machine: Machine) -> Step:
    caches = [cache.size_bytes for host in machine.hosts for cache in host.caches]
    if step.figure is None or not caches or 2 * message_bytes > max(caches):
        return step
    note = f"both buffers fit into the cache of {units.size(max(caches))}"
    return Step(step.layer, step.name, step.figure, step.reason, note)


def _figure(summary: Summary) -> Figure:
    if summary.median is None:  # pragma: no cover - only summaries with a median are kept
        raise AssertionError("a summary without a median stands on no rung")
    return Figure(summary.median, summary.ci_low, summary.ci_high)


def _over(amount: float, time: Figure) -> Figure:
    low = amount / time.high if time.high else None
    high = amount / time.low if time.low else None
    return Figure(amount / time.value, low, high)


def _exact(value: float) -> Figure:
    return Figure(value, value, value)


def _at(summaries: list[Summary], message_bytes: int) -> Summary | None:
    return next((s for s in summaries if _bytes(s) == message_bytes), None)


def _bytes(summary: Summary) -> int:
    return _integer(summary, "message_bytes")


def _integer(summary: Summary, name: str) -> int:
    return int(summary.parameters.get(name, 0))


def _variant(summary: Summary) -> tuple[object, ...]:
    return tuple(sorted(summary.parameters.items()))


def _payload(summary: Summary) -> float:
    return summary.work.bytes / summary.ranks if summary.work else 0.0
