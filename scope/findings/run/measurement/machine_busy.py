"""Something else was running."""

from __future__ import annotations

from scope.findings.finding import Evidence, Finding
from scope.findings.run.context import Context

QUIET = 0.25
"""Share of the processors that may be busy before the run; half a process is always tolerated."""


def find(context: Context) -> list[Finding]:
    """Find hosts with a load before the run; one finding for all of them."""
    # Hosts of an emulated cluster are one kernel, and its load is that of all.
    kernels = {host.boot_id or host.name: host for host in reversed(context.machine.hosts)}
    busy = [
        host
        for host in reversed(kernels.values())
        if host.load > max(0.5, QUIET * max(len(host.processor.usable), 1))
    ]
    if not busy:
        return []
    worst = max(busy, key=lambda host: host.load / max(len(host.processor.usable), 1))
    names = ", ".join(host.name for host in busy)
    return [
        Finding(
            code="machine-busy",
            severity="warning" if worst.load >= len(worst.processor.usable) else "advice",
            title=f"{worst.load:.1f} processes were running on {worst.name} before the run began",
            where={"host": names},
            evidence=[Evidence(what=f"one-minute load of {host.name}", value=host.load) for host in busy],
            advice="Repeat on a quiet machine (a build that has just ended counts for a minute), or reserve it; "
            "the intervals show how much it mattered.",
        )
    ]
