"""The link of a device to its host uses fewer lanes than both ends have."""

from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run
from hpcscope.machine.machine import Device, Host


def find(run: Run) -> list[Finding]:
    """Find the devices whose links have lanes that are not in use."""
    return [
        _of(device, host)
        for host in run.machine.hosts
        for device in host.devices
        if device.link is not None and device.link.lanes < device.link.most_lanes
    ]


def _of(device: Device, host: Host) -> Finding:
    link = device.link
    assert link is not None
    all_lanes = link.bytes_per_s / link.lanes * link.most_lanes
    return Finding(
        code="device-link-narrow",
        severity="warning",
        title=f"{device.name} on {host.name} uses {link.lanes} of the {link.most_lanes} lanes of its link",
        where={"host": host.name, "layer": "device"},
        evidence=[
            Evidence(what="PCI address", value=device.pci_address),
            Evidence(what="rate of the lanes in use", value=link.bytes_per_s, unit="B/s"),
            Evidence(what="rate of all lanes", value=all_lanes, unit="B/s"),
        ],
        advice="Reseat the card and its riser; check whether the slot shares its lanes with another slot.",
        lost=1 - link.lanes / link.most_lanes,
    )
