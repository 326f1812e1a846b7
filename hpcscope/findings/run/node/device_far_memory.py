"""Data were copied between a device and host memory at another NUMA node."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.device_visits import DeviceVisit, by_device

TRANSFER = "device.transfer"


def find(run: Run) -> Found:
    """Find the devices that copied from or to distant memory; one finding per device."""
    near = {
        (host.name, device.pci_address): device.numa_node for host in run.machine.hosts for device in host.devices
    }
    for place, visits in by_device(run).items():
        node = near.get(place)
        far = [
            visit
            for visit in visits
            if visit.samples.case.benchmark == TRANSFER and visit.number("rank_numa_node") not in {node, None}
        ]
        if node is not None and far:
            yield _finding(far[0], node, len(far))


def _finding(far: DeviceVisit, near: int, visits: int) -> Finding:
    node = far.number("rank_numa_node")
    return Finding(
        code="device-far-memory",
        severity="advice",
        title=f"{far.device} is at NUMA node {near}; it copied from and to memory at node {node}",
        where={"layer": "device", "host": far.host, "benchmark": TRANSFER},
        evidence=[Evidence(what="measurements", value=visits), *far.evidence],
        advice=f"Such copies cross the link between the sockets. Start programs at the device's node "
        f"(`numactl --cpunodebind={near} --membind={near}`) and compare the rates.",
    )
