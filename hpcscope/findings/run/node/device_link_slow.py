"""The link of a device ran at an older PCI Express generation than both ends support, while data were copied."""

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.device_visits import DeviceVisit, by_device
from hpcscope.findings.run.node.device_far_memory import TRANSFER


def find(run: Run) -> list[Finding]:
    """Find devices whose fastest link under load was too slow. Drivers slow down the link of an idle device."""
    fastest = [
        max(copies, key=_generation)
        for visits in by_device(run).values()
        if (copies := [visit for visit in visits if visit.samples.case.benchmark == TRANSFER])
    ]
    return [_finding(visit) for visit in fastest if 0 < _generation(visit) < (_most(visit) or 0)]


def _generation(visit: DeviceVisit) -> int:
    return visit.number("device_link_generation") or 0


def _most(visit: DeviceVisit) -> int | None:
    return visit.number("device_most_link_generation")


def _finding(visit: DeviceVisit) -> Finding:
    used, most = _generation(visit), _most(visit)
    return Finding(
        code="device-link-slow",
        severity="warning",
        title=f"The link of {visit.device} runs as PCI Express {used} although both ends can do {most}",
        where={"layer": "device", "host": visit.host},
        evidence=visit.evidence,
        advice="Look for a limit in the slot's firmware settings, and for link errors (`lspci -vv`, `LnkSta`). "
        "Reseat the card and its riser.",
    )
