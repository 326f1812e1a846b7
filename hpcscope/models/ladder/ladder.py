"""The ladder: the fraction of the layer below that each layer delivers, from the physical limit to programs.

Benchmarks declare the rungs to which they belong (`rungs` in benchmarks.json). Each rung is compared with the best
rung of the layer below; algorithms and applications are both compared with the layer below all programs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from math import log
from typing import Literal

from hpcscope import units
from hpcscope.catalog.benchmark import Layer, Pattern
from hpcscope.catalog.catalog import LIMIT, PROGRAM_LEVELS
from hpcscope.grouping import grouped
from hpcscope.machine.machine import Machine
from hpcscope.models.ladder.limits import MEASURED, Frame, asymptotic_bytes_per_s, message_time_s
from hpcscope.models.ladder.memory_copy import fastest_copy, fastest_core_copy, not_measured
from hpcscope.models.ladder.paths import Path, paths
from hpcscope.models.ladder.rung import (
    LAYERS,
    Ladder,
    LadderRung,
    LadderStep,
    Quantity,
    compared,
    exact,
    measured_step,
)
from hpcscope.models.measurements import Measurements, On, benchmarks_of
from hpcscope.statistics.ratio import PerLaunch
from hpcscope.statistics.summary import Summary

Exchange = Literal["ping-pong", "stream"]
Program = Literal["algorithm", "application"]
EXCHANGES: dict[Exchange, Literal["ping_pong", "stream"]] = {"ping-pong": "ping_pong", "stream": "stream"}
"""The ways to exchange messages, and the pattern of each."""


def layer_below(layer: Layer, layers: Iterable[Layer]) -> Layer | None:
    """Return the layer of a ladder that a rung is compared with; None for the lowest layer.

    An application contains no algorithm of Scope, so both are compared with the operations, or the layer below.
    """
    below = [lower for lower in layers if LAYERS.index(lower) < LAYERS.index(layer)]
    if layer in PROGRAM_LEVELS:
        below = [lower for lower in below if lower not in PROGRAM_LEVELS]
    return max(below, key=LAYERS.index, default=None)


def ladders(measurements: Measurements) -> list[Ladder]:
    """Build every ladder that the measured paths allow; a missing rung says why it is missing."""
    first: list[Ladder] = []
    more: list[Ladder] = []
    for path in paths(measurements.machine, measurements.launches):
        # A path's own exchange comes first: windows in memory, ping-pong on a network.
        order: list[Exchange] = ["stream", "ping-pong"] if path.memory else ["ping-pong", "stream"]
        found = [_bandwidth(path, exchange, measurements) for exchange in order]
        kept = [ladder for ladder in found if ladder]
        first += [*kept[:1], *filter(None, [_latency(path, measurements)])]
        more += [
            ladder for ladder in kept[1:] if any(rung.layer == "network" and rung.value for rung in ladder.rungs)
        ]
    programs = list(_programs(measurements))
    return [*first, *programs[:1], *more, *programs[1:], *_node(measurements)]


def _bandwidth(path: Path, exchange: Exchange, measurements: Measurements) -> Ladder | None:
    library = _library(path, exchange, "B/s", measurements)
    network = _network(path, exchange, "B/s", measurements)
    sizes = {measurements.size(s) for s in library}
    common = sizes & {size for best in network.values() for size in best} or sizes
    if not common:
        return None
    message_bytes = max(common)
    steps = [
        memory_limit(measurements, path, message_bytes) if path.memory else _link_limit(path),
        *_frames(path, exchange, "B/s", message_bytes, measurements),
    ]
    below = [measured_step("network", best[message_bytes]) for best in network.values() if message_bytes in best]
    if not below and (network or not path.memory):
        names = benchmarks_of(measurements.catalog.standing(EXCHANGES[exchange], "network"))
        below = [LadderStep("network", "network", None, f"{names} was not measured")]
    mpi = [measured_step("mpi", s) for s in library if measurements.size(s) == message_bytes]
    steps += below
    steps += [_with_cache_note(step, message_bytes, measurements.machine) if path.memory else step for step in mpi]
    steps += _or_missing("operation", "transfer", _operation(path, measurements, message_bytes), measurements)
    for level in PROGRAM_LEVELS:
        programs = _communication(level, path, measurements)
        steps += _or_missing(level, "communication", programs, measurements)
    return Ladder(
        path=path.name,
        quantity="bandwidth_bytes_per_s",
        exchange=exchange,
        message_bytes=message_bytes,
        rungs=layered(steps, "B/s", higher_is_better=True),
    )


def _library(path: Path, exchange: Exchange, unit: str, measurements: Measurements) -> list[Summary]:
    """Return the results of the MPI library on a path."""
    ons = measurements.standing(EXCHANGES[exchange], "mpi", unit)
    return [on.summary for on in ons if path.carries(on.summary)]


def _network(
    path: Path, exchange: Exchange, unit: str, measurements: Measurements
) -> dict[str, dict[int, Summary]]:
    """Return, by benchmark and size, the best result over the protocols that the library may use on this path."""
    best: dict[str, dict[int, Summary]] = {}
    for on in measurements.standing(EXCHANGES[exchange], "network", unit, free=["protocol"]):
        s = on.summary
        if path.placed(s) and s.parameters.get("protocol", path.protocols[0]) in path.protocols:
            sizes = best.setdefault(s.benchmark, {})
            known = sizes.get(measurements.size(s))
            if known is None or _better(s, known):
                sizes[measurements.size(s)] = s
    return best


def _better(case: Summary, other: Summary) -> bool:
    first, second = case.estimate.value, other.estimate.value
    return first > second if case.better == "higher" else first < second


def _frames(
    path: Path, exchange: Exchange, unit: str, message_bytes: int, measurements: Measurements
) -> Iterator[LadderStep]:
    """Yield raw frames if they were measured (root only): the rate of the wire without a protocol."""
    if path.inside:
        return
    for on in measurements.standing(EXCHANGES[exchange], "frames", unit):
        if path.placed(on.summary) and measurements.size(on.summary) == message_bytes:
            yield measured_step("frames", on.summary)


def memory_limit(measurements: Measurements, path: Path, message_bytes: int) -> LadderStep:
    """Return the fastest copy between two cores of an array as large as a message, which needs at least one."""
    copy = fastest_core_copy(measurements, path, message_bytes)
    if copy is None:
        return LadderStep(
            "limit", "one copy between two cores", None, not_measured(measurements.catalog, "core_copy")
        )
    return _copy_step(measurements, copy, "one core copies data that another core wrote")


def largest_copy(measurements: Measurements) -> LadderStep:
    """Return the fastest copy of the largest array by one core: a file needs at least one copy."""
    copy = fastest_copy(measurements, 1 << 62)
    if copy is None:
        return LadderStep("limit", "one memory copy", None, not_measured(measurements.catalog, "copy"))
    return _copy_step(measurements, copy, "one copy by one core")


def _copy_step(measurements: Measurements, copy: Summary, what: str) -> LadderStep:
    size = measurements.size(copy)
    return LadderStep(
        "limit",
        f"{what}, arrays of {units.size(size)} ({copy.benchmark})",
        copy.per_launch.as_rate(size),
        note="payload: each byte counts once, although it is read and written",
    )


def _link_limit(path: Path) -> LadderStep:
    name = f"frames of {path.name}"
    if path.link is None:
        return LadderStep("limit", name, None, "the link that carries these messages is not known")
    if path.link.rate_bits_per_s is None:
        return LadderStep("limit", name, None, "the kernel does not know the rate of this link")
    rate = path.link.rate_bits_per_s
    if path.link.kind != "ethernet":
        return LadderStep(
            "limit", f"{path.link.kind} at its signalling rate", exact(rate / 8), note="headers not counted"
        )
    frame = Frame(mtu_bytes=path.link.mtu_bytes)
    headers = MEASURED[path.protocols[0]]
    name = f"{headers.name}, frames of {path.link.mtu_bytes} B at {units.quantity(rate, 'bit/s')}"
    return LadderStep("limit", name, exact(asymptotic_bytes_per_s(rate, headers, frame)))


def _operation(path: Path, measurements: Measurements, message_bytes: int) -> list[LadderStep]:
    """Return a step for each operation on two ranks, at the payload nearest to the message; cold buffers first."""
    ons: dict[str, list[On]] = {}
    for on in measurements.standing("transfer", "operation", "s"):
        if on.summary.ranks == 2 and on.summary.work and path.carries(on.summary):
            ons.setdefault(on.place.benchmark.name, []).append(on)
    return [_transfer(several, message_bytes) for several in ons.values()]


def _transfer(several: list[On], message_bytes: int) -> LadderStep:
    """Return a step for the rung that the benchmark declares first, at the payload nearest to the message."""
    rungs = several[0].place.benchmark.rungs
    first = min(rungs.index(on.place.rung) for on in several)
    candidates = [on.summary for on in several if on.place.rung == rungs[first]]
    nearest = min(candidates, key=lambda s: abs(log(max(_payload(s), 1.0) / max(message_bytes, 1))))
    return LadderStep(
        "operation",
        nearest.label,
        nearest.per_launch.as_rate(_payload(nearest)),
        note=f"{units.quantity(_payload(nearest), 'B')} to the receiver (the root's own copy is not counted)",
    )


def _communication(level: Program, path: Path, measurements: Measurements) -> list[LadderStep]:
    """Return each program's bytes over its communication time, for the most bytes on the fewest ranks."""
    summaries: dict[str, list[Summary]] = {}
    for on in measurements.standing("communication", level, "s"):
        s = on.summary
        if s.ranks > 1 and s.work and s.work.bytes and path.carries(s):
            summaries.setdefault(s.benchmark, []).append(s)
    return [
        _program_step(level, max(cases, key=lambda s: (-s.ranks, s.work.bytes if s.work else 0.0)), measurements)
        for cases in summaries.values()
    ]


def _program_step(level: Program, largest: Summary, measurements: Measurements) -> LadderStep:
    moved = largest.work.bytes if largest.work else 0.0
    shared = _sharing(largest.ranks, measurements.machine)
    return LadderStep(
        level,
        f"communication of {largest.label}",
        largest.per_launch.as_rate(moved / largest.ranks),  # the layers below send in one direction, too
        note="mean bytes that a rank sends / communication time of the slowest rank, without waiting"
        + (f"; {shared}" if shared else ""),
    )


def _or_missing(
    layer: Layer, pattern: Pattern, steps: list[LadderStep], measurements: Measurements
) -> list[LadderStep]:
    """Return the steps; if there are none, a step that names the missing benchmarks of a baseline run."""
    expected = [
        place
        for place in measurements.catalog.standing(pattern, layer)
        if place.benchmark.module == "baseline" and place.benchmark.available
    ]
    if steps or not expected:
        return steps
    names = benchmarks_of(expected)
    many = names.count(" or ") + 1
    what = f"{names} was not" if many < 3 else f"none of {many} benchmarks of this layer was"
    where = "2 ranks" if layer == "operation" else "several ranks"
    return [LadderStep(layer, names, None, f"{what} measured here on {where}")]


def _sharing(ranks: int, machine: Machine) -> str:
    processors = sum(len(host.processor.usable) for host in machine.hosts)
    return f"{ranks} ranks share {processors} processors" if 0 < processors < ranks else ""


def _latency(path: Path, measurements: Measurements) -> Ladder | None:
    """Build the latency ladder of the smallest message that both layers sent; shared memory has no limit rung."""
    network = _network(path, "ping-pong", "s", measurements)
    library = _library(path, "ping-pong", "s", measurements)
    sizes = {size for best in network.values() for size in best} & {measurements.size(s) for s in library}
    if not sizes:
        return None
    message_bytes = min(sizes)
    steps = [
        *([] if path.memory else [_wire_time(path, message_bytes)]),
        *_frames(path, "ping-pong", "s", message_bytes, measurements),
        *(measured_step("network", best[message_bytes]) for best in network.values() if message_bytes in best),
        *(measured_step("mpi", s) for s in library if measurements.size(s) == message_bytes),
    ]
    rungs = layered(steps, "s", higher_is_better=False)
    return Ladder(
        path=path.name, quantity="latency_s", exchange="ping-pong", message_bytes=message_bytes, rungs=rungs
    )


def _wire_time(path: Path, message_bytes: int) -> LadderStep:
    limit = _link_limit(path)
    if limit.figure is None or path.link is None or path.link.rate_bits_per_s is None:
        return LadderStep("limit", limit.name, None, limit.reason)
    frame = Frame(mtu_bytes=path.link.mtu_bytes)
    time_s = message_time_s(path.link.rate_bits_per_s, message_bytes, MEASURED[path.protocols[0]], frame)
    return LadderStep("limit", f"one frame at {units.quantity(path.link.rate_bits_per_s, 'bit/s')}", exact(time_s))


def _programs(measurements: Measurements) -> Iterator[Ladder]:
    """Yield for each program its computing rate on p ranks, compared with p times its rate on one rank."""
    catalog = measurements.catalog
    for level in PROGRAM_LEVELS:
        for place in catalog.standing("arithmetic", level):
            rates = [
                s
                for s in measurements.headlines
                if s.benchmark == place.benchmark.name
                and s.transport == "default"
                and place.shows(s.metric)
                and place.holds(s.parameters)
            ]
            one = {catalog.sequential(s.benchmark, s.parameters): s for s in rates if s.ranks == 1}
            several = [s for s in rates if s.ranks > 1 and catalog.sequential(s.benchmark, s.parameters) in one]
            if several:
                chosen = max(several, key=lambda s: (-s.ranks, *_largest_plain(s, measurements)))
                baseline = one[catalog.sequential(chosen.benchmark, chosen.parameters)]
                yield _against_one_process(level, chosen, baseline, measurements)


def _largest_plain(s: Summary, measurements: Measurements) -> tuple[object, ...]:
    """Return a key that sorts the largest problem last, and of equal problems the one with default parameters."""
    catalog = measurements.catalog
    return catalog.size_key(s.benchmark, s.parameters), -len(catalog.differences(s.benchmark, s.parameters))


def _against_one_process(level: Program, chosen: Summary, case: Summary, measurements: Measurements) -> Ladder:
    processors = sum(len(host.processor.usable) for host in measurements.machine.hosts)
    workers = min(chosen.ranks, processors) if processors else chosen.ranks
    steps = [
        LadderStep(
            "limit",
            f"{workers} times one rank ({case.label})",
            case.per_launch.scaled(workers),
            note=_sharing(chosen.ranks, measurements.machine),
        ),
        LadderStep(level, chosen.label, chosen.per_launch),
    ]
    rungs = layered(steps, chosen.unit, higher_is_better=True)
    return Ladder(path="from one rank to many", quantity="flops_per_s", message_bytes=None, rungs=rungs)


def _node(measurements: Measurements) -> Iterator[Ladder]:
    """Yield ladders of a node's benchmarks on one rank against its limits: arithmetic, then memory."""
    yield from filter(None, [_inside_a_node("arithmetic", "flop/s", "flops_per_s", measurements)])
    yield from filter(None, [_inside_a_node("memory", "B/s", "bandwidth_bytes_per_s", measurements)])


def _inside_a_node(
    pattern: Literal["arithmetic", "memory"], unit: str, quantity: Quantity, measurements: Measurements
) -> Ladder | None:
    limits = _fastest(measurements, pattern, LIMIT, unit)
    limit = max(limits.values(), key=lambda s: _in_memory(pattern, s, measurements), default=None)
    # The computation of programs on one rank has its own ladders.
    layers = [layer for layer in LAYERS if layer != LIMIT and (pattern == "memory" or layer not in PROGRAM_LEVELS)]
    rungs = [
        LadderStep(layer, s.label, s.per_launch)
        for layer in layers
        for s in _fastest(measurements, pattern, layer, unit).values()
        if s is not limit
    ]
    if limit is None or not rungs:
        return None
    steps = [LadderStep("limit", limit.label, limit.per_launch), *rungs]
    return Ladder(
        path="one rank", quantity=quantity, message_bytes=None, rungs=layered(steps, unit, higher_is_better=True)
    )


def _fastest(measurements: Measurements, pattern: Pattern, layer: str, unit: str) -> dict[str, Summary]:
    """Return each benchmark's highest rate on a layer, on one rank; for memory, the rate for the largest arrays.

    Parameters that several benchmarks of the pattern have, such as the precision, have their defaults.
    """
    catalog = measurements.catalog
    declaring = Counter(
        parameter.name
        for benchmark in {place.benchmark.name for place in catalog.standing(pattern)}
        for parameter in catalog[benchmark].parameters
        if parameter.role == "problem"
    )
    best: dict[str, Summary] = {}
    for on in measurements.standing(pattern, layer, unit):
        s = on.summary
        defaults = catalog.defaults(s.benchmark)
        shared = {name: value for name, value in s.parameters.items() if declaring[name] > 1}
        if s.ranks != 1 or any(defaults[name] != value for name, value in shared.items()):
            continue
        known = best.setdefault(s.benchmark, s)
        best[s.benchmark] = max(known, s, key=lambda s: _in_memory(pattern, s, measurements))
    return best


def _in_memory(pattern: Pattern, s: Summary, measurements: Measurements) -> tuple[int, float]:
    """Return a key that sorts memory rates by the size of the arrays first: small arrays may stay in a cache."""
    size = measurements.catalog.array_bytes(s.benchmark, s.parameters) if pattern == "memory" else 0
    return size, s.estimate.value


def layered(steps: Iterable[LadderStep], unit: str, higher_is_better: bool) -> list[LadderRung]:
    """Compare each step with the best step of the layer below."""
    by_layer = grouped(steps, lambda step: step.layer)
    limit = by_layer["limit"][-1].figure if "limit" in by_layer else None
    rungs = []
    for step in chain(*by_layer.values()):
        below = layer_below(step.layer, by_layer)
        best = _best(by_layer[below], higher_is_better) if below else None
        rungs.append(compared(step, best, limit, unit, higher_is_better))
    return rungs


def _best(steps: list[LadderStep], higher_is_better: bool) -> PerLaunch | None:
    figures = [step.figure for step in steps if step.figure is not None]
    choose = max if higher_is_better else min
    return choose(figures, key=lambda figure: figure.estimate.value, default=None)


def _with_cache_note(step: LadderStep, message_bytes: int, machine: Machine) -> LadderStep:
    caches = [cache.size_bytes for host in machine.hosts for cache in host.caches]
    if step.figure is None or not caches or 2 * message_bytes > max(caches):
        return step
    note = f"both buffers fit into the cache of {units.size(max(caches))}"
    return LadderStep(step.layer, step.name, step.figure, step.reason, note)


def _payload(summary: Summary) -> float:
    return summary.work.bytes / summary.ranks if summary.work else 0.0
