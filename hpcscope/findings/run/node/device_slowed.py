"""The clock of a device was lowered while it was measured, because of heat or its power limit."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run

SLOWED_SHARE = 0.05
"""Least fraction of a visit, including its preparation and verification, during which the clock was lowered."""
CAUSES = {
    "device_slowed_by_heat_ns": ("heat", "Check the device's fans and its air or water inlet, and remove dust."),
    "device_slowed_by_power_ns": (
        "the power limit",
        "The device reached its power limit. `nvidia-smi -q -d POWER` shows the limit and whether it can be "
        "raised.",
    ),
}
"""For each setting that says how long a case was slowed: the name of the cause, and what to do."""


def find(run: Run) -> Found:
    """Find for each cause the case in which a device was slowed for the largest fraction of the time."""
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
        name = facts.get("device_name", "a device")
        yield Finding(
            code="device-slowed",
            severity="warning" if cause == "heat" else "information",
            title=f"{cause[0].upper()}{cause[1:]} lowered the clock of {name} for "
            f"{units.percent(min(share, 1.0))} of a measurement of {worst.case.label}",
            where={"layer": "device", "benchmark": worst.case.benchmark},
            evidence=[Evidence(what=name, value=value) for name, value in sorted(facts.items()) if value != ""],
            advice=f"{advice} The values of such cases describe a slowed device.",
        )
