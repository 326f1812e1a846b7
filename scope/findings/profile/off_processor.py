"""Wall-clock time is far above processor time: what GAMMA calls the overhead of the protocol."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Evidence, Finding
from scope.findings.profile.facts import Facts

MUCH = 0.2
"""Of the wall-clock time. In GAMMA's Table 1 one run took 93 s, of which 67 s on the processor: 28 %."""


def find(facts: Facts) -> list[Finding]:
    """Find programs whose processes were off the processor for a fifth of their time."""
    processes = facts.usages
    processor_s = sum(one.processor_s for one in processes)
    off_s = facts.merged.total_s - processor_s
    if not processes or off_s < MUCH * facts.total_s:
        return []
    voluntary, involuntary = (
        sum(getattr(one, name) for one in processes) for name in ("voluntary_switches", "involuntary_switches")
    )
    crowded = involuntary > voluntary
    return [
        Finding(
            code="wall-above-processor",
            severity="warning",
            title=(
                f"Processes were off the processor for {units.share(off_s / facts.total_s)} of their time:"
                f" {units.quantity(facts.total_s / len(processes), 's')} wall,"
                f" {units.quantity(processor_s / len(processes), 's')} processor time each"
            ),
            where={"layer": "operating system"},
            evidence=[
                Evidence(what="wall-clock, all processes", value=facts.total_s, unit="s"),
                Evidence(what="processor, all processes", value=processor_s, unit="s"),
                Evidence(what="in MPI, all processes", value=facts.merged.mpi_s, unit="s"),
                Evidence(what="voluntary switches", value=voluntary),
                Evidence(what="involuntary switches", value=involuntary),
                Evidence(what="page faults that read a disk", value=sum(one.major_faults for one in processes)),
            ],
            advice=(
                "Others took the processor: more processes run than there are cores. Use fewer, or bind them."
                if crowded
                else "Processes slept until messages or files came: a protocol that blocks in the kernel. Use a"
                " transport that polls, and look at file access and at messages that come late."
            ),
            lost=off_s / facts.total_s,
        )
    ]
