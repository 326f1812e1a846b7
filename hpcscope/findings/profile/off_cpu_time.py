"""Ranks are off the CPU for much of the time: GAMMA calls this the overhead of the protocol."""

from hpcscope import units
from hpcscope.findings.finding import Evidence, Finding, Found
from hpcscope.findings.profile import ProfileFacts

MUCH = 0.2
"""Least fraction of the wall-clock time. In GAMMA's Table 1, a run of 93 s was on the CPU for 67 s: 28 % off."""


def find(facts: ProfileFacts) -> Found:
    """Find programs whose ranks were off the CPU for a fifth of their time."""
    processes = facts.usages
    processor_s = sum(usage.processor_s for usage in processes)
    off_s = facts.merged.total_s - processor_s
    if not processes or off_s < MUCH * facts.total_s:
        return
    voluntary, involuntary = (
        sum(getattr(usage, name) for usage in processes) for name in ("voluntary_switches", "involuntary_switches")
    )
    preempted = involuntary > voluntary
    yield Finding(
        code="off-cpu-time",
        severity="warning",
        title=(
            f"Ranks had no core for {units.share(off_s / facts.total_s)} of their time:"
            f" {units.quantity(processor_s / len(processes), 's')} of CPU time per rank in"
            f" {units.quantity(facts.total_s / len(processes), 's')} of wall-clock time"
        ),
        where={"layer": "operating system"},
        evidence=[
            Evidence(what="wall-clock time, all ranks", value=facts.total_s, unit="s"),
            Evidence(what="CPU time, all ranks", value=processor_s, unit="s"),
            Evidence(what="time in MPI, all ranks", value=facts.merged.mpi_s, unit="s"),
            Evidence(what="voluntary context switches", value=voluntary),
            Evidence(what="involuntary context switches", value=involuntary),
            Evidence(what="major page faults", value=sum(usage.major_faults for usage in processes)),
        ],
        advice=(
            "The ranks were preempted: look for more ranks or threads than processors, other programs, ranks "
            "bound to the same cores, and CPU quotas."
            if preempted
            else "The ranks slept in the kernel until messages or files arrived. Use a transport that polls, "
            "and check file access and late messages."
        ),
        lost=off_s / facts.total_s,
    )
