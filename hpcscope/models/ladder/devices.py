"""Ladders of devices: the rates that their memory and host link allow, and the rates of kernels and copies.

The rungs of a benchmark follow each other in their declared order: times by the device's clock below times that
programs wait for, pinned host memory below pageable memory. MPI messages between devices are compared with the
slowest link, and the slowest link with the slowest memory.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from hpcscope.catalog.benchmark import Layer
from hpcscope.catalog.catalog import DEVICE_UNIT, Standing, phrase
from hpcscope.machine.machine import Device
from hpcscope.models.ladder.ladder import layered
from hpcscope.models.ladder.paths import Path, paths
from hpcscope.models.ladder.rung import Ladder, LadderStep, exact, measured_step, successive
from hpcscope.models.measurements import Measurements, On, benchmarks_of, by_rung, finder
from hpcscope.statistics.summary import Summary

DevicePattern = Literal["device_memory", "device_link"]
PATHS: dict[DevicePattern, str] = {"device_memory": "memory of", "device_link": "host link of"}


class Way(NamedTuple):
    """The subject of one ladder."""

    host: str
    number: int
    """Number of the device on its host."""
    problem: str
    """In words, such as `to the device`; empty if a pattern has only one problem."""


def device_ladders(measurements: Measurements) -> list[Ladder]:
    """Return the ladders of devices whose memory or link was measured on one rank, and of MPI messages."""
    found = {pattern: _measured(pattern, measurements) for pattern in PATHS}
    alone = [
        _ladder(pattern, way, ons, measurements) for pattern, ways in found.items() for way, ons in ways.items()
    ]
    lower = [
        _slowest("limit", "device_memory", found["device_memory"].values(), measurements),
        _slowest("device", "device_link", found["device_link"].values(), measurements),
    ]
    between = (_between(path, lower, measurements) for path in paths(measurements.machine, measurements.launches))
    return [*alone, *filter(None, between)]


def _between(path: Path, lower: list[LadderStep], measurements: Measurements) -> Ladder | None:
    """Build the ladder of messages between devices on a path, each rung at the size with the highest rate."""
    messages = measurements.standing("device_messages", "mpi", "B/s")
    rungs = by_rung(on for on in messages if path.carries(on.summary))
    if not rungs:
        return None
    fastest = [max(cases, key=lambda case: case.estimate.value) for cases in rungs]
    return Ladder(
        path=f"{path.name}, messages between devices",
        quantity="bandwidth_bytes_per_s",
        message_bytes=None,
        rungs=layered([*lower, *(measured_step("mpi", case) for case in fastest)], "B/s", higher_is_better=True),
    )


def _slowest(
    layer: Layer, pattern: DevicePattern, ways: Iterable[list[On]], measurements: Measurements
) -> LadderStep:
    """Return the slowest device, or the slowest direction of a link, by its first rung."""
    firsts = [next(_steps(ons, measurements, layer)) for ons in ways]
    if firsts:
        return min(firsts, key=lambda step: step.figure.estimate.value if step.figure else 0.0)
    names = benchmarks_of(measurements.catalog.standing(pattern))
    return LadderStep(layer, names, None, f"{names} was not measured with one rank on a device")


def _measured(pattern: DevicePattern, measurements: Measurements) -> dict[Way, list[On]]:
    found: dict[Way, list[On]] = {}
    for on in measurements.standing(pattern, "device", "B/s"):
        if on.summary.ranks == 1:
            host = next(iter(measurements.hosts(on.summary)), "")
            way = Way(host, device_number(on.place, on.summary), _problem(on.place))
            if pattern != "device_link" or not _is_processor(way, measurements):
                found.setdefault(way, []).append(on)
    return dict(sorted(found.items()))


def device_number(place: Standing, case: Summary) -> int:
    """Return the number of a case's device on its host."""
    numbers = (
        case.parameters[parameter.name]
        for parameter in place.benchmark.parameters
        if parameter.unit == DEVICE_UNIT and parameter.name in case.parameters
    )
    return int(next(numbers, 0))


def _problem(place: Standing) -> str:
    declared = place.benchmark.parameter
    return ", ".join(
        phrase(declared[name], name, value)
        for name, value in place.rung.parameters.items()
        if declared[name].role == "problem"
    )


def _is_processor(way: Way, measurements: Measurements) -> bool:
    """Return whether a device is the host's CPU: copies to it do not use a link."""
    device = _device(way, measurements)
    return device is not None and device.kind == "cpu"


def _device(way: Way, measurements: Measurements) -> Device | None:
    host = finder(measurements.machine)(way.host)
    return host.devices[way.number] if host and way.number < len(host.devices) else None


def _ladder(pattern: DevicePattern, way: Way, ons: list[On], measurements: Measurements) -> Ladder:
    host = finder(measurements.machine)(way.host)
    known = host.devices if host else []
    device = _device(way, measurements)
    name = device.name if device else "a device"
    if len(known) > 1:
        name += f" (device {way.number})"
    if len(measurements.machine.hosts) > 1:
        name += f" on {way.host}"
    steps = [_limit(pattern, device), *_steps(ons, measurements)]
    return Ladder(
        path=", ".join(filter(None, [f"{PATHS[pattern]} {name}", way.problem])),
        quantity="bandwidth_bytes_per_s",
        message_bytes=None,
        rungs=successive(steps, "B/s"),
        successive=True,
    )


def _limit(pattern: DevicePattern, device: Device | None) -> LadderStep:
    if pattern == "device_memory":
        rate = device.memory_bytes_per_s if device else None
        if rate is None:
            return LadderStep(
                "limit", "memory of the device", None, "the driver does not report the memory rate of the device"
            )
        return LadderStep("limit", "memory of the device, from its clock and bus width", exact(rate))
    link = device.link if device else None
    if link is None:
        return LadderStep("limit", "PCIe", None, "the kernel does not know the link of this device")
    note = f"{link.lanes} of {link.most_lanes} lanes in use; " if link.lanes < link.most_lanes else ""
    return LadderStep(
        "limit", link.described, exact(link.bytes_per_s), note=f"{note}headers of packets not counted"
    )


def _steps(ons: list[On], measurements: Measurements, layer: Layer = "device") -> Iterator[LadderStep]:
    """Yield for each rung the fastest case at the largest size: small sizes show launch costs, or a cache."""
    for cases in by_rung(ons):
        case = max(cases, key=lambda case: (measurements.size(case), case.estimate.value))
        label = measurements.catalog.metric_label(case.metric, case.benchmark)
        yield LadderStep(layer, case.label, case.per_launch, note=label)
