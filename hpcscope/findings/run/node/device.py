"""A device whose link has fewer lanes than both ends can, or whose clock was lowered while it was measured."""

from collections.abc import Iterator

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding
from hpcscope.findings.results import Run

SLOWED_SHARE = 0.05
"""Least share of a visit, its preparation and verification included, in which a clock was lowered."""
CAUSES = {
    "device_slowed_by_heat_ns": ("heat", "Check its fans, the air or water at its inlet, and the dust between."),
    "device_slowed_by_power_ns": (
        "its power limit",
        "It reached the limit: `nvidia-smi -q -d POWER` tells it, and whether the card allows a higher one.",
    ),
}
"""Settings of a case that say how long it was slowed, what that is called, and what to do."""


def find(run: Run) -> list[Finding]:
    """Find narrow links of devices, and for each cause the case in which a device was slowed longest."""
    return [*_narrow_links(run), *_slowed(run)]


def _narrow_links(run: Run) -> Iterator[Finding]:
    for host in run.machine.hosts:
        for device in host.devices:
            link = device.link
            if link is None or link.lanes >= link.most_lanes:
                continue
            yield Finding(
                code="device-link-narrow",
                severity="warning",
                title=f"{device.name} on {host.name} uses {link.lanes} of the {link.most_lanes} lanes of its link",
                where={"host": host.name, "layer": "device"},
                evidence=[
                    Evidence(what="PCI address", value=device.pci_address),
                    Evidence(what="rate of the lanes in use", value=link.bytes_per_s, unit="B/s"),
                    Evidence(
                        what="rate of all lanes", value=link.bytes_per_s / link.lanes * link.most_lanes, unit="B/s"
                    ),
                ],
                advice="Reseat the card and its riser; look whether the slot shares its lanes with another one.",
                lost=1 - link.lanes / link.most_lanes,
            )


def _slowed(run: Run) -> Iterator[Finding]:
    for setting, (cause, advice) in CAUSES.items():
        visits = [
            (float(samples.settings.get(setting, 0)) * 1e-9 / samples.duration_s, samples)
            for samples in run.raw_samples.cases
            if samples.ok and samples.duration_s > 0
        ]
        share, worst = max(visits, key=lambda visit: visit[0], default=(0.0, None))
        if worst is None or share < SLOWED_SHARE:
            continue
        facts = {name: value for name, value in worst.settings.items() if name.startswith("device_")}
        yield Finding(
            code="device-slowed",
            severity="warning" if cause == "heat" else "information",
            title=f"{cause[0].upper()}{cause[1:]} lowered the clock of {facts.get('device_name', 'a device')} for "
            f"{units.percent(min(share, 1.0))} of a visit to {worst.case.label}",
            where={"layer": "device", "benchmark": worst.case.benchmark},
            evidence=[Evidence(what=name, value=value) for name, value in sorted(facts.items()) if value != ""],
            advice=f"{advice} The values of these cases are those of a slowed device.",
        )
