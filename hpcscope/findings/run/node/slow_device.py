"""In every launch, one device is slower than equal devices that did the same work at the same time."""

import numpy as np

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.worst_rank import host_of
from hpcscope.machine.machine import Device
from hpcscope.samples.samples import CaseSamples

SLOWER = 0.05
"""Least relative excess over the median time of the other devices."""
FEWEST = 3
"""Minimum number of devices and of visits: with two devices, neither can be called the outlier."""
TIME = "device_s"


def find(run: Run) -> list[Finding]:
    """Find for each slow device the case in which it is slowest."""
    found: dict[tuple[str, int], tuple[float, Device, CaseSamples]] = {}
    for visits in run.raw_samples.by_case().values():
        worst = [each for visit in visits if (each := _worst(run, visit)) is not None]
        places = {place for place, _, _ in worst}
        if len(worst) < FEWEST or len(worst) < len(visits) or len(places) != 1:
            continue
        (place,), excess = places, min(excess for _, _, excess in worst)
        if excess >= SLOWER and excess > found.get(place, (0.0, None, None))[0]:
            found[place] = excess, worst[0][1], visits[0]
    return [_finding(host, *each) for (host, _), each in found.items()]


def _worst(run: Run, visit: CaseSamples) -> tuple[tuple[str, int], Device, float] | None:
    """Return (host, number) of the slowest of equal devices with one rank each, the device, and its excess."""
    seen = next((times for times in visit.times if TIME in times.observed and times.counted.any()), None)
    if not visit.ok or seen is None or visit.settings.get("ranks_on_device") != 1 or len(seen.ranks_kept) < FEWEST:
        return None
    medians = np.median(seen.observed[TIME][:, seen.counted], axis=1)
    slowest = int(np.argmax(medians))
    places = [_place(run, visit, int(rank)) for rank in seen.ranks_kept]
    devices = [_device(run, *place) for place in places]
    device = devices[slowest]
    if device is None or any(each is None or each.name != device.name for each in devices):
        return None
    others = float(np.median(np.delete(medians, slowest)))
    return places[slowest], device, float(medians[slowest]) / others - 1 if others else 0.0


def _place(run: Run, visit: CaseSamples, rank: int) -> tuple[str, int]:
    """Return the host of a rank and the number of its device: the ranks of a host take its devices in order."""
    host = host_of(run, visit, rank)
    before = sum(host_of(run, visit, other) == host for other in range(rank))
    return host, int(visit.case.parameters.get("device", 0)) + before


def _device(run: Run, host: str, number: int) -> Device | None:
    devices = next((each.devices for each in run.machine.hosts if each.name == host), [])
    return devices[number % len(devices)] if devices else None


def _finding(host: str, excess: float, device: Device, visit: CaseSamples) -> Finding:
    return Finding(
        code="slow-device",
        severity="warning",
        title=f"{device.name} at {device.pci_address} on {host} takes {units.percent(excess)} longer than equal "
        f"devices in {visit.case.label}",
        where={"layer": "device", "host": host, "benchmark": visit.case.benchmark},
        evidence=[Evidence(what="PCI address", value=device.pci_address)],
        advice="Compare clocks, power and temperature of the devices under load (`nvidia-smi dmon`). Look for a "
        "lower power limit, a blocked fan, or another program on the slow device.",
        lost=1 - 1 / (1 + excess),
    )
