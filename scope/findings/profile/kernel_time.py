"""The operating system takes much of the processors' time."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.profile.facts import Facts

MUCH = 0.2
"""Of the processors' time."""
WORTH = 0.05
"""Of the wall-clock time."""


def find(facts: Facts) -> list[Finding]:
    """Find programs that spend a fifth of their processor time in the kernel."""
    processes = facts.usages
    user_s, system_s = (sum(getattr(one, name) for one in processes) for name in ("user_s", "system_s"))
    if not processes or system_s < MUCH * (user_s + system_s) or system_s < WORTH * facts.total_s:
        return []
    faults = sum(one.minor_faults for one in processes)
    per_fault_s = system_s / max(faults, 1)
    memory = per_fault_s < _FAULT_S
    return [
        Finding(
            code="kernel-time",
            severity="advice",
            title=(
                f"{units.share(system_s / (user_s + system_s))} of the processor time is the kernel's,"
                f" {units.quantity(system_s / len(processes), 's')} of each process"
            ),
            where={"layer": "operating system"},
            evidence=[
                Evidence(what="in the kernel, all processes", value=system_s, unit="s"),
                Evidence(what="in the program, all processes", value=user_s, unit="s"),
                Evidence(what="page faults", value=faults),
                Evidence(what="page faults that read a disk", value=sum(one.major_faults for one in processes)),
                Evidence(what="voluntary switches", value=sum(one.voluntary_switches for one in processes)),
            ],
            advice=(
                "Most of it may be page faults: memory is taken and given back over and over. Keep buffers, or set"
                " `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` high, or use large pages."
                if memory
                else "Messages over sockets cost it, or files: use a transport that does without the kernel"
                " (shared memory, an RDMA fabric), longer messages, fewer system calls."
            ),
            lost=system_s / facts.total_s,
        )
    ]


_FAULT_S = 5e-6
"""Kernel time that a page fault may cost; where there is more for each, something else takes it."""
