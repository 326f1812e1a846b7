"""The overhead of the MPI library over the latency of the transport below it."""

from __future__ import annotations

from hpcscope import units
from hpcscope.findings.finding import Finding
from hpcscope.findings.results import Run
from hpcscope.findings.run.rungs import RungLoss, losses, selecting_the_network

EXPECTED = 0.9
"""Share of the network latency in that of the library; more cannot be expected."""
MUCH = 0.6


def find(run: Run) -> list[Finding]:
    """Find ladders on which MPI certainly takes longer than the transport below it."""
    found = losses(run, "latency_s", ("mpi",), 1.0)
    return [_finding(run, one) for one in found if one.retained < EXPECTED]


def _finding(run: Run, found: RungLoss) -> Finding:
    network_s, mpi_s = found.below.value or 0.0, found.rung.value or 0.0
    added = mpi_s - network_s
    return Finding(
        code="library-overhead",
        cause="overhead of the library",
        severity="advice" if found.retained >= MUCH else "warning",
        title=(
            f"MPI adds {units.quantity(added, 's')} ({units.share(added / network_s)}) "
            f"to the {units.quantity(network_s, 's')} of {found.ladder.path}"
        ),
        where=found.where,
        evidence=found.evidence,
        advice=(
            f"Compare another MPI with `scope compare --measure`{selecting_the_network(run, found)}. "
            f"At most {units.quantity(added, 's')} per message can be gained."
        ),
        lost=1 - found.retained,
    )
