"""What a simulation gets in addition to the platform: message costs by size, and when a send waits.

A ping-pong of the run gives the time of a message of each size: straight lines t(n) = a + b n, one for each
protocol of the library. SMPI takes such lines as factors of a route's latency and bandwidth (`smpi/lat-factor` and
`smpi/bw-factor`), and the time that sender and receiver are busy as `smpi/os`, `smpi/ois` and `smpi/or`.
https://simgrid.org/doc/latest/Configuring_SimGrid.html
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hpcscope import units
from hpcscope.catalog.benchmark import Layer
from hpcscope.models.fitting.fit import Fit, Segment
from hpcscope.models.ladder.paths import paths
from hpcscope.models.measurements import Measurements, short_names
from hpcscope.simulation.description import FACTORS, LEAST
from hpcscope.simulation.platform import LIBRARY, Platform
from hpcscope.statistics.estimate import in_unit

EAGER_BYTES = 65536
"""Eager limit if a run does not show its library's limit: the default of SMPI."""
SHORTEST_S = 1e-9
"""Smallest latency, because SimGrid does not resolve less."""
ENVELOPE_BYTES = 16
"""SMPI adds this to every message, for tag, destination and communicator, before it looks up its factors."""
OVERHEADS = "loggp"
ONE_RATE = "all sizes have one latency and rate: the run has no fit of ping-pong times to sizes"
NO_OVERHEAD = "sender and receiver have no overhead: the run does not separate it from the time on the network"


@dataclass(frozen=True)
class Calibration:
    """A platform that reproduces the messages of a run, and the settings of SimGrid that belong to it."""

    platform: Platform
    settings: dict[str, str]
    comments: list[str]
    """The source of each value, with its interval."""
    inputs: list[str]
    """Benchmarks whose times were inputs of the calibration, so that they cannot validate it."""


@dataclass(frozen=True)
class Route:
    """The route of the ping-pong as the platform has it without factors."""

    latency_s: float
    bytes_per_s: float


def calibrated(platform: Platform, measurements: Measurements, fits: Sequence[Fit]) -> Calibration:
    """Return the platform with the latency of the measured ping-pong, and settings with factors for other sizes.

    The inter-node ping-pong counts if there are several hosts, else the intra-node one.
    """
    inside = len(platform.nodes) == 1
    mine = [fit for fit in fits if fit.variable == "message_bytes" and _on_default_path(fit, measurements, inside)]
    straight = [fit for fit in mine if fit.chosen and _segments(fit)]
    lines = next((fit for layer in LIBRARY for fit in straight if _plain(fit, measurements, layer)), None)
    busy = next((fit for fit in mine if fit.model == OVERHEADS), None)
    eager, eager_from = _eager_limit(lines)
    thresholds = ("smpi/async-small-thresh", "smpi/send-is-detached-thresh")
    settings = {**FACTORS, **dict.fromkeys(thresholds, str(eager))}
    comments = [f"a send of up to {units.size(eager)} does not wait for the receiver: {eager_from}"]
    route = _route(platform, measurements, lines, inside) if lines else None
    if lines is None or route is None:
        comments.append(ONE_RATE)
        return Calibration(platform, settings, comments, [])
    overhead_s, more, told = _overheads(busy)
    empty_s = max(_segments(lines)[0].latency_s.value, SHORTEST_S)
    settings |= _factors(lines, empty_s, route.bytes_per_s, overhead_s) | more
    comments += [*(_told(lines, segment) for segment in _segments(lines)), *told]
    inputs = [lines.subject.benchmark, *([busy.subject.benchmark] if more and busy else [])]
    return Calibration(_with_latency(platform, empty_s / route.latency_s, inside), settings, comments, inputs)


def _segments(fit: Fit) -> list[Segment]:
    """Return the lines of a fit; Hockney's model has one line."""
    known = {parameter.name: parameter for parameter in fit.parameters}
    if not fit.segments and {"latency_s", "per_byte_s"} <= set(known):
        whole = {"latency_s": known["latency_s"], "per_byte_s": known["per_byte_s"]}
        return [Segment(low=fit.low, high=fit.high, **whole)]
    return fit.segments


def _on_default_path(fit: Fit, measurements: Measurements, inside: bool) -> bool:
    return any(
        way.inside == inside
        and way.transport == "default"
        and way.carries(fit.subject)
        and fit.subject.parameters.get("protocol", way.protocols[0]) in way.protocols
        for way in paths(measurements.machine, measurements.launches)
    )


def _plain(fit: Fit, measurements: Measurements, layer: Layer) -> bool:
    """Return whether a fit is of a layer's ping-pong as a plain program does it."""
    places = measurements.catalog.standing("ping_pong", layer)
    return any(
        place.benchmark.name == fit.subject.benchmark
        and place.shows(fit.metric)
        and place.holds(fit.subject.parameters, ("message_bytes",))
        for place in places
    )


def _route(platform: Platform, measurements: Measurements, lines: Fit, inside: bool) -> Route | None:
    if inside or platform.topology is None:
        exchange = platform.inside
        if exchange is None:
            return None
        return Route(exchange.latency_s.estimate.value, exchange.bandwidth_bytes_per_s.estimate.value)
    hosts = list(map(short_names(measurements.machine), measurements.hosts(lines.subject)))
    if len(hosts) < 2 or any(name not in platform.topology.group_of for name in hosts):
        return None
    join = platform.topology.join(hosts[0], hosts[1])
    return Route(join.latency_s, join.bandwidth_bytes_per_s)


def _eager_limit(lines: Fit | None) -> tuple[int, str]:
    """Return the size up to which a send does not wait, and the source of this limit."""
    for point in lines.breakpoints if lines else ():
        for setting in point.settings:
            if "eager" in setting.name.lower():
                return setting.value, f"the ping-pong's time jumps at {setting.name} of the library"
    return EAGER_BYTES, "this is SMPI's default, because the run does not show the limit"


def _overheads(busy: Fit | None) -> tuple[float, dict[str, str], list[str]]:
    """Return the overhead of sender and receiver together, the settings for it, and its source."""
    known = {parameter.name: parameter for parameter in busy.parameters} if busy else {}
    send, receive = known.get("o_s_s"), known.get("o_r_s")
    # Without a wire time, the overheads contain waiting.
    if busy is None or send is None or receive is None or "L_s" not in known:
        return 0.0, {}, [NO_OVERHEAD]
    costs = {"smpi/os": send.value, "smpi/ois": send.value, "smpi/or": receive.value}
    words = [
        f"{name}: {in_unit(parameter, 's')}, {busy.subject.label}"
        for name, parameter in (("the sender is busy", send), ("the receiver is busy", receive))
    ]
    return send.value + receive.value, {name: f"0:{value:.6g}:0" for name, value in costs.items()}, words


@dataclass(frozen=True)
class FittedLine:
    """t(n) = latency + n per_byte above a size, up to where the next line begins."""

    above: float
    latency_s: float
    per_byte_s: float


def _lines(fit: Fit) -> Iterator[FittedLine]:
    """Yield the lines of a fit in a form that SMPI supports: no line takes more time per byte than the last line.

    A rate would apply to all messages between two hosts together. If short messages take more time per byte,
    successive bytes do not: the excess is added to the latency, in a step for each size that was measured.
    """
    wire_s = max(_segments(fit)[-1].per_byte_s.value, 0.0)
    above = 0.0
    for segment in _segments(fit):
        excess_s = segment.per_byte_s.value - wire_s
        sizes = [point.x for point in fit.points if segment.low <= point.x <= segment.high] if excess_s > 0 else []
        for size in sizes or [segment.high]:
            more_s = max(excess_s, 0.0) * size if sizes else 0.0
            yield FittedLine(above, segment.latency_s.value + more_s, min(segment.per_byte_s.value, wire_s))
            above = size


def _factors(fit: Fit, empty_s: float, bytes_per_s: float, overhead_s: float) -> dict[str, str]:
    """Return the factors of each line. They apply above the size that precedes them."""
    latencies: list[str] = []
    rates: list[str] = []
    for line in _lines(fit):
        start = int(line.above) + ENVELOPE_BYTES if latencies else 0
        latency_s = line.latency_s - ENVELOPE_BYTES * max(line.per_byte_s, 0.0) - overhead_s
        latencies.append(f"{start}:{max(latency_s / empty_s, LEAST):.6g}")
        rates.append(f"{start}:{1 / max(line.per_byte_s * bytes_per_s, LEAST):.6g}")
    return {"smpi/lat-factor": ";".join(latencies), "smpi/bw-factor": ";".join(rates)}


def _told(lines: Fit, segment: Segment) -> str:
    latency, per_byte = segment.latency_s, segment.per_byte_s
    return (
        f"{units.size(segment.low)} to {units.size(segment.high)}: {in_unit(latency, 's')} and "
        f"{in_unit(per_byte, 's')} per byte, {lines.subject.label}"
    )


def _with_latency(platform: Platform, factor: float, inside: bool) -> Platform:
    """Return the platform with its latencies between hosts (or inside the host) multiplied by a factor."""
    if inside or platform.topology is None:
        exchange = platform.inside
        if exchange is None:
            return platform
        latency = replace(exchange.latency_s, estimate=exchange.latency_s.estimate.scaled(factor))
        return replace(platform, inside=replace(exchange, latency_s=latency))
    known = platform.topology
    groups = [group.model_copy(update={"latency_s": group.latency_s * factor}) for group in known.group]
    slower = [
        exception.model_copy(update={"latency_s": exception.latency_s * factor}) for exception in known.exception
    ]
    scaled = known.model_copy(update={"group": groups, "exception": slower})
    return replace(platform, topology=scaled)
