"""Much of the CPU time is spent in the kernel."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts

MUCH = 0.2
"""Least fraction of the CPU time."""
WORTH = 0.05
"""Least fraction of the wall-clock time."""


def find(facts: ProfileFacts) -> Found:
    """Find programs that spend a fifth of their CPU time in the kernel."""
    processes = facts.usages
    user_s, system_s = (sum(getattr(usage, name) for usage in processes) for name in ("user_s", "system_s"))
    if not processes or system_s < MUCH * (user_s + system_s) or system_s < WORTH * facts.total_s:
        return
    faults = sum(usage.minor_faults for usage in processes)
    per_fault_s = system_s / max(faults, 1)
    memory = per_fault_s < _FAULT_S
    yield Finding(
        code="kernel-time",
        severity="advice",
        title=(
            f"{units.share(system_s / (user_s + system_s))} of the CPU time is spent in the kernel,"
            f" {units.quantity(system_s / len(processes), 's')} per rank"
        ),
        where={"layer": "operating system"},
        evidence=[
            Evidence(what="CPU time in the kernel, all ranks", value=system_s, unit="s"),
            Evidence(what="CPU time in the program, all ranks", value=user_s, unit="s"),
            Evidence(what="page faults", value=faults),
            Evidence(what="major page faults", value=sum(usage.major_faults for usage in processes)),
            Evidence(
                what="voluntary context switches", value=sum(usage.voluntary_switches for usage in processes)
            ),
        ],
        advice=(
            "Most of this time may be page faults, from memory that is allocated and freed repeatedly. Reuse "
            "buffers, set `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` high, or use huge pages."
            if memory
            else "Sockets or files are the likely cause: use a kernel-bypass transport (shared memory, RDMA),"
            " longer messages, or fewer system calls."
        ),
        lost=system_s / facts.total_s,
    )


_FAULT_S = 5e-6
"""Most kernel time that one page fault explains; if there is more per fault, the time has another cause."""
