"""Visits to device cases: what their settings say about the device of the first rank."""

from collections.abc import Iterator
from typing import NamedTuple

from hpcscope.findings.finding import Evidence
from hpcscope.findings.results import Run
from hpcscope.findings.run.worst_rank import host_of
from hpcscope.grouping import grouped
from hpcscope.samples.samples import CaseSamples


class DeviceVisit(NamedTuple):
    """A visit, and the host of its first rank."""

    samples: CaseSamples
    host: str

    @property
    def device(self) -> str:
        """The name and host of the device, in words."""
        name = self.samples.settings["device_name"]
        return f"{name} on {self.host}" if self.host else str(name)

    @property
    def pci_address(self) -> str:
        """The device's PCI address; empty if the driver does not report it."""
        return str(self.samples.settings.get("device_pci_address", ""))

    def number(self, setting: str) -> int | None:
        """Return a numeric setting; None if it was not reported."""
        value = self.samples.settings.get(setting)
        return None if value is None else int(value)

    @property
    def evidence(self) -> list[Evidence]:
        """The known settings of the device."""
        settings = sorted(self.samples.settings.items())
        known = [(name, value) for name, value in settings if name.startswith("device_") and value != ""]
        return [Evidence(what=name, value=value) for name, value in known]


def device_visits(run: Run) -> Iterator[DeviceVisit]:
    """Yield the visits with correct data whose settings name a device other than the host's CPU."""
    for samples in run.raw_samples.cases:
        if samples.ok and "device_name" in samples.settings and samples.settings.get("device_kind") != "cpu":
            yield DeviceVisit(samples, host_of(run, samples, 0))


def by_device(run: Run) -> dict[tuple[str, str], list[DeviceVisit]]:
    """Return these visits grouped by device: by host and PCI address."""
    return grouped(device_visits(run), lambda visit: (visit.host, visit.pci_address))
