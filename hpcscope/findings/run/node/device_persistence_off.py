"""The driver of a device restarts for each program, because nothing keeps it loaded."""

from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.device_visits import by_device

LEAST_MS = 1000
"""Shortest start that is worth a line, in milliseconds."""


def find(run: Run) -> list[Finding]:
    """Find for each device without persistence mode the longest start of its driver, if that is long."""
    return [
        Finding(
            code="device-persistence-off",
            severity="advice",
            title=f"Programs wait {start_ms / 1000:.1f} s for the driver of {slowest.device}: persistence is off",
            where={"layer": "device", "host": slowest.host},
            evidence=slowest.evidence,
            advice="As root, start `nvidia-persistenced` or run `nvidia-smi -pm 1`: the driver then stays loaded.",
        )
        for visits in by_device(run).values()
        for slowest in [max(visits, key=lambda visit: visit.number("device_start_ms") or 0)]
        if slowest.number("device_persistence_mode") == 0
        and (start_ms := slowest.number("device_start_ms") or 0) >= LEAST_MS
    ]
