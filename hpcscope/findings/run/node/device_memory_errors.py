"""The memory of a device had errors, corrected or not, while it was measured, according to its ECC counters."""

from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.results import Run
from hpcscope.findings.run.device_visits import DeviceVisit, by_device

NEW = ("device_new_uncorrected_errors", "device_new_corrected_errors")
EVER = ("device_uncorrected_errors_ever", "device_corrected_errors_ever")


def find(run: Run) -> Found:
    """Find the devices with new errors; earlier errors are only evidence."""
    for visits in by_device(run).values():
        uncorrected, corrected = (sum(visit.number(name) or 0 for visit in visits) for name in NEW)
        if uncorrected or corrected:
            yield _finding(visits[-1], uncorrected, corrected)


def _finding(last: DeviceVisit, uncorrected: int, corrected: int) -> Finding:
    return Finding(
        code="device-memory-errors",
        severity="warning" if uncorrected else "information",
        title=f"The memory of {last.device} had errors: {uncorrected} uncorrected, {corrected} corrected",
        where={"layer": "device", "host": last.host},
        evidence=[
            Evidence(what="PCI address", value=last.pci_address),
            *(Evidence(what=name, value=count) for name in EVER if (count := last.number(name)) is not None),
        ],
        advice="`nvidia-smi -q -d ECC,ROW_REMAPPER` shows where the errors are, and whether the device waits for "
        "a reset to remap rows. Let the vendor replace a card whose uncorrected errors recur.",
    )
