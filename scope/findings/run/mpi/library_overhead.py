"""What the library adds to the latency of the transport below it."""

from __future__ import annotations

from scope import units
from scope.findings.finding import Finding
from scope.findings.run.context import Context
from scope.findings.run.rungs import Lossy, lossy
from scope.findings.settings import setting

WORTH_A_LINE = 0.9
"""Retained share of the network's latency above which the library is as good as can be expected."""
MUCH = 0.6


def find(context: Context) -> list[Finding]:
    """Find ladders on which MPI certainly takes longer than the transport it uses."""
    found = lossy(context, "latency_s", ("mpi",), 1.0)
    return [_finding(context, one) for one in found if one.retained < WORTH_A_LINE]


def _finding(context: Context, found: Lossy) -> Finding:
    network_s, mpi_s = found.below.value or 0.0, found.rung.value or 0.0
    added = mpi_s - network_s
    return Finding(
        code="library-overhead",
        severity="advice" if found.retained >= MUCH else "warning",
        title=(
            f"MPI adds {units.quantity(added, 's')} ({units.share(added / network_s)}) "
            f"to the {units.quantity(network_s, 's')} of {found.ladder.path}"
        ),
        where=found.where,
        evidence=found.evidence,
        advice=(
            f"Compare another MPI with `scope run --mpi NAME` and `scope compare`; "
            f"{setting(context.mpi, 'network stack')}."
        ),
        lost=1 - found.retained,
    )
